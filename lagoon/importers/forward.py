"""Forward kinematics: rotations of joints relative to their parents to positions in the file's world.

What enters: a tree, offsets, rotations. What leaves: (T, J, 3) positions. Axes and units are the file's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
BLOCK = 4096
"""Frames worked on at a time, so that ten minutes of capture do not fill the memory with matrices."""


def positions(
    parents: Sequence[int], frames: int, local: Callable[[slice], tuple[Array, Array]], block: int = BLOCK
) -> Array:
    """Return joint positions (T, J, 3).

    Args:
        parents: (J,) parent of each joint, before it in order; -1 for a root.
        frames: T.
        local: gives, for a stretch of B frames, translations (B, J, 3) and rotations (B, J, 3, 3) of each joint
            in its parent's frame.
        block: B.
    """
    out = np.empty((frames, len(parents), 3))
    for start in range(0, frames, block):
        part = slice(start, min(start + block, frames))
        shift, turn = local(part)
        world: list[Array] = []
        for joint, parent in enumerate(parents):
            if parent < 0:
                out[part, joint] = shift[:, joint]
                world.append(turn[:, joint])
                continue
            out[part, joint] = out[part, parent] + np.einsum("bij,bj->bi", world[parent], shift[:, joint])
            world.append(world[parent] @ turn[:, joint])
    return out


def about_axis(axis: str, angle: Array) -> Array:
    """Rotation matrices (..., 3, 3) by angle (...) [rad] about x, y or z."""
    c, s, one, zero = np.cos(angle), np.sin(angle), np.ones_like(angle), np.zeros_like(angle)
    rows = {
        "x": ((one, zero, zero), (zero, c, -s), (zero, s, c)),
        "y": ((c, zero, s), (zero, one, zero), (-s, zero, c)),
        "z": ((c, -s, zero), (s, c, zero), (zero, zero, one)),
    }[axis.lower()]
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)


def from_rotvec(vector: Array) -> Array:
    """Rotation matrices (..., 3, 3) of rotation vectors (..., 3) [rad]."""
    from scipy.spatial.transform import Rotation

    flat = np.asarray(vector, float).reshape(-1, 3)
    return Rotation.from_rotvec(flat).as_matrix().reshape(*vector.shape[:-1], 3, 3)
