"""The human skeleton that every HumanMotion made by lagoon uses: 22 joints of SMPL, no hands.

What enters: nothing. What leaves: names, parents and left/right pairs. Order and names are those of
HumanML3D, which takes the first 22 joints of SMPL (Guo et al. 2022; Loper et al. 2015).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

JOINT_NAMES: tuple[str, ...] = (
    "pelvis",
    "left_hip",
    "right_hip",
    "spine1",
    "left_knee",
    "right_knee",
    "spine2",
    "left_ankle",
    "right_ankle",
    "spine3",
    "left_foot",
    "right_foot",
    "neck",
    "left_collar",
    "right_collar",
    "head",
    "left_shoulder",
    "right_shoulder",
    "left_elbow",
    "right_elbow",
    "left_wrist",
    "right_wrist",
)

PARENTS: tuple[int, ...] = (-1, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 9, 9, 12, 13, 14, 16, 17, 18, 19)

BONES: tuple[tuple[str, str], ...] = tuple(
    (JOINT_NAMES[parent], JOINT_NAMES[child]) for child, parent in enumerate(PARENTS) if parent >= 0
)

MIRROR: tuple[int, ...] = tuple(
    JOINT_NAMES.index(
        name.replace("left_", "R_").replace("right_", "left_").replace("R_", "right_")
        if name.startswith(("left_", "right_"))
        else name
    )
    for name in JOINT_NAMES
)
"""Index of each joint's mirror image: ``joint_pos[:, MIRROR]`` swaps left and right."""

HEIGHTS = (0.5, 3.0)
"""Length [m] of the line pelvis, spine, neck, head plus leg that a person may have; catches other units than metres."""
_LINE = ("left_foot", "left_ankle", "left_knee", "left_hip", "pelvis", "spine1", "spine2", "spine3", "neck", "head")


def body_height(joint_names: Sequence[str], joint_pos: NDArray[np.float64]) -> float | None:
    """Return a person's height from foot to head along the bones, which no pose changes; the median over time.

    Args:
        joint_names: (J,) names.
        joint_pos: (T, J, 3) positions in any frame and unit.

    Returns:
        The height in that unit; None if joints of the line are missing.
    """
    if not set(_LINE) <= set(joint_names):
        return None
    points = joint_pos[:, [list(joint_names).index(name) for name in _LINE]]
    return float(np.median(np.linalg.norm(np.diff(points, axis=1), axis=-1).sum(axis=1)))
