"""Quaternion arithmetic, wxyz, in numpy.

What enters: arrays of unit quaternions ``(..., 4)`` ordered w, x, y, z that rotate base to world.
What leaves: arrays of the same kind. The single place for rotation formulae outside torch code
(lagoon/imitation/rotations.py is its torch twin, held to it by a parity test).

Source: standard unit-quaternion algebra (Sola 2017, "Quaternion kinematics for the error-state
Kalman filter", eqs. 12, 115, 101-103), Hamilton convention.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def quat_mul(a: Array, b: Array) -> Array:
    """Hamilton product a * b: first rotate by b, then by a. Shapes (..., 4) wxyz, broadcast."""
    aw, ax, ay, az = np.moveaxis(np.asarray(a, float), -1, 0)
    bw, bx, by, bz = np.moveaxis(np.asarray(b, float), -1, 0)
    return np.stack(
        [
            aw * bw - ax * bx - ay * by - az * bz,
            aw * bx + ax * bw + ay * bz - az * by,
            aw * by - ax * bz + ay * bw + az * bx,
            aw * bz + ax * by - ay * bx + az * bw,
        ],
        axis=-1,
    )


def quat_conj(q: Array) -> Array:
    """Conjugate, the inverse of a unit quaternion. Shape (..., 4) wxyz."""
    return np.asarray(q, float) * np.array([1.0, -1.0, -1.0, -1.0])


def quat_normalize(q: Array) -> Array:
    """Scale to unit norm. Shape (..., 4) wxyz."""
    q = np.asarray(q, float)
    return q / np.linalg.norm(q, axis=-1, keepdims=True)


def quat_rotate(q: Array, v: Array) -> Array:
    """Rotate vectors v (..., 3) by q (..., 4) wxyz: base to world when q is base->world."""
    q, v = np.asarray(q, float), np.asarray(v, float)
    t = 2.0 * np.cross(q[..., 1:], v)
    return v + q[..., :1] * t + np.cross(q[..., 1:], t)


def quat_rotate_inverse(q: Array, v: Array) -> Array:
    """Rotate vectors v (..., 3) by the inverse of q (..., 4) wxyz: world to base."""
    return quat_rotate(quat_conj(q), v)


def quat_to_matrix(q: Array) -> Array:
    """Rotation matrices (..., 3, 3) of unit quaternions (..., 4) wxyz; columns are the base axes in world."""
    w, x, y, z = np.moveaxis(np.asarray(q, float), -1, 0)
    rows = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ]
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)


def quat_from_matrix(m: Array) -> Array:
    """Unit quaternions (..., 4) wxyz with w >= 0 of rotation matrices (..., 3, 3).

    Picks the best-conditioned of the four textbook formulae for each matrix, so it is exact at
    half-turns too.
    """
    m = np.asarray(m, float)
    d = np.stack([m[..., 0, 0], m[..., 1, 1], m[..., 2, 2]], axis=-1)
    trace = d.sum(axis=-1)
    a, b, c = m[..., 2, 1] - m[..., 1, 2], m[..., 0, 2] - m[..., 2, 0], m[..., 1, 0] - m[..., 0, 1]
    p, q, r = m[..., 1, 0] + m[..., 0, 1], m[..., 2, 0] + m[..., 0, 2], m[..., 2, 1] + m[..., 1, 2]
    candidates = np.stack(
        [
            np.stack([1 + trace, a, b, c], axis=-1),
            np.stack([a, 1 + 2 * d[..., 0] - trace, p, q], axis=-1),
            np.stack([b, p, 1 + 2 * d[..., 1] - trace, r], axis=-1),
            np.stack([c, q, r, 1 + 2 * d[..., 2] - trace], axis=-1),
        ],
        axis=-2,
    )
    best = np.argmax(np.concatenate([trace[..., None], d], axis=-1), axis=-1)
    chosen = np.take_along_axis(candidates, best[..., None, None], axis=-2)[..., 0, :]
    chosen = quat_normalize(chosen)
    return np.where(chosen[..., :1] < 0, -chosen, chosen)


def quat_to_rotvec(q: Array) -> Array:
    """Rotation vectors (..., 3) [rad] with angle in [0, pi] of unit quaternions (..., 4) wxyz."""
    q = np.asarray(q, float)
    q = np.where(q[..., :1] < 0, -q, q)
    s = np.linalg.norm(q[..., 1:], axis=-1, keepdims=True)
    angle = 2.0 * np.arctan2(s, q[..., :1])
    # angle / s tends to 2 for small angles.
    scale = np.where(s > 1e-9, angle / np.maximum(s, 1e-12), 2.0)
    return q[..., 1:] * scale


def quat_from_rotvec(v: Array) -> Array:
    """Unit quaternions (..., 4) wxyz of rotation vectors (..., 3) [rad]."""
    v = np.asarray(v, float)
    angle = np.linalg.norm(v, axis=-1, keepdims=True)
    # sin(angle/2)/angle = sinc(angle/2pi)/2, finite at zero.
    return np.concatenate([np.cos(angle / 2), v * np.sinc(angle / (2 * np.pi)) / 2], axis=-1)


def quat_from_axis_angle(axis: Array, angle: Array | float) -> Array:
    """Unit quaternions (..., 4) wxyz that rotate by angle (...) [rad] about unit axes (..., 3)."""
    return quat_from_rotvec(np.asarray(axis, float) * np.asarray(angle, float)[..., None])


def quat_from_yaw(yaw: Array | float) -> Array:
    """Unit quaternions (..., 4) wxyz of a rotation by yaw (...) [rad] about world Z."""
    return quat_from_axis_angle(np.array([0.0, 0.0, 1.0]), np.asarray(yaw, float))


def yaw_to_matrix(yaw: float) -> Array:
    """Rotation matrix (3, 3) of a turn by yaw [rad] about world Z."""
    c, s = np.cos(yaw), np.sin(yaw)
    return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])


def quat_between(a: Array, b: Array) -> Array:
    """Shortest rotations (..., 4) wxyz that turn directions a (..., 3) into b (..., 3), broadcast.

    For opposite directions, where every axis across them is as short, one is picked.
    """
    a, b = np.broadcast_arrays(np.asarray(a, float), np.asarray(b, float))
    a = a / np.maximum(np.linalg.norm(a, axis=-1, keepdims=True), 1e-12)
    b = b / np.maximum(np.linalg.norm(b, axis=-1, keepdims=True), 1e-12)
    w = 1.0 + np.sum(a * b, axis=-1, keepdims=True)
    least = np.eye(3)[np.argmin(np.abs(a), axis=-1)]
    axis = np.where(w > 1e-9, np.cross(a, b), np.cross(a, least))
    return quat_normalize(np.concatenate([np.where(w > 1e-9, w, 0.0), axis], axis=-1))


def quat_yaw(q: Array) -> Array:
    """Heading (...) [rad] of q: the angle of the base X axis in the ground plane.

    Ill-defined when base X is vertical (a robot standing upright); use it at level stances only.
    """
    w, x, y, z = np.moveaxis(np.asarray(q, float), -1, 0)
    return np.arctan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z))


def quat_continuous(q: Array) -> Array:
    """Flip signs along axis 0 so that neighbours lie on the same hemisphere. Shape (T, ..., 4)."""
    q = np.array(q, float)
    dots = np.sum(q[1:] * q[:-1], axis=-1)
    signs = np.cumprod(np.where(dots < 0, -1.0, 1.0), axis=0)
    q[1:] *= signs[..., None]
    return q


def quat_slerp(a: Array, b: Array, t: Array | float) -> Array:
    """Spherical interpolation from a to b (..., 4) wxyz at t (...) in [0, 1], shorter way round."""
    delta = quat_to_rotvec(quat_mul(quat_conj(a), b))
    return quat_mul(np.asarray(a, float), quat_from_rotvec(delta * np.asarray(t, float)[..., None]))


def angle_between(a: Array, b: Array) -> Array:
    """Angle (...) [rad] in [0, pi] of the rotation that takes a to b, both (..., 4) wxyz."""
    return np.linalg.norm(quat_to_rotvec(quat_mul(quat_conj(a), b)), axis=-1)
