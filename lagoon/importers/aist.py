"""Reads pkl files of AIST++ (Li et al. 2021): SMPL poses of dancers at 60 fps, Y up.

What enters: a pickle with smpl_poses, smpl_trans, smpl_scaling. What leaves: a RawMotion of 22 joints.
Other pickles with SMPL's keys (poses, trans) are taken too.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from lagoon.errors import BadInputError, CorruptFileError
from lagoon.importers import smpl_pose
from lagoon.importers.array_file import one_number
from lagoon.importers.config import ImportConfig
from lagoon.importers.pickled import numbers, read_pickle
from lagoon.importers.raw import Fact, RawMotion
from lagoon.importers.smpl import RATES, rotvec_of, skeleton_of
from lagoon.importers.text_file import check_size
from lagoon.motion.skeleton import JOINT_NAMES, PARENTS

AIST_FPS = 60.0


def read(path: Path, config: ImportConfig) -> RawMotion:
    """Read a dance.

    Raises:
        BadInputError: the pickle has no poses.
        CorruptFileError: it is damaged, or holds more than arrays.
    """
    check_size(path)
    found = read_pickle(path, path.read_bytes())
    if not isinstance(found, dict):
        raise BadInputError(f"{path.name} holds a {type(found).__name__}; expected a dictionary with smpl_poses.")
    name = next((key for key in ("smpl_poses", "poses", "pose") if numbers(found.get(key)) is not None), None)
    if name is None:
        has = ", ".join(str(key) for key in list(found)[:12]) or "nothing"
        raise BadInputError(
            f"{path.name} has no smpl_poses (it has {has}). Take the file from AIST++'s folder motions."
        )
    rotvec = rotvec_of(path, name, found[name])
    root = _first(found, ("smpl_trans", "trans", "transl"))
    scaling = _first(found, ("smpl_scaling",))
    if root is None or root.shape != (len(rotvec), 3):
        shape = "absent" if root is None else f"of shape {root.shape}"
        raise CorruptFileError(f"{path.name}: smpl_trans is {shape}; expected ({len(rotvec)}, 3). Copy the file again.")
    if scaling is not None:
        size = one_number(scaling)
        if not 1e-3 < size < 1e6:
            raise CorruptFileError(f"{path.name}: smpl_scaling is {size:g}; expected about 90. Copy the file again.")
        root = root / size
    rate = _first(found, RATES)
    offsets, whose = skeleton_of(config, _first(found, ("betas",)))
    dance = name == "smpl_poses"
    fps = Fact(AIST_FPS, "AIST++ has 60") if dance else None
    return RawMotion(
        kind=f"{'AIST++' if dance else 'SMPL'} pkl, by its key {name}, {whose}",
        names=JOINT_NAMES,
        pos=smpl_pose.pose(rotvec, root, offsets),
        parents=PARENTS,
        fps=fps if rate is None or not np.isfinite(one_number(rate)) else Fact(one_number(rate), "the file"),
        unit=Fact(1.0, "poses of SMPL are in metres"),
        up=Fact("y", "the custom of AIST++"),
    )


def _first(found: dict[Any, Any], names: tuple[str, ...]) -> Any:
    return next((numbers(found[name]) for name in names if numbers(found.get(name)) is not None), None)
