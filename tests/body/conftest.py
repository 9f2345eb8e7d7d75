"""A small synthetic body model with SMPL's names, and motions of its joints."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from lagoon.body.smpl_model import SmplModel, load_smpl
from lagoon.motion.human_motion import HumanMotion
from lagoon.motion.rotations import quat_from_rotvec, quat_mul
from lagoon.motion.skeleton import JOINT_NAMES, PARENTS

_OFFSETS = {
    "hip": (0.06, -0.09, -0.01),
    "spine1": (0.0, 0.11, -0.02),
    "spine2": (0.0, 0.14, 0.02),
    "spine3": (0.0, 0.06, 0.0),
    "knee": (0.04, -0.38, 0.0),
    "ankle": (-0.02, -0.42, -0.04),
    "foot": (0.03, -0.06, 0.12),
    "neck": (0.0, 0.21, -0.03),
    "collar": (0.08, 0.12, -0.02),
    "head": (0.0, 0.09, 0.05),
    "shoulder": (0.1, 0.04, -0.01),
    "elbow": (0.26, -0.01, -0.02),
    "wrist": (0.25, 0.01, 0.0),
}


def rest_joints() -> np.ndarray:
    """(24, 3) joints at rest [m], y up, arms out; the last two are hands."""
    out = np.zeros((24, 3))
    parents = (*PARENTS, 20, 21)
    for joint in range(1, 24):
        name = JOINT_NAMES[joint] if joint < 22 else ("left_hand", "right_hand")[joint - 22]
        x, y, z = _OFFSETS.get(name.removeprefix("left_").removeprefix("right_"), (0.08, 0.0, 0.0))
        out[joint] = out[parents[joint]] + (-x if name.startswith("right_") else x, y, z)
    return out


def model_arrays() -> dict[str, np.ndarray]:
    """Four vertices around each joint; joints are the means of their own four."""
    rng = np.random.default_rng(0)
    joints = rest_joints()
    around = 0.05 * np.array([(1, 1, 1), (1, -1, -1), (-1, 1, -1), (-1, -1, 1)], float)
    vertices = (joints[:, None] + around).reshape(-1, 3)
    count = len(vertices)
    shapes = np.zeros((count, 3, 10))
    shapes[..., 0] = 0.05 * vertices  # Taller.
    shapes[..., 1] = 0.05 * vertices * (1, 0, 0)  # Longer arms.
    shapes[..., 2:] = 0.002 * rng.normal(size=(count, 3, 8))
    weights = np.repeat(np.eye(24), 4, axis=0) + 0.1 * rng.random((count, 24))
    return {
        "v_template": vertices,
        "shapedirs": shapes,
        "posedirs": 0.001 * rng.normal(size=(count, 3, 207)),
        "J_regressor": np.repeat(np.eye(24), 4, axis=1) / 4,
        "weights": weights / weights.sum(axis=1, keepdims=True),
        "kintree_table": np.array([(2**32 - 1, *PARENTS[1:], 20, 21), range(24)], np.uint32),
        "f": np.array([(4 * k + a, 4 * k + b, 4 * k + c) for k in range(24) for a, b, c in ((0, 1, 2), (0, 2, 3))]),
    }


@pytest.fixture
def model_file(tmp_path: Path) -> Path:
    np.savez(tmp_path / "SMPL_NEUTRAL.npz", **model_arrays())
    return tmp_path / "SMPL_NEUTRAL.npz"


@pytest.fixture
def model(model_file: Path) -> SmplModel:
    return load_smpl(model_file)


def tumbling(rest: np.ndarray, frames: int = 40, seed: int = 0) -> HumanMotion:
    """Joints at rest (22, 3), y up, moved by smooth rotations of all of them, Z-up."""
    rng = np.random.default_rng(seed)
    t = np.linspace(0, 2 * np.pi, frames)[:, None]
    pos = np.zeros((frames, 22, 3))
    pos[:, 0] = np.concatenate([t / 4, np.sin(t) / 5, 0.9 + np.cos(t) / 10], axis=-1)
    stand = quat_from_rotvec(np.full(3, 2 * np.pi / 3 / np.sqrt(3)))  # y up to Z up, +z to +X.
    turned = np.zeros((frames, 22, 4))
    for joint in range(22):
        waves = 0.5 * np.sin(t * rng.integers(1, 3, 3) + rng.uniform(0, 6, 3)) * rng.uniform(0, 1, 3)
        before = turned[:, PARENTS[joint]] if joint else np.tile(stand, (frames, 1))
        turned[:, joint] = quat_mul(before, quat_from_rotvec(waves))
    from lagoon.motion.rotations import quat_rotate

    for joint in range(1, 22):
        parent = PARENTS[joint]
        pos[:, joint] = pos[:, parent] + quat_rotate(turned[:, parent], rest[joint] - rest[parent])
    return HumanMotion(20.0, JOINT_NAMES, pos, "tumble")
