"""Lengths of the skeleton's bones: measured, and made constant.

What enters: joints (T, 22, 3) in any frame and unit. What leaves: lengths, or joints with the lengths asked for. Bones
are in the order of joints 1..21, each from that joint to its parent.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lagoon.motion.skeleton import PARENTS

Array = NDArray[np.float64]


def bone_lengths(pos: Array) -> Array:
    """Lengths (T, 21) of the bones of (T, 22, 3)."""
    return np.linalg.norm(pos[:, 1:] - pos[:, list(PARENTS[1:])], axis=-1)


def with_bones(pos: Array, lengths: Array) -> Array:
    """Give the bones of (T, 22, 3) constant lengths (21,), each in its own direction, from the pelvis outward.

    A bone without a direction, its ends on one spot, points up.
    """
    out = np.array(pos, float)
    for joint in range(1, len(PARENTS)):
        parent = PARENTS[joint]
        bone = pos[:, joint] - pos[:, parent]
        size = np.linalg.norm(bone, axis=-1, keepdims=True)
        unit = np.where(size > 1e-9, bone / np.maximum(size, 1e-9), np.array([0.0, 0.0, 1.0]))
        out[:, joint] = out[:, parent] + lengths[joint - 1] * unit
    return out
