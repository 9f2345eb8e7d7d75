"""Forward kinematics: rotations of joints relative to their parents to positions in the world.

What enters: a tree, offsets, rotations. What leaves: (T, J, 3) positions. Axes and units are those of what enters.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
BLOCK = 4096
"""Frames worked on at a time, so that ten minutes of capture do not fill the memory with matrices."""


def chain(parents: Sequence[int], shift: Array, turn: Array) -> tuple[Array, Array]:
    """Return positions (T, J, 3) and orientations (T, J, 3, 3) of joints.

    Args:
        parents: (J,) parent of each joint, before it in order; -1 for a root.
        shift: (T, J, 3) place of each joint in its parent's frame; a root's in the world.
        turn: (T, J, 3, 3) rotation of each joint in its parent's frame; a root's in the world.
    """
    place, world = np.array(shift, float), np.array(turn, float)
    for joint, parent in enumerate(parents):
        if parent >= 0:
            place[:, joint] = place[:, parent] + np.einsum("tij,tj->ti", world[:, parent], shift[:, joint])
            world[:, joint] = world[:, parent] @ turn[:, joint]
    return place, world


def positions(
    parents: Sequence[int], frames: int, local: Callable[[slice], tuple[Array, Array]], block: int = BLOCK
) -> Array:
    """Return joint positions (T, J, 3) of long motions, a stretch at a time.

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
        out[part] = chain(parents, *local(part))[0]
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
