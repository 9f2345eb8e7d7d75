"""Reads npy files of HumanML3D: joint positions (T, 22, 3), or its 263 features a frame, at 20 fps, Y up.

What enters: an array. What leaves: a RawMotion of 22 joints.

Source of the features' layout: Guo et al. 2022, "Generating Diverse and Natural 3D Human Motions from Text".
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from lagoon.errors import BadInputError
from lagoon.importers.array_file import read_npy
from lagoon.importers.config import ImportConfig
from lagoon.importers.raw import Fact, RawMotion
from lagoon.motion.skeleton import JOINT_NAMES, PARENTS

Array = NDArray[np.float64]
HUMANML_FPS = 20.0
WIDTH = 263
"""Numbers in a frame of features; the first four are the root's, the next 63 the other joints' positions."""
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
    if values.ndim == 2 and values.shape[1] == WIDTH:
        _refuse_normalised(path, values)
        return joints_of(decode(values), "HumanML3D features, by their 263 numbers a frame", "humanml3d")
    if values.ndim == 2 and values.shape[1] in [3 * joints for joints in MORE_JOINTS]:
        values = values.reshape(len(values), -1, 3)
    if values.ndim == 3 and values.shape[2] == 3 and values.shape[1] in MORE_JOINTS:
        return joints_of(values[:, : len(JOINT_NAMES)], f"joints of SMPL, by the shape {array.shape}", "humanml3d")
    raise BadInputError(
        f"{path.name} has shape {array.shape}; expected (frames, 22, 3) joints or (frames, 263) features of HumanML3D. "
        "For other joints save an npz with names: numpy.savez(FILE, joint_pos=..., joint_names=..., fps=...)."
    )


def joints_of(pos: Array, kind: str, name: str) -> RawMotion:
    """Joints in HumanML3D's customs: 20 fps, metres, Y up."""
    return RawMotion(
        format=name,
        kind=kind,
        names=JOINT_NAMES,
        pos=pos,
        parents=PARENTS,
        fps=Fact(HUMANML_FPS, "HumanML3D has 20"),
        unit=Fact(1.0, "HumanML3D is in metres"),
        up=Fact("y", "the custom of HumanML3D"),
    )


def decode(features: Array) -> Array:
    """Joint positions (T, 22, 3) [m], Y up, of features (T, 263).

    Layout used: half the turn about Y until the next frame [rad] (1), step in the ground plane until the next frame,
    X and Z in the heading frame [m] (2), height of the pelvis [m] (1), joints 1..21 in the heading frame, over the
    pelvis's spot of the floor [m] (63).
    """
    half = np.concatenate([[0.0], np.cumsum(features[:-1, 0])])
    step = np.concatenate([np.zeros((1, 2)), features[:-1, 1:3]])
    path = np.cumsum(_turned(step, half), axis=0)
    joints = features[:, 4:67].reshape(len(features), 21, 3).copy()
    joints[..., [0, 2]] = _turned(joints[..., [0, 2]], half[:, None]) + path[:, None]
    root = np.stack([path[:, 0], features[:, 3], path[:, 1]], axis=-1)
    return np.concatenate([root[:, None], joints], axis=1)


def _turned(xz: Array, half: Array) -> Array:
    """Rotate (..., 2) X and Z by minus twice ``half`` about Y: from the heading frame to the world."""
    c, s = np.cos(2 * half), np.sin(2 * half)
    x, z = xz[..., 0], xz[..., 1]
    return np.stack([c * x - s * z, s * x + c * z], axis=-1)


def _refuse_normalised(path: Path, features: Array) -> None:
    """Refuse features from which the data set's mean was taken: nothing in them says by how much.

    A head is above its pelvis, and a pelvis above the floor, for most of any clip; of normalised numbers it is not so.
    """
    height = np.nanmedian(features[:, 3])
    head = np.nanmedian(features[:, 4 + 3 * (JOINT_NAMES.index("head") - 1) + 1])
    if not (0.05 < height < 2.5 and 0.1 < head < 3.5):
        raise BadInputError(
            f"{path.name}: the features are normalised (pelvis at {height:.2f} m, head at {head:.2f} m); expected "
            "metres. Multiply by the data set's Std.npy and add its Mean.npy, then save them again."
        )
