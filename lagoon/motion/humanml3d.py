"""HumanML3D's 263 features of a motion: joints to features and back.

What enters: joint positions (T, 22, 3) in world, Z-up, X-forward, or features (T, 263). What leaves: the other.
Inside, axes are those of the format: y up, facing +z at frame 0.

Layout of a frame t, each rate from t to t + 1: half the yaw rate [rad/frame] (1); velocity of the pelvis in the
heading frame [m/frame] (2); height of the pelvis [m] (1); joints 1..21 in the heading frame, over the pelvis's
ground point [m] (63); rotations of the bones, first two columns of a matrix each (126); velocity of every joint in
the heading frame [m/frame] (66); contact of left ankle and foot, right ankle and foot (4).

Source: Guo et al. 2022, "Generating Diverse and Natural 3D Human Motions from Text", and the files that the
data set publishes; the tests compare with one of those.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from lagoon.errors import BadInputError
from lagoon.motion.axes import to_y_up, to_z_up
from lagoon.motion.rotations import quat_between, quat_conj, quat_from_rotvec, quat_mul, quat_rotate, quat_to_matrix
from lagoon.motion.skeleton import JOINT_NAMES

Array = NDArray[np.float64]

FPS = 20.0
"""Frame rate of the data set [Hz]."""
NUM_FEATURES = 263
VELOCITY, HEIGHT, POSITIONS = slice(1, 3), slice(3, 4), slice(4, 67)
ROTATIONS, RATES, CONTACTS = slice(67, 193), slice(193, 259), slice(259, 263)
CONTACT_SPEED = 0.002
"""Squared displacement [m^2] of a foot joint in one frame below which it is in contact."""
SMOOTH_FRAMES = 20.0
"""Standard deviation of the Gaussian over the facing direction [frames]."""

_INDEX = {name: i for i, name in enumerate(JOINT_NAMES)}
_FEET = tuple(_INDEX[name] for name in ("left_ankle", "left_foot", "right_ankle", "right_foot"))
_UP, _AHEAD = np.array([0.0, 1.0, 0.0]), np.array([0.0, 0.0, 1.0])
_SIDE, _DOWN = np.array([1.0, 0.0, 0.0]), -_UP
_CHAINS = ((0, 2, 5, 8, 11), (0, 1, 4, 7, 10), (0, 3, 6, 9, 12, 15), (9, 14, 17, 19, 21), (9, 13, 16, 18, 20))
"""Chains of bones; each begins with the orientation of the whole body, those of the arms too."""


def _rest_directions() -> dict[int, Array]:
    """Direction of the bone that ends in each joint when all its rotations are zero."""
    found: dict[int, Array] = {}
    for joint, name in enumerate(JOINT_NAMES):
        if name.endswith(("hip", "collar")):
            found[joint] = _SIDE if name.startswith("left") else -_SIDE
        elif name.startswith(("spine", "neck")):
            found[joint] = _UP
        elif name.endswith("foot") or name == "head":
            found[joint] = _AHEAD
        else:
            found[joint] = _DOWN
    return found


_REST = _rest_directions()


def decode(features: Array) -> Array:
    """Joint positions (T, 22, 3) [m], Z-up, of features (T, 263) that are not normalised.

    Raises:
        BadInputError: another shape.
    """
    f = np.asarray(features, float)
    if f.ndim != 2 or f.shape[1] != NUM_FEATURES:
        raise BadInputError(f"The features have shape {f.shape}; expected (frames, {NUM_FEATURES}) of HumanML3D.")
    half_yaw = np.concatenate([[0.0], np.cumsum(f[:-1, 0])])
    to_world = quat_from_rotvec(-2.0 * half_yaw[:, None] * _UP)
    step = np.zeros((len(f), 3))
    step[1:, [0, 2]] = f[:-1, VELOCITY]
    root = np.cumsum(quat_rotate(to_world, step), axis=0)
    root[:, 1] = f[:, 3]
    local = quat_rotate(to_world[:, None], f[:, POSITIONS].reshape(len(f), 21, 3))
    local[..., [0, 2]] += root[:, None, [0, 2]]
    return to_z_up(np.concatenate([root[:, None], local], axis=1))


def encode(joint_pos_w: Array) -> Array:
    """Features (T - 1, 263) of a motion (T, 22, 3) [m], Z-up, with the floor at z = 0.

    Where the person starts and faces is lost; the last frame only gives rates.
    """
    p, heading = _headings(to_y_up(joint_pos_w))
    moved = np.diff(p, axis=0)
    turned = quat_mul(heading[1:], quat_conj(heading[:-1]))
    local = p.copy()
    local[..., [0, 2]] -= p[:, :1, [0, 2]]
    local = quat_rotate(heading[:, None], local)
    rates = quat_rotate(heading[:-1, None], moved)
    return np.concatenate(
        [
            np.arcsin(np.clip(turned[:, 2:3], -1.0, 1.0)),
            quat_rotate(heading[1:], moved[:, 0])[:, [0, 2]],
            p[:-1, 0, 1:2],
            local[:-1, 1:].reshape(len(moved), -1),
            _bone_rotations(p, heading)[:-1].reshape(len(moved), -1),
            rates.reshape(len(moved), -1),
            np.sum(moved[:, _FEET] ** 2, axis=-1) < CONTACT_SPEED,
        ],
        axis=-1,
    )


def _ahead(p: Array, shoulders: float) -> Array:
    """Directions (T, 3) across which hips and shoulders lie, y-up; the sign says how shoulders add to hips."""
    across = p[:, _INDEX["left_hip"]] - p[:, _INDEX["right_hip"]]
    across = across + shoulders * (p[:, _INDEX["left_shoulder"]] - p[:, _INDEX["right_shoulder"]])
    across = across / np.maximum(np.linalg.norm(across, axis=-1, keepdims=True), 1e-9)
    return shoulders * np.cross(across, _UP)


def _headings(p: Array) -> tuple[Array, Array]:
    """The motion turned to face ahead at frame 0, and rotations (T, 4) from each frame's world to its heading.

    As in the data set: at frame 0 hips and shoulders count alike and the heading is exactly ahead; from then on
    it is smoothed over time, and the line across the hips is subtracted from that across the shoulders.
    """
    p = quat_rotate(quat_between(_ahead(p[:1], 1.0), _AHEAD)[:, None], p)
    heading = quat_between(_smoothed(_ahead(p, -1.0)), _AHEAD)
    heading[0] = (1.0, 0.0, 0.0, 0.0)
    return p, heading


def _smoothed(paths: Array) -> Array:
    """Gaussian mean of (T, n) over time, cut off at four standard deviations; ends are continued by their own value."""
    reach = round(4.0 * SMOOTH_FRAMES)
    taps = np.exp(-0.5 * (np.arange(-reach, reach + 1) / SMOOTH_FRAMES) ** 2)
    padded = np.pad(paths, ((reach, reach), (0, 0)), mode="edge")
    return np.stack([np.convolve(path, taps / taps.sum(), mode="valid") for path in padded.T], axis=-1)


def _bone_rotations(p: Array, heading: Array) -> Array:
    """First two columns (T, 21, 6) of each bone's rotation relative to the one before it in its chain."""
    out = np.zeros((len(p), 21, 6))
    for chain in _CHAINS:
        frame = heading
        for parent, child in pairwise(chain):
            bone = p[:, child] - p[:, parent]
            bone = bone / np.maximum(np.linalg.norm(bone, axis=-1, keepdims=True), 1e-9)
            turn = quat_between(np.broadcast_to(_REST[child], bone.shape), bone)
            matrix = quat_to_matrix(quat_mul(quat_conj(frame), turn))
            out[:, child - 1] = np.concatenate([matrix[..., 0], matrix[..., 1]], axis=-1)
            frame = turn
    return out
