"""Reads npy files of HumanML3D: joint positions (T, 22, 3), or its 263 features a frame, at 20 fps, Y up.

What enters: an array. What leaves: a RawMotion of 22 joints. The features' layout is in lagoon/motion/humanml3d.py.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from lagoon.errors import BadInputError
from lagoon.importers.array_file import read_npy
from lagoon.importers.config import ImportConfig
from lagoon.importers.raw import Fact, RawMotion
from lagoon.motion.axes import to_y_up
from lagoon.motion.humanml3d import FPS, HEIGHT, NUM_FEATURES, POSITIONS, decode
from lagoon.motion.skeleton import JOINT_NAMES, PARENTS

Array = NDArray[np.float64]
MORE_JOINTS = (22, 24, 52, 55)
"""Numbers of joints of SMPL's bodies; the first 22 are the same in all."""


def read(path: Path, config: ImportConfig) -> RawMotion:
    """Read joints or features.

    Raises:
        BadInputError: the array has another shape, or the features are normalised.
        CorruptFileError: it is damaged.
    """
    array = read_npy(path)
    if array.dtype.kind not in "iuf":
        raise BadInputError(f"{path.name} holds {array.dtype}; expected numbers: (frames, 22, 3) or (frames, 263).")
    values = np.asarray(array, float)
    if values.ndim == 3 and values.shape[0] == 1:
        values = values[0]
    if values.ndim == 2 and values.shape[1] == NUM_FEATURES:
        _refuse_normalised(path, values)
        return joints_of(to_y_up(decode(values)), "HumanML3D features, by their 263 numbers a frame")
    if values.ndim == 2 and values.shape[1] in [3 * joints for joints in MORE_JOINTS]:
        values = values.reshape(len(values), -1, 3)
    if values.ndim == 3 and values.shape[2] == 3 and values.shape[1] in MORE_JOINTS:
        return joints_of(values[:, : len(JOINT_NAMES)], f"joints of SMPL, by the shape {array.shape}")
    raise BadInputError(
        f"{path.name} has shape {array.shape}; expected (frames, 22, 3) joints or (frames, 263) features of HumanML3D. "
        "For other joints save an npz with names: numpy.savez(FILE, joint_pos=..., joint_names=..., fps=...)."
    )


def joints_of(pos: Array, kind: str) -> RawMotion:
    """Joints in HumanML3D's customs: 20 fps, metres, Y up."""
    return RawMotion(
        kind=kind,
        names=JOINT_NAMES,
        pos=pos,
        parents=PARENTS,
        fps=Fact(FPS, "HumanML3D has 20"),
        unit=Fact(1.0, "HumanML3D is in metres"),
        up=Fact("y", "the custom of HumanML3D"),
    )


def _refuse_normalised(path: Path, features: Array) -> None:
    """Refuse features from which the data set's mean was taken: nothing in them says by how much.

    A head is above its pelvis, and a pelvis above the floor, for most of any clip; of normalised numbers it is not so.
    """
    height = np.nanmedian(features[:, HEIGHT])
    head = np.nanmedian(features[:, POSITIONS].reshape(len(features), -1, 3)[:, JOINT_NAMES.index("head") - 1, 1])
    if not (0.05 < height < 2.5 and 0.1 < head < 3.5):
        raise BadInputError(
            f"{path.name}: the features are normalised (pelvis at {height:.2f} m, head at {head:.2f} m); expected "
            "metres. Multiply by the data set's Std.npy and add its Mean.npy, then save them again."
        )
