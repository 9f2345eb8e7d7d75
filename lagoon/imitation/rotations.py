"""Quaternion arithmetic, wxyz, in torch: traceable, batched, float32.

What enters and leaves: unit quaternions ``(..., 4)`` that rotate base to world. The torch twin of
lagoon/motion/rotations.py; a parity test holds the two together.

Source: as lagoon/motion/rotations.py (Sola 2017).
"""

from __future__ import annotations

import torch

Tensor = torch.Tensor


# Row 4 i + j says where a_i b_j goes in the Hamilton product: the multiplication table of 1, i, j, k.
_PRODUCT = torch.zeros(16, 4)
for _row, _column, _sign in (
    (0, 0, 1.0), (1, 1, 1.0), (2, 2, 1.0), (3, 3, 1.0),
    (4, 1, 1.0), (5, 0, -1.0), (6, 3, 1.0), (7, 2, -1.0),
    (8, 2, 1.0), (9, 3, -1.0), (10, 0, -1.0), (11, 1, 1.0),
    (12, 3, 1.0), (13, 2, 1.0), (14, 1, -1.0), (15, 0, -1.0),
):  # fmt: skip
    _PRODUCT[_row, _column] = _sign


def quat_mul(a: Tensor, b: Tensor) -> Tensor:
    """Hamilton product a * b. Shapes (..., 4) wxyz, broadcast.

    All sixteen products at once, then one matrix product: a third of the time of the written-out sums.
    """
    return (a.unsqueeze(-1) * b.unsqueeze(-2)).flatten(-2) @ _PRODUCT


def quat_conj(q: Tensor) -> Tensor:
    """Conjugate, the inverse of a unit quaternion. Shape (..., 4) wxyz."""
    return torch.cat([q[..., :1], -q[..., 1:]], dim=-1)


def quat_rotate(q: Tensor, v: Tensor) -> Tensor:
    """Rotate vectors v (..., 3) by q (..., 4): base to world."""
    t = 2.0 * torch.linalg.cross(q[..., 1:], v)
    return v + q[..., :1] * t + torch.linalg.cross(q[..., 1:], t)


def quat_rotate_inverse(q: Tensor, v: Tensor) -> Tensor:
    """Rotate vectors v (..., 3) by the inverse of q (..., 4): world to base."""
    return quat_rotate(quat_conj(q), v)


def gravity_in_base(q: Tensor) -> Tensor:
    """World Z axis in the base frame (..., 3): the third row of the rotation matrix; (0, 0, 1) when level."""
    w, x, y, z = q.unbind(-1)
    return torch.stack([2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)], dim=-1)


def quat_to_rotvec(q: Tensor) -> Tensor:
    """Rotation vectors (..., 3) [rad], angle in [0, pi], of unit quaternions (..., 4)."""
    q = torch.where(q[..., :1] < 0, -q, q)
    s = torch.sqrt((q[..., 1:] * q[..., 1:]).sum(-1, keepdim=True) + 1e-12)
    angle = 2.0 * torch.atan2(s, q[..., :1])
    return q[..., 1:] * (angle / s)


def quat_from_rotvec(v: Tensor) -> Tensor:
    """Unit quaternions (..., 4) of rotation vectors (..., 3) [rad]."""
    half = torch.sqrt((v * v).sum(-1, keepdim=True) + 1e-12) / 2
    return torch.cat([torch.cos(half), v * (torch.sin(half) / (2 * half))], dim=-1)


def heading_of(q: Tensor) -> Tensor:
    """(..., 2) cosine and sine of the heading of a level base: the direction of base X in the ground plane."""
    w, x, y, z = q.unbind(-1)
    c, s = 1 - 2 * (y * y + z * z), 2 * (w * z + x * y)
    norm = torch.sqrt(c * c + s * s + 1e-12)
    return torch.stack([c / norm, s / norm], dim=-1)


def quat_from_heading(heading: Tensor) -> Tensor:
    """Unit quaternions (..., 4) of a turn about world Z, from (..., 2) cosine and sine of the angle.

    Uses the half-angle formulae with the sign kept in the z component; exact except at a half turn,
    where both signs describe the same rotation.
    """
    c, s = heading.unbind(-1)
    w = torch.sqrt(torch.clamp((1 + c) / 2, min=0.0))
    z = torch.sqrt(torch.clamp((1 - c) / 2, min=0.0))
    z = torch.where(s < 0, -z, z)
    zero = torch.zeros_like(w)
    return torch.stack([w, zero, zero, z], dim=-1)
