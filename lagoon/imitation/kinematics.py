"""Foot positions of a quadruped from its joint angles, closed form, batched.

What enters: joint angles in RobotSpec order, as a tensor or a numpy array. What leaves: foot centres in the base frame,
of the same kind. Legs turn about X at the hip and about Y at thigh and calf, as on the Go2, Go1, A1 and Spot.
"""

from __future__ import annotations

import numpy as np
import torch

from lagoon.imitation.arrays import Array, library, stacked
from lagoon.robot import RobotSpec


class FootKinematics:
    """Forward kinematics of all feet at once."""

    def __init__(self, robot: RobotSpec) -> None:
        """Read the legs' geometry from the spec."""
        names = [[leg.hip_joint, leg.thigh_joint, leg.calf_joint] for leg in robot.legs]
        self._ids = np.concatenate([robot.joint_ids([leg[k] for leg in names]) for k in range(3)])
        self._feet = len(robot.legs)
        parts = ("hip_pos_b", "thigh_offset", "calf_offset", "foot_offset")
        hip, thigh, calf, foot = (np.array([getattr(leg, name) for leg in robot.legs], np.float32) for name in parts)
        # Along the leg's own axes, (F,) each: what turns with the thigh, with the calf, and with the hip alone.
        lengths = (
            *calf[:, [0, 2]].T,
            *foot[:, [0, 2]].T,
            thigh[:, 0],
            calf[:, 1] + foot[:, 1] + thigh[:, 1],
            thigh[:, 2],
        )
        self._numpy = (*(np.ascontiguousarray(values) for values in lengths), hip)
        self._torch = tuple(torch.from_numpy(values) for values in self._numpy)

    def __call__(self, joint_pos: Array) -> Array:
        """Return (..., F, 3) foot centres in the base frame [m] of (..., J) joint angles [rad]."""
        lib = library(joint_pos)
        kx, kz, fx, fz, ox, y, oz, hip = self._numpy if lib is np else self._torch
        f = self._feet
        angles = joint_pos[..., self._ids]  # Hips, thighs, calves; a calf's angle counts from the base.
        angles[..., 2 * f :] += angles[..., f : 2 * f]
        sin, cos = lib.sin(angles), lib.cos(angles)
        sin_a, sin_b, sin_c = sin[..., :f], sin[..., f : 2 * f], sin[..., 2 * f :]
        cos_a, cos_b, cos_c = cos[..., :f], cos[..., f : 2 * f], cos[..., 2 * f :]
        # In the hip frame: the calf joint turned by the thigh's angle, the foot by the calf's, both about Y.
        x = kx * cos_b + kz * sin_b + fx * cos_c + fz * sin_c + ox
        z = kz * cos_b - kx * sin_b - fx * sin_c + fz * cos_c + oz
        return stacked([x, cos_a * y - sin_a * z, sin_a * y + cos_a * z]) + hip
