"""Joint positions to rotations of bones.

What enters: positions (T, 22, 3) and the same joints at rest (22, 3). What leaves: orientations (T, 22, 4) wxyz
that take each bone at rest to where it points. Arrays in, arrays out; axes are whatever both share.

Positions do not show how far a bone is turned about itself. A joint with one bone gets the shortest rotation from
how its parent stands (swing without twist); a joint with several (pelvis, spine3) gets the rotation that fits them
best, which is unique; an end (head, wrists, feet) stands as its parent.

Source: Kabsch 1976 for the best fit of several directions.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lagoon.motion.rotations import quat_between, quat_from_matrix, quat_mul, quat_rotate, quat_to_matrix
from lagoon.motion.skeleton import JOINT_NAMES, PARENTS

Array = NDArray[np.float64]

CHILDREN = tuple(tuple(c for c, parent in enumerate(PARENTS) if parent == joint) for joint in range(len(PARENTS)))
"""Joints that hang on each joint."""
_ROUNDS = 5
"""Rounds of finding the shape of a joint's several bones."""


def orientations(rest: Array, joint_pos: Array) -> Array:
    """Orientations (T, 22, 4) wxyz of all joints in the frame of the positions.

    Args:
        rest: (22, 3) joints with all rotations zero [m].
        joint_pos: (T, 22, 3) [m].
    """
    p = np.asarray(joint_pos, float)
    out = np.zeros((*p.shape[:2], 4))
    out[..., 0] = 1.0
    for joint, children in enumerate(CHILDREN):
        parent = PARENTS[joint]
        before = out[:, parent] if parent >= 0 else out[:, joint]
        if len(children) > 1:
            ends = list(children)
            out[:, joint] = quat_from_matrix(_fit(rest[ends] - rest[joint], p[:, ends] - p[:, joint, None]))
        elif children:
            bone = quat_rotate(before, np.broadcast_to(rest[children[0]] - rest[joint], (len(p), 3)))
            out[:, joint] = quat_mul(quat_between(bone, p[:, children[0]] - p[:, joint]), before)
        else:
            out[:, joint] = before
    return out


def place(rest: Array, root: Array, orientation: Array) -> Array:
    """Positions (T, 22, 3) of a body at rest (22, 3) whose joints stand as given (T, 22, 4), its root at (T, 3)."""
    out = np.zeros((len(root), len(PARENTS), 3))
    out[:, 0] = root
    for joint in range(1, len(PARENTS)):
        parent = PARENTS[joint]
        out[:, joint] = out[:, parent] + quat_rotate(orientation[:, parent], rest[joint] - rest[parent])
    return out


def rest_of(joint_pos_w: Array) -> Array:
    """The body (22, 3) [m] of a motion (T, 22, 3), Z-up: standing, arms out to the sides, pelvis at the origin.

    Bones have their mean length over the motion. Where several hang on one joint, their shape is the mean of what
    the motion shows, so that turning it fits all of them.
    """
    p = np.asarray(joint_pos_w, float)
    out = np.zeros((len(PARENTS), 3))
    for joint, children in enumerate(CHILDREN):
        offsets = p[:, list(children)] - p[:, joint, None]
        if len(children) > 1:
            bones = _mean_shape(offsets, np.stack([_direction(child) for child in children]))
        else:
            lengths = np.linalg.norm(offsets, axis=-1).mean(axis=0)
            bones = np.array([_direction(child) for child in children]).reshape(-1, 3) * lengths[:, None]
        for child, bone in zip(children, bones, strict=True):
            out[child] = out[joint] + bone
    return out


def _direction(joint: int) -> Array:
    """Where the bone that ends in a joint points at rest; X is ahead, Y left, Z up."""
    name = JOINT_NAMES[joint]
    side = 1.0 if name.startswith("left_") else -1.0
    if name.endswith("hip"):
        return np.array([0.0, 0.6 * side, -0.8])
    if name.endswith("collar"):
        return np.array([0.0, 0.6 * side, 0.8])
    if name.endswith(("shoulder", "elbow", "wrist")):
        return np.array([0.0, side, 0.0])
    if name.endswith("foot"):
        return np.array([1.0, 0.0, 0.0])
    return np.array([0.0, 0.0, -1.0 if name.endswith(("knee", "ankle")) else 1.0])


def _mean_shape(offsets: Array, directions: Array) -> Array:
    """Mean (C, 3) of offsets (T, C, 3) after turning each frame onto it, oriented like the directions (C, 3)."""
    shape = directions * np.linalg.norm(offsets, axis=-1).mean(axis=0)[:, None]
    for _ in range(_ROUNDS):
        shape = np.einsum("tji,tcj->tci", _fit(shape, offsets), offsets).mean(axis=0)
    # The mean may have turned a little; turn it back.
    return shape @ _fit(shape, (directions * np.linalg.norm(shape, axis=-1)[:, None])[None])[0].T


def _fit(rest: Array, offsets: Array) -> Array:
    """Rotation matrices (T, 3, 3) that take bones (C, 3) as near as they can to offsets (T, C, 3)."""
    u, _, vt = np.linalg.svd(np.einsum("tci,cj->tij", offsets, rest))
    sign = np.ones((len(u), 3))
    sign[:, 2] = np.linalg.det(u) * np.linalg.det(vt)
    return u * sign[:, None] @ vt


def local(orientation: Array) -> Array:
    """Rotations (T, 22, 3, 3) of each joint relative to its parent; the root's relative to the world."""
    matrix = quat_to_matrix(orientation)
    parents = [max(parent, 0) for parent in PARENTS]
    out = np.swapaxes(matrix[:, parents], -1, -2) @ matrix
    out[:, 0] = matrix[:, 0]
    return out
