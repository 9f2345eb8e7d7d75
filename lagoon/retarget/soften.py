"""The same motion, smaller or with lower jumps: what a person would do who holds back.

What enters: a HumanMotion and shares. What leaves: a HumanMotion of the same length, with the same bones.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter1d

from lagoon.motion.bones import bone_lengths, with_bones
from lagoon.motion.human_motion import HumanMotion
from lagoon.motion.rotations import quat_between, quat_from_rotvec, quat_rotate, quat_to_rotvec
from lagoon.motion.skeleton import JOINT_NAMES, PARENTS

Array = NDArray[np.float64]

TURNING = 0.3
"""Standard deviation of the Gaussian over time [s] that leaves of the heading what is a turn and no sway."""


def soften(human: HumanMotion, size: float, jump: float) -> HumanMotion:
    """Shrink a motion about its mean pose, and its flights about the floor.

    Feet that stand stay where they are: the way through the world shrinks as the limbs do. The lowest joint keeps its
    height above the floor, times ``jump``.

    Args:
        human: T frames of lagoon's 22 joints.
        size: share of every departure from the mean pose that is kept; 1 changes nothing.
        jump: share of the height of every flight that is kept; 1 changes nothing.
    """
    if size == 1.0 and jump == 1.0:
        return human
    pos = np.stack([human.joint(name) for name in JOINT_NAMES], axis=1)
    clearance = pos[..., 2].min(axis=1)
    floor = float(clearance.min())
    if size != 1.0:
        pos = _shrunk(pos, human.fps, size)
    wanted = floor + jump * (clearance - floor)
    pos[..., 2] += (wanted - pos[..., 2].min(axis=1))[:, None]
    return replace(human, joint_names=JOINT_NAMES, joint_pos_w=pos)


def _shrunk(pos: Array, fps: float, size: float) -> Array:
    """(T, 22, 3) pulled toward the mean pose, which turns with the person; bones get their median length."""
    at = {name: i for i, name in enumerate(JOINT_NAMES)}
    left = pos[:, at["left_hip"]] - pos[:, at["right_hip"]] + pos[:, at["left_shoulder"]] - pos[:, at["right_shoulder"]]
    yaw = np.unwrap(np.arctan2(-left[:, 0], left[:, 1]))
    yaw = gaussian_filter1d(yaw, TURNING * fps, mode="nearest")
    root = pos[:, :1]
    shape = _turned(pos - root, -yaw)
    # Each bone turns back toward its mean direction by that share of the angle.
    bones = shape[:, 1:] - shape[:, list(PARENTS[1:])]
    mean = bones.mean(axis=0, keepdims=True)
    back = quat_from_rotvec(size * quat_to_rotvec(quat_between(mean, bones)))
    bones = quat_rotate(back, np.broadcast_to(mean, bones.shape))
    chained = np.zeros_like(shape)
    for joint in range(1, len(PARENTS)):
        chained[:, joint] = chained[:, PARENTS[joint]] + bones[:, joint - 1]
    shape = _turned(with_bones(chained, np.median(bone_lengths(pos), axis=0)), yaw)
    centre = np.concatenate([root[:1, :, :2], root[..., 2:].mean(axis=0, keepdims=True)], axis=-1)
    return centre + size * (root - centre) + shape


def _turned(vectors: Array, yaw: Array) -> Array:
    """(T, J, 3) turned about the vertical by (T,) angles [rad]."""
    c, s = np.cos(yaw)[:, None], np.sin(yaw)[:, None]
    x, y, z = np.moveaxis(vectors, -1, 0)
    return np.stack([c * x - s * y, s * x + c * y, z], axis=-1)
