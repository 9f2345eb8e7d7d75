"""Reads npz files of joint positions with names: lagoon's own human.npz, and what others save like it.

What enters: an npz with (T, J, 3) positions, J names and a frame rate. What leaves: a RawMotion.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lagoon.errors import BadInputError, CorruptFileError
from lagoon.importers.array_file import one_number, read_npz
from lagoon.importers.config import ImportConfig
from lagoon.importers.humanml3d import MORE_JOINTS
from lagoon.importers.raw import Fact, RawMotion
from lagoon.importers.smpl import RATES
from lagoon.motion.skeleton import JOINT_NAMES, PARENTS

POSITIONS = (
    "joint_pos_w",
    "joint_pos",
    "joint_positions",
    "joints",
    "positions",
    "joints3d",
    "keypoints3d",
    "pos",
    "xyz",
)
"""Names that are tried, in this order; else the only array (T, J, 3) there is."""
NAMES = ("joint_names", "names", "joints_names", "labels", "markers", "marker_names")


def read(path: Path, config: ImportConfig) -> RawMotion:
    """Read positions.

    Raises:
        BadInputError: no positions or no names.
        CorruptFileError: it is damaged, or its arrays do not fit each other.
    """
    found = read_npz(path)
    key = _positions_key(path, found)
    pos = np.asarray(found[key], float)
    name_key = next((name for name in NAMES if name in found and found[name].dtype.kind in "US"), None)
    names, parents, kind = JOINT_NAMES, PARENTS, f"npz of joints, by its array {key}"
    if name_key is not None:
        names, parents = tuple(_text(name) for name in found[name_key].reshape(-1)), None
        if len(names) != pos.shape[1]:
            raise CorruptFileError(f"{path.name}: {key} has {pos.shape[1]} joints and {name_key} {len(names)} names.")
        if len(set(names)) != len(names):
            raise CorruptFileError(f"{path.name}: a name stands twice in {name_key}. Give each joint its own.")
    elif pos.shape[1] in MORE_JOINTS:
        pos, kind = pos[:, : len(JOINT_NAMES)], f"{kind}; {pos.shape[1]} joints without names, taken for SMPL's"
    else:
        raise BadInputError(
            f"{path.name} has {pos.shape[1]} joints without names; expected joint_names. Save it again: "
            "numpy.savez(FILE, joint_pos=..., joint_names=..., fps=...)."
        )
    rate = next((name for name in RATES if name in found and found[name].size == 1), None)
    value = one_number(found[rate]) if rate else np.nan
    own = key == "joint_pos_w"
    return RawMotion(
        kind=kind,
        names=names,
        pos=pos,
        parents=parents,
        fps=Fact(value, f"{rate} in the file") if np.isfinite(value) else None,
        up=Fact("z", "lagoon's own convention") if own else None,
    )


def _positions_key(path: Path, found: dict[str, NDArray[Any]]) -> str:
    fitting = [key for key, a in found.items() if a.ndim == 3 and a.shape[2] == 3 and a.dtype.kind in "iuf"]
    named = [key for key in POSITIONS if key in fitting]
    if named:
        return named[0]
    if len(fitting) == 1:
        return fitting[0]
    has = ", ".join(f"{key} {array.shape}" for key, array in list(found.items())[:8]) or "nothing that is numbers"
    raise BadInputError(
        f"{path.name} holds no joint positions (it has {has}); expected joint_pos of shape (frames, joints, 3) with "
        "joint_names and fps."
    )


def _text(name: Any) -> str:
    return name.decode("latin-1") if isinstance(name, bytes) else str(name)
