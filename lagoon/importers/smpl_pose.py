"""Joint positions of SMPL's kind of pose: a mean skeleton, or the very person from a body model file.

What enters: rotations of 22 joints relative to their parents (SMPL's convention: all zero is a T-pose with
Y up, Z ahead, X left), the path of the root, perhaps shape numbers and a model file. What leaves: positions.

Source: the kinematics of SMPL (Loper et al. 2015, eqs. 3 and 4) without the skin.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from lagoon.body.forward import positions
from lagoon.body.smpl_model import load_smpl
from lagoon.motion.rotations import quat_from_rotvec, quat_to_matrix
from lagoon.motion.skeleton import JOINT_NAMES, PARENTS

Array = NDArray[np.float64]

# A symmetric adult of 1.71 m in a T-pose, rounded to 5 mm: joint minus parent [m], X left, Y up, Z ahead. Segment
# lengths are those of a mean adult (Winter 2009); directions are those that the poses of SMPL take for granted.
_MEAN = {
    "left_hip": (0.065, -0.09, -0.005),
    "spine1": (0.0, 0.11, -0.025),
    "left_knee": (0.04, -0.38, 0.0),
    "spine2": (0.0, 0.135, 0.0),
    "left_ankle": (-0.015, -0.4, -0.04),
    "spine3": (0.0, 0.055, 0.025),
    "left_foot": (0.03, -0.055, 0.12),
    "neck": (0.0, 0.215, -0.045),
    "left_collar": (0.08, 0.12, -0.035),
    "head": (0.0, 0.07, 0.05),
    "left_shoulder": (0.095, 0.03, -0.01),
    "left_elbow": (0.255, -0.015, -0.025),
    "left_wrist": (0.25, 0.01, 0.0),
}


def mean_offsets() -> Array:
    """(22, 3) joint minus parent in the T-pose of a mean adult [m], X left, Y up, Z ahead."""
    offsets = np.zeros((len(JOINT_NAMES), 3))
    for i, name in enumerate(JOINT_NAMES[1:], 1):
        x, y, z = _MEAN[name.replace("right_", "left_")]
        offsets[i] = (-x if name.startswith("right_") else x, y, z)
    return offsets


def person_offsets(model: Path, betas: Array | None) -> Array:
    """(22, 3) joint minus parent in the T-pose of one person [m], from a body model.

    Args:
        model: npz of SMPL, SMPL-H or SMPL-X.
        betas: shape numbers; None takes the model's mean.

    Raises:
        BadInputError: it is no npz, or no body model.
        CorruptFileError: it is damaged, or its arrays do not fit each other.
    """
    found = load_smpl(model)
    shape = np.zeros(1) if betas is None else np.nan_to_num(betas)
    joints = found.joints(shape[: found.shapedirs.shape[-1]])[: len(JOINT_NAMES)]
    offsets = joints.copy()
    offsets[1:] -= joints[list(PARENTS[1:])]
    return offsets


def pose(rotvec: Array, root: Array, offsets: Array) -> Array:
    """Return (T, 22, 3) joint positions [m].

    Args:
        rotvec: (T, 22, 3) rotation vectors relative to the parent [rad].
        root: (T, 3) position of the pelvis [m].
        offsets: (22, 3) joint minus parent in the T-pose [m].
    """

    def local(part: slice) -> tuple[Array, Array]:
        block = rotvec[part]
        finite = np.asarray(np.isfinite(block).all(axis=(1, 2)))
        shift = np.broadcast_to(offsets, (len(block), *offsets.shape)).copy()
        shift[:, 0] = root[part]
        shift[~finite] = np.nan
        return shift, quat_to_matrix(quat_from_rotvec(np.where(finite[:, None, None], block, 0.0)))

    return positions(PARENTS, len(rotvec), local)
