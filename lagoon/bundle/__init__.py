"""PolicyBundle: what a robot needs to run a skill, as one checked folder.

What enters: an ONNX graph and the facts around it (from export), or a bundle folder. What leaves: a
frozen PolicyBundle that has been verified down to its bytes. Needs numpy and yaml; onnxruntime to load,
onnx to write; never torch.
"""

from lagoon.bundle.contract import SCHEMA_VERSION, BundleInfo
from lagoon.bundle.folder import PolicyBundle, check_description, check_robot, load, write_bundle
from lagoon.bundle.golden import Golden
from lagoon.bundle.ports import Port, input_ports, output_ports

__all__ = [
    "SCHEMA_VERSION",
    "BundleInfo",
    "Golden",
    "PolicyBundle",
    "Port",
    "check_description",
    "check_robot",
    "input_ports",
    "load",
    "output_ports",
    "write_bundle",
]
