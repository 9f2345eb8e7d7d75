"""Synthetic people: (T, 22, 3) motions [m] made by formulae, Z-up, over the origin, facing +X at frame 0."""

from __future__ import annotations

import numpy as np

from lagoon.motion.skeleton import JOINT_NAMES, PARENTS

_OFFSETS = {
    "left_hip": (0.0, 0.1, -0.05),
    "spine1": (0.0, 0.0, 0.12),
    "left_knee": (0.02, 0.0, -0.4),
    "spine2": (0.0, 0.0, 0.13),
    "left_ankle": (-0.02, 0.0, -0.42),
    "spine3": (0.0, 0.0, 0.06),
    "left_foot": (0.12, 0.02, -0.05),
    "neck": (0.0, 0.0, 0.21),
    "left_collar": (0.0, 0.08, 0.12),
    "head": (0.03, 0.0, 0.1),
    "left_shoulder": (0.0, 0.11, 0.03),
    "left_elbow": (0.0, 0.04, -0.25),
    "left_wrist": (0.03, 0.02, -0.25),
}


def standing_pose() -> np.ndarray:
    """(22, 3) a symmetric person standing on the floor over the origin, facing +X."""
    pose = np.zeros((22, 3))
    for joint in range(1, 22):
        name = JOINT_NAMES[joint]
        right = name.startswith("right_")
        x, y, z = _OFFSETS[name.replace("right_", "left_")]
        pose[joint] = pose[PARENTS[joint]] + (x, -y if right else y, z)
    pose[:, 2] -= pose[:, 2].min()
    return pose


def waving(frames: int = 60, cycles: float = 3.0) -> np.ndarray:
    """(T, 22, 3) raises the right forearm above the shoulder, swings it, and lowers it."""
    pose = standing_pose()
    motion = np.repeat(pose[None], frames, axis=0)
    elbow, wrist, shoulder = (JOINT_NAMES.index(f"right_{part}") for part in ("elbow", "wrist", "shoulder"))
    t = np.linspace(0.0, 1.0, frames)
    raised = np.clip(4.0 * np.minimum(t, 1.0 - t), 0.0, 1.0)
    raised = raised**2 * (3 - 2 * raised)
    lift = np.radians(10.0) + raised * np.radians(85.0)
    upper = np.stack([np.zeros(frames), -np.sin(lift), -np.cos(lift)], axis=-1)
    swing = lift + raised * (np.radians(80.0) + np.radians(35.0) * np.sin(2 * np.pi * cycles * t))
    lower = np.stack([np.full(frames, 0.0), -np.sin(swing), -np.cos(swing)], axis=-1)
    motion[:, elbow] = motion[:, shoulder] + 0.255 * upper
    motion[:, wrist] = motion[:, elbow] + 0.255 * lower
    return motion


def walking(frames: int = 60, speed: float = 1.0, turn: float = 0.0) -> np.ndarray:
    """(T, 22, 3) glides ahead while the feet swing; ``turn`` is the yaw rate [rad/s]."""
    t = np.arange(frames) / 20.0
    motion = np.repeat(standing_pose()[None], frames, axis=0)
    for side, phase in (("left", 0.0), ("right", np.pi)):
        for part, share in (("knee", 0.5), ("ankle", 1.0), ("foot", 1.0)):
            joint = JOINT_NAMES.index(f"{side}_{part}")
            motion[:, joint, 0] += share * 0.2 * np.sin(2 * np.pi * t + phase)
            motion[:, joint, 2] += share * 0.06 * (1 + np.cos(2 * np.pi * t + phase))
    yaw = turn * t
    c, s = np.cos(yaw)[:, None], np.sin(yaw)[:, None]
    x, y = motion[..., 0].copy(), motion[..., 1].copy()
    motion[..., 0], motion[..., 1] = c * x - s * y, s * x + c * y
    step = speed / 20.0 * np.stack([np.cos(yaw), np.sin(yaw)], axis=-1)
    motion[..., :2] += (np.cumsum(step, axis=0) - step[:1])[:, None]
    return motion


def squatting(frames: int = 80, cycles: int = 2, depth: float = 0.3) -> np.ndarray:
    """(T, 22, 3) sinks everything but the legs' ends so many times."""
    motion = np.repeat(standing_pose()[None], frames, axis=0)
    drop = depth * 0.5 * (1 - np.cos(2 * np.pi * cycles * np.linspace(0, 1, frames)))
    fixed = [JOINT_NAMES.index(f"{s}_{p}") for s in ("left", "right") for p in ("ankle", "foot")]
    moving = [j for j in range(22) if j not in fixed]
    motion[:, moving, 2] -= drop[:, None]
    for side in ("left", "right"):
        motion[:, JOINT_NAMES.index(f"{side}_knee"), 2] += 0.5 * drop
        motion[:, JOINT_NAMES.index(f"{side}_knee"), 0] += 0.6 * drop
    return motion
