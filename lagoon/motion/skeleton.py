"""The human skeleton that every HumanMotion made by lagoon uses: 22 joints of SMPL, no hands.

What enters: nothing. What leaves: names, parents and left/right pairs. Order and names are those of
HumanML3D, which takes the first 22 joints of SMPL (Guo et al. 2022; Loper et al. 2015).
"""

from __future__ import annotations

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
