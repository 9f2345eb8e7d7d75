"""The ONNX graph of a bundle: its metadata, its ports, and a session that runs it.

What enters: the graph's bytes. What leaves: the bytes with the facts written into them, a session of
onnxruntime, or an error that names what does not fit.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from lagoon.bundle.contract import BundleInfo
from lagoon.bundle.ports import Port
from lagoon.errors import CorruptFileError, require

METADATA_KEY = "lagoon"


def open_session(policy: bytes, source: str, threads: int = 1) -> Any:
    """Return an onnxruntime session on the CPU.

    One thread by default: for a small network it is the fastest, and the only one without millisecond outliers.

    Raises:
        CorruptFileError: onnxruntime cannot read the graph.
    """
    ort = require("onnxruntime", extra="deploy")
    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    try:
        return ort.InferenceSession(policy, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # onnxruntime's own exception classes share no public base.
        reason = str(error).strip().splitlines()[0][:200] if str(error).strip() else type(error).__name__
        raise CorruptFileError(f"{source} is not a graph that onnxruntime can read ({reason}).") from error


def check_ports(session: Any, info: BundleInfo, source: str) -> None:
    """Check the graph's inputs and outputs against the table: names, float32, free batch axis, sizes.

    Raises:
        CorruptFileError: a port is missing, unknown or of another shape or type.
    """
    sides = (("input", session.get_inputs(), info.inputs), ("output", session.get_outputs(), info.outputs))
    for kind, found, ports in sides:
        have, want = {item.name: item for item in found}, {port.name: port for port in ports}
        missing, unknown = sorted(set(want) - set(have)), sorted(set(have) - set(want))
        if missing or unknown:
            raise CorruptFileError(
                f"{source}: its {kind}s lack {', '.join(missing) or 'none'} and have beyond the table "
                f"{', '.join(unknown) or 'none'}; expected {'; '.join(map(str, ports))}."
            )
        for port in ports:
            _check_port(kind, have[port.name], port, source)


def _check_port(kind: str, found: Any, port: Port, source: str) -> None:
    free = len(found.shape) == 2 and not isinstance(found.shape[0], int)
    if found.type != "tensor(float)" or not free or found.shape[1] != port.shape[1]:
        raise CorruptFileError(
            f"{source}: {kind} '{port.name}' is {found.type} of shape {tuple(found.shape)}; expected tensor(float) of "
            f"shape {port.shape} with a free batch axis."
        )


def external_weights(model: Any) -> list[str]:
    """Names of the weights of an onnx.ModelProto that lie in another file."""
    onnx = require("onnx", extra="deploy")
    return [t.name for t in model.graph.initializer if t.data_location == onnx.TensorProto.EXTERNAL]


def with_metadata(onnx_bytes: bytes, info: BundleInfo) -> bytes:
    """Return the graph with the facts in its metadata_props.

    Raises:
        CorruptFileError: the bytes are no ONNX model, or its weights lie in another file.
    """
    onnx = require("onnx", extra="deploy")
    try:
        model = onnx.load_model_from_string(onnx_bytes)
    except Exception as error:  # protobuf's DecodeError is not importable without protobuf internals.
        raise CorruptFileError(f"The exported graph is not an ONNX model ({error}).") from error
    if outside := external_weights(model):
        raise CorruptFileError(
            f"The exported graph keeps {len(outside)} weights in another file (first: {outside[0]}); a bundle "
            "needs them inside policy.onnx. Export with external_data=False."
        )
    del model.metadata_props[:]
    entries = {METADATA_KEY: json.dumps(info.to_dict(), ensure_ascii=False, allow_nan=False)}
    entries["joint_names"] = ",".join(info.joint_names)
    # Their words for what goes in; a program that builds one vector of observations stops at these names, and the
    # gains below are still read right.
    entries["observation_names"] = ",".join(port.name for port in info.inputs)
    entries["command_names"], entries["run_path"] = "motion", f"lagoon/{info.robot}/{info.command}"
    # Key names of mjlab and BeyondMimic exports; here with every digit, so that nothing is lost to rounding.
    arrays = {"joint_stiffness": info.kp, "joint_damping": info.kd, "default_joint_pos": info.default_joint_pos}
    if info.action_scale is not None:
        arrays["action_scale"] = info.action_scale
    entries |= {key: ",".join(repr(float(v)) for v in array) for key, array in arrays.items()}
    for key, value in entries.items():
        entry = model.metadata_props.add()
        entry.key, entry.value = key, value
    return model.SerializeToString(deterministic=True)


def check_metadata(session: Any, facts: Mapping[str, Any], source: str) -> None:
    """Check that the graph carries the same facts as bundle.yaml, digit by digit.

    Raises:
        CorruptFileError: it carries none, or a key differs; the key and both values are told.
    """
    text = session.get_modelmeta().custom_metadata_map.get(METADATA_KEY)
    if text is None:
        raise CorruptFileError(f"The graph of {source} carries no '{METADATA_KEY}' metadata.")
    try:
        inside = json.loads(text)
    except json.JSONDecodeError as error:
        raise CorruptFileError(f"The metadata in the graph of {source} is not JSON ({error}).") from error
    different = sorted(key for key in set(inside) | set(facts) if inside.get(key) != facts.get(key))
    if different:
        key = different[0]
        raise CorruptFileError(
            f"In {source}, bundle.yaml and the metadata inside the graph differ in {', '.join(different)}: '{key}' is "
            f"{short(facts.get(key))} in the first and {short(inside.get(key))} in the second. "
            f"One of them was edited."
        )


def short(value: object) -> str:
    """Return a value as text of at most 80 characters, for errors."""
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."
