"""What the predicates measure of a human motion: paths of joints, swings, pitch of the trunk, way.

What enters: joint positions (T, 22, 3) at 20 fps, Z-up, facing +X at frame 0. What leaves: arrays and numbers in
metres and radians.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.signal import find_peaks

from lagoon.motion.skeleton import JOINT_NAMES
from lagoon.text2motion import features

Array = NDArray[np.float64]
INDEX = {name: i for i, name in enumerate(JOINT_NAMES)}


def joint(pos: Array, name: str) -> Array:
    """(T, 3) path of a joint."""
    return pos[:, INDEX[name]]


def swings(signal: Array, size: float) -> int:
    """Number of turning points of a signal that stand out by ``size``, ups and downs together, the ends not counted."""
    return sum(len(find_peaks(sign * signal, prominence=size)[0]) for sign in (1.0, -1.0))


def feet_stay(pos: Array, most: float = 0.15) -> bool:
    """Whether neither ankle moves farther than ``most`` [m] from where it is in the middle of its path."""
    feet = pos[:, [INDEX["left_ankle"], INDEX["right_ankle"]]]
    return float(np.linalg.norm(feet - np.median(feet, axis=0), axis=-1).max()) < most


def pitch(pos: Array) -> Array:
    """(T,) angle [rad] of the trunk from the vertical, positive toward where the person faces."""
    trunk = joint(pos, "neck") - joint(pos, "pelvis")
    yaw = features.heading(pos)
    ahead = trunk[:, 0] * np.cos(yaw) + trunk[:, 1] * np.sin(yaw)
    return np.arctan2(ahead, trunk[:, 2])


def travel(pos: Array) -> Array:
    """(2,) way of the pelvis from first to last frame [m], +X ahead and +Y left of where the person faced."""
    return pos[-1, 0, :2] - pos[0, 0, :2]


def ahead(pos: Array) -> float:
    """How far the pelvis goes in the direction it faces at each moment, summed [m]."""
    yaw, step = features.heading(pos)[1:], np.diff(pos[:, 0, :2], axis=0)
    return float((step[:, 0] * np.cos(yaw) + step[:, 1] * np.sin(yaw)).sum())
