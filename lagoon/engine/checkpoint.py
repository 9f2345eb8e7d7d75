"""Checkpoints: whole or not there, verified when read, the last few kept.

What enters: named tensors and JSON facts. What leaves: ``NAME.safetensors`` with a ``NAME.json`` that holds
its sha256. The JSON takes its name last, so a checkpoint without one does not exist yet.
"""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save
from torch import Tensor

from lagoon.errors import CorruptFileError
from lagoon.paths import atomic_path, sha256_of

SCHEMA_VERSION = 1
_TENSOR_KEY = "__tensor__"
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Checkpoint:
    """What was saved."""

    path: Path
    """The ``.json`` file."""
    tensors: dict[str, Tensor]
    """Name -> tensor; names are "policy/...", "algorithm/...", "env/..."."""
    facts: dict[str, Any]
    """Counters, versions, config and everything else that is not a tensor."""

    def group(self, prefix: str) -> dict[str, Tensor]:
        """Return the tensors whose names start with ``prefix/``, without it."""
        return {name[len(prefix) + 1 :]: t for name, t in self.tensors.items() if name.startswith(f"{prefix}/")}


def checkpoint_paths(folder: Path) -> list[Path]:
    """Return the ``.json`` files of all checkpoints in a folder, oldest first."""
    return sorted(folder.glob("step_*.json"))


def save_checkpoint(
    folder: Path, step: int, tensors: Mapping[str, Tensor], facts: Mapping[str, Any], keep: int
) -> Path:
    """Write a checkpoint and delete old ones.

    Args:
        folder: where checkpoints lie.
        step: environment steps so far; names the file.
        tensors: name -> tensor.
        facts: JSON values.
        keep: how many checkpoints to keep, this one included.

    Returns:
        The ``.json`` file.

    Raises:
        LagoonError: the disk is full or not writable; older checkpoints are still there.
    """
    target = folder / f"step_{step:012d}.json"
    data = target.with_suffix(".safetensors")
    content = save({name: tensor.detach().clone().contiguous() for name, tensor in tensors.items()})
    digest = hashlib.sha256(content).hexdigest()
    body = {"schema_version": SCHEMA_VERSION, "step": step, "tensors_sha256": digest, **facts}
    body = json.loads(json.dumps(body))  # Exactly what a reader will get, so that both compute one digest.
    text = json.dumps({**body, "sha256": _digest(body)}, indent=1)
    # A checkpoint of this step may exist. Both new files are written before either takes its name, the data's first,
    # so that a full disk leaves the old pair.
    with atomic_path(target) as new_facts, atomic_path(data) as new_data:
        new_data.write_bytes(content)
        new_facts.write_text(text, encoding="utf-8")
    for old in checkpoint_paths(folder)[:-keep]:
        old.unlink(missing_ok=True)
        old.with_suffix(".safetensors").unlink(missing_ok=True)
    return target


def load_checkpoint(path: Path) -> Checkpoint:
    """Read a checkpoint and verify every byte of it.

    Args:
        path: its ``.json`` or ``.safetensors`` file.

    Raises:
        CorruptFileError: a file is missing, damaged or of another schema version; the text names it.
    """
    path = path.with_suffix(".json")
    data = path.with_suffix(".safetensors")
    try:
        facts = json.loads(path.read_text(encoding="utf-8"))
        claimed = facts.pop("sha256")
    except (OSError, ValueError, KeyError, AttributeError) as error:
        raise _corrupt(path, f"cannot be read as JSON with its own sha256 ({error})") from error
    if _digest(facts) != claimed:
        raise _corrupt(path, "does not match its own sha256")
    if facts["schema_version"] != SCHEMA_VERSION:
        raise _corrupt(path, f"has schema version {facts['schema_version']}; this lagoon reads {SCHEMA_VERSION}")
    if not data.is_file():
        raise _corrupt(data, "is missing")
    found = sha256_of(data)
    if found != facts["tensors_sha256"]:
        raise _corrupt(data, f"has sha256 {found[:12]}...; {path.name} expects {facts['tensors_sha256'][:12]}...")
    try:
        return Checkpoint(path, load_file(data), facts)
    except (SafetensorError, OSError) as error:
        raise _corrupt(data, f"is not a safetensors file ({error})") from error


def latest_checkpoint(folder: Path) -> Checkpoint | None:
    """Return the newest checkpoint that is whole; warn about each damaged one passed over.

    Returns:
        The checkpoint, or None where the folder holds none at all.

    Raises:
        CorruptFileError: there are checkpoints, and all are damaged.
    """
    failure: CorruptFileError | None = None
    for path in reversed(checkpoint_paths(folder)):
        try:
            return load_checkpoint(path)
        except CorruptFileError as error:
            failure = error
            _log.warning("%s Going on from the checkpoint before it.", error)
    if failure is not None:
        raise failure
    return None


def pack_state(state: Any, prefix: str, tensors: dict[str, Tensor]) -> Any:
    """Turn nested state into JSON values, moving arrays and tensors into ``tensors`` under ``prefix/...``."""
    if isinstance(state, np.ndarray):
        tensors[prefix] = torch.from_numpy(np.ascontiguousarray(state))
        return {_TENSOR_KEY: prefix, "numpy": True}
    if isinstance(state, Tensor):
        tensors[prefix] = state
        return {_TENSOR_KEY: prefix, "numpy": False}
    if isinstance(state, Mapping):
        return {str(key): pack_state(value, f"{prefix}/{key}", tensors) for key, value in state.items()}
    if isinstance(state, list | tuple):
        return [pack_state(value, f"{prefix}/{i}", tensors) for i, value in enumerate(state)]
    return state.item() if isinstance(state, np.generic) else state


def unpack_state(state: Any, tensors: Mapping[str, Tensor]) -> Any:
    """Undo ``pack_state``; tuples come back as lists."""
    if isinstance(state, Mapping):
        if _TENSOR_KEY in state:
            tensor = tensors[state[_TENSOR_KEY]]
            return tensor.numpy() if state["numpy"] else tensor
        return {key: unpack_state(value, tensors) for key, value in state.items()}
    return [unpack_state(value, tensors) for value in state] if isinstance(state, list) else state


def _digest(body: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()


def _corrupt(path: Path, what: str) -> CorruptFileError:
    return CorruptFileError(
        f"The checkpoint file {path} {what}. Delete this checkpoint (its .json and .safetensors) to go on from the "
        f"one before it, or delete the folder {path.parent} to train from the start."
    )
