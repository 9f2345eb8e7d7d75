"""Motion as per-frame features that do not depend on where the person stands or looks, and back.

What enters: (T, 22, 3) joint positions in world, Z-up. What leaves: (T, 71) features, and the exact
inverse. The tokenizer learns on these; only this module knows their layout.

Layout of a frame: yaw rate [rad/s] (1); velocity of the pelvis in the heading frame [m/s] (2); height of
the pelvis [m] (1); joints 1..21 minus the pelvis in the heading frame [m] (63); contact of left ankle,
right ankle, left foot, right foot (4). Rates at frame t are those from t-1 to t and zero at frame 0.

Source: after the 263 features of HumanML3D (Guo et al. 2022), without what follows from the rest.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter1d

from lagoon.motion.skeleton import JOINT_NAMES
from lagoon.text2motion.config import FPS

Array = NDArray[np.float64]

NUM_FEATURES = 71
YAW = slice(0, 1)
VELOCITY = slice(1, 3)
HEIGHT = slice(3, 4)
POSITIONS = slice(4, 67)
CONTACTS = slice(67, 71)

_INDEX = {name: i for i, name in enumerate(JOINT_NAMES)}
FEET = tuple(_INDEX[name] for name in ("left_ankle", "right_ankle", "left_foot", "right_foot"))
"""Joints whose contact is a feature, in that order."""
CONTACT_HEIGHT = (0.11, 0.11, 0.06, 0.06)
"""Height [m] below which an ankle or foot joint may touch: about 5 cm above where it is in a stand."""
CONTACT_SPEED = 0.35
"""Horizontal speed [m/s] below which it is taken to touch."""


def columns(joints: Iterable[str]) -> list[int]:
    """Columns of the positions of some joints, in the order given; the pelvis has none."""
    return [POSITIONS.start + 3 * (_INDEX[name] - 1) + axis for name in joints for axis in range(3)]


def part_columns() -> dict[str, list[int]]:
    """Columns of each part of the body in config.PARTS; together they are all, once each."""
    sides = ("left", "right")
    arms = columns(f"{side}_{name}" for side in sides for name in ("elbow", "wrist"))
    legs = columns(f"{side}_{name}" for side in sides for name in ("hip", "knee", "ankle", "foot"))
    legs = [*range(POSITIONS.start), *legs, *range(CONTACTS.start, CONTACTS.stop)]
    trunk = [column for column in range(NUM_FEATURES) if column not in {*arms, *legs}]
    return {"legs": legs, "trunk": trunk, "arms": arms}


def heading(joint_pos_w: Array) -> Array:
    """Angle (T,) [rad] of where the person faces in the ground plane, continuous in time.

    Standing people face across their hips and shoulders. Upside down that direction flips for a
    cartwheel, and the belly's direction flips for a backflip; so a trunk that is not upright keeps
    whichever sign continues the frame before.
    """
    p = np.asarray(joint_pos_w, float)
    left = p[:, _INDEX["left_hip"]] - p[:, _INDEX["right_hip"]]
    left = left + p[:, _INDEX["left_shoulder"]] - p[:, _INDEX["right_shoulder"]]
    up = p[:, _INDEX["neck"]] - p[:, 0]
    up /= np.linalg.norm(up, axis=-1, keepdims=True)
    left /= np.maximum(np.linalg.norm(left, axis=-1, keepdims=True), 1e-9)
    belly = np.cross(left, up)[:, :2]
    across = np.stack([left[:, 1], -left[:, 0]], axis=-1)
    direction = np.zeros((len(p), 2))
    before = np.array([1.0, 0.0])
    for t in range(len(p)):
        upright = up[t, 2] > 0.5
        a = across[t] if upright or across[t] @ before >= 0 else -across[t]
        b = belly[t] if upright or belly[t] @ before >= 0 else -belly[t]
        total = a + b
        if np.linalg.norm(total) < 0.2:
            total = before
        before = direction[t] = total / np.linalg.norm(total)
    if len(p) > 2:
        direction = gaussian_filter1d(direction, 1.5, axis=0, mode="nearest")
    return np.unwrap(np.arctan2(direction[:, 1], direction[:, 0]))


def turn(xy: Array, angle: Array) -> Array:
    """Rotate (..., 2) vectors by angle (...) [rad] about Z."""
    c, s = np.cos(angle), np.sin(angle)
    return np.stack([c * xy[..., 0] - s * xy[..., 1], s * xy[..., 0] + c * xy[..., 1]], axis=-1)


def canonical(joint_pos_w: Array) -> Array:
    """Move the motion so that at frame 0 the pelvis is over the origin and the person faces +X."""
    p = np.array(joint_pos_w, float)
    p[..., :2] = turn(p[..., :2] - p[0, 0, :2], np.full(p.shape[:2], -heading(p)[0]))
    return p


def contacts(joint_pos_w: Array) -> Array:
    """(T, 4) in {0, 1}: low and slow feet, in the order of FEET."""
    feet = np.asarray(joint_pos_w, float)[:, FEET]
    speed = np.zeros(feet.shape[:2])
    if len(feet) > 1:
        speed = np.linalg.norm(np.gradient(feet[..., :2], axis=0), axis=-1) * FPS
    return ((feet[..., 2] < np.array(CONTACT_HEIGHT)) & (speed < CONTACT_SPEED)).astype(float)


def encode(joint_pos_w: Array) -> Array:
    """Features (T, 71) of a motion (T, 22, 3) [m]; where it starts and faces is lost on purpose."""
    p = np.asarray(joint_pos_w, float)
    yaw = heading(p)
    local = p[:, 1:] - p[:, :1]
    local[..., :2] = turn(local[..., :2], -np.repeat(yaw[:, None], 21, axis=1))
    step = np.diff(p[:, 0, :2], axis=0, prepend=p[:1, 0, :2])
    return np.concatenate(
        [
            np.diff(yaw, prepend=yaw[:1])[:, None] * FPS,
            turn(step, -yaw) * FPS,
            p[:, 0, 2:],
            local.reshape(len(p), 63),
            contacts(p),
        ],
        axis=-1,
    )


def decode(features: Array) -> Array:
    """Joint positions (T, 22, 3) [m] of features (T, 71); starts over the origin facing +X."""
    f = np.asarray(features, float)
    yaw = np.cumsum(f[:, 0]) / FPS
    xy = np.cumsum(turn(f[:, VELOCITY], yaw), axis=0) / FPS
    local = f[:, POSITIONS].reshape(len(f), 21, 3).copy()
    local[..., :2] = turn(local[..., :2], np.repeat(yaw[:, None], 21, axis=1))
    root = np.concatenate([xy, f[:, HEIGHT]], axis=-1)
    return np.concatenate([root[:, None], root[:, None] + local], axis=1)
