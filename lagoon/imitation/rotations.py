"""Quaternion arithmetic, wxyz, float32, batched: torch tensors, which can be traced, or numpy arrays (arrays.py).

What enters and leaves: unit quaternions ``(..., 4)`` that rotate base to world. The twin of
lagoon/motion/rotations.py for training and its graph; a parity test holds the two together.

Source: as lagoon/motion/rotations.py (Sola 2017).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from lagoon.imitation.arrays import Array, clipped, joined, library, squared, stacked

# Row 4 i + j says where a_i b_j goes in the Hamilton product: the multiplication table of 1, i, j, k.
_PRODUCT = torch.zeros(16, 4)
for _row, _column, _sign in (
    (0, 0, 1.0), (1, 1, 1.0), (2, 2, 1.0), (3, 3, 1.0),
    (4, 1, 1.0), (5, 0, -1.0), (6, 3, 1.0), (7, 2, -1.0),
    (8, 2, 1.0), (9, 3, -1.0), (10, 0, -1.0), (11, 1, 1.0),
    (12, 3, 1.0), (13, 2, 1.0), (14, 1, -1.0), (15, 0, -1.0),
):  # fmt: skip
    _PRODUCT[_row, _column] = _sign
_ROWS = np.ascontiguousarray(_PRODUCT.numpy().T)
_CONJUGATE = np.array([1.0, -1.0, -1.0, -1.0], np.float32)
_DIFFERENCE_ROWS = _ROWS * np.repeat(_CONJUGATE, 4)
# The rotation matrix less one on its diagonal, of the products q_i q_j in the same order; its rows one after the other.
_MATRIX_ROWS = np.zeros((9, 16), np.float32)
for _row, _terms in enumerate(
    (
        ((10, -2), (15, -2)), ((6, 2), (3, -2)), ((7, 2), (2, 2)),
        ((6, 2), (3, 2)), ((5, -2), (15, -2)), ((11, 2), (1, -2)),
        ((7, 2), (2, -2)), ((11, 2), (1, 2)), ((5, -2), (10, -2)),
    )
):  # fmt: skip
    for _column, _sign in _terms:
        _MATRIX_ROWS[_row, _column] = _sign


def _products(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """(16, N) the products a_i b_j of numpy quaternions (N, 4), or (1, 4) for all."""
    return (a.T[:, None] * b.T).reshape(16, -1)


def quat_mul(a: Array, b: Array) -> Array:
    """Hamilton product a * b. Shapes (..., 4) wxyz, broadcast; numpy takes (N, 4).

    All sixteen products at once, then one matrix product: a third of the time of the written-out sums.
    """
    if isinstance(a, np.ndarray):
        return (_ROWS @ _products(a, b)).T
    return (a.unsqueeze(-1) * b.unsqueeze(-2)).flatten(-2) @ _PRODUCT


def quat_conj(q: Array) -> Array:
    """Conjugate, the inverse of a unit quaternion. Shape (..., 4) wxyz."""
    return q * _CONJUGATE if isinstance(q, np.ndarray) else joined([q[..., :1], -q[..., 1:]])


def quat_difference(a: Array, b: Array) -> Array:
    """conj(a) * b: where b points, seen from a. Shapes as in ``quat_mul``."""
    if isinstance(a, np.ndarray):
        return (_DIFFERENCE_ROWS @ _products(a, b)).T
    return quat_mul(quat_conj(a), b)


def quat_angle(q: Array) -> Array:
    """Angles (N,) [rad], in [0, pi], of unit quaternions (N, 4)."""
    lib = library(q)
    return 2.0 * lib.arctan2(lib.sqrt(squared(q[:, 1:]) + 1e-12), abs(q[:, 0]))


def quat_rotate(q: Array, v: Array) -> Array:
    """Rotate vectors v (..., 3) by q (..., 4), broadcast: base to world."""
    w, u = q[..., 0], (q[..., 1], q[..., 2], q[..., 3])
    t = [2.0 * part for part in _cross(u, (v[..., 0], v[..., 1], v[..., 2]))]
    return stacked([v[..., k] + w * t[k] + part for k, part in enumerate(_cross(u, t))])


def _cross(a: Sequence[Array], b: Sequence[Array]) -> list[Array]:
    """Cross product of vectors given as three components each."""
    return [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]


def quat_rotate_inverse(q: Array, v: Array) -> Array:
    """Rotate vectors v (..., 3) by the inverse of q (..., 4): world to base; numpy takes (N, 4) and ([M,] N, 3)."""
    if not isinstance(q, np.ndarray):
        return quat_rotate(quat_conj(q), v)
    turn = (_MATRIX_ROWS @ _products(q, q)).reshape(3, 3, 1, -1)
    rows = v.T if v.ndim == 2 else v.transpose(2, 0, 1)
    moved = np.add.reduce(turn * rows.reshape(3, 1, -1, len(q)), axis=0)
    return v + (moved[:, 0].T if v.ndim == 2 else moved.transpose(1, 2, 0))


def gravity_in_base(q: Array) -> Array:
    """World Z axis in the base frame (..., 3): the third row of the rotation matrix; (0, 0, 1) when level."""
    if isinstance(q, np.ndarray):
        axis = _MATRIX_ROWS[6:] @ _products(q, q)
        axis[2] += 1.0
        return axis.T
    w, x, y, z = q[..., 0], q[..., 1], q[..., 2], q[..., 3]
    return torch.stack([2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)], dim=-1)


def quat_to_rotvec(q: Array) -> Array:
    """Rotation vectors (..., 3) [rad], angle in [0, pi], of unit quaternions (..., 4); numpy takes (N, 4)."""
    if isinstance(q, np.ndarray):
        w, v = q[:, 0], q[:, 1:]
        s = np.sqrt(squared(v) + 1e-12)
        return v * (np.copysign(2.0 * np.arctan2(s, abs(w)), w) / s)[:, None]
    q = torch.where(q[..., :1] < 0, -q, q)
    s = torch.sqrt((q[..., 1:] * q[..., 1:]).sum(-1, keepdim=True) + 1e-12)
    angle = 2.0 * torch.atan2(s, q[..., :1])
    return q[..., 1:] * (angle / s)


def quat_from_rotvec(v: Array) -> Array:
    """Unit quaternions (..., 4) of rotation vectors (..., 3) [rad]."""
    lib = library(v)
    half = lib.sqrt((v * v).sum(-1)[..., None] + 1e-12) / 2
    return joined([lib.cos(half), v * (lib.sin(half) / (2 * half))])


def heading_of(q: Array) -> Array:
    """(..., 2) cosine and sine of the heading of a level base: the direction of base X in the ground plane."""
    w, x, y, z = q[..., 0], q[..., 1], q[..., 2], q[..., 3]
    c, s = 1 - 2 * (y * y + z * z), 2 * (w * z + x * y)
    norm = library(q).sqrt(c * c + s * s + 1e-12)
    return stacked([c / norm, s / norm])


def quat_from_heading(heading: Array) -> Array:
    """Unit quaternions (..., 4) of a turn about world Z, from (..., 2) cosine and sine of the angle.

    Uses the half-angle formulae with the sign kept in the z component; exact except at a half turn,
    where both signs describe the same rotation.
    """
    lib = library(heading)
    c, s = heading[..., 0], heading[..., 1]
    w = lib.sqrt(clipped((1 + c) / 2, 0.0, None))
    z = lib.sqrt(clipped((1 - c) / 2, 0.0, None))
    z = lib.where(s < 0, -z, z)
    zero = lib.zeros_like(w)
    return stacked([w, zero, zero, z])
