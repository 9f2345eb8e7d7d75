"""Foot positions of a quadruped from its joint angles, closed form, batched.

What enters: joint angles in RobotSpec order, as a tensor or a numpy array. What leaves: foot centres in the base frame,
of the same kind. Legs turn about X at the hip and about Y at thigh and calf, as on the Go2, Go1, A1 and Spot.
"""

from __future__ import annotations

import numpy as np
import torch

from lagoon.imitation.arrays import Array, joined, library, stacked
from lagoon.robot import RobotSpec


class FootKinematics:
    """Forward kinematics of all feet at once."""

    def __init__(self, robot: RobotSpec) -> None:
        """Read the legs' geometry from the spec."""
        names = [[leg.hip_joint, leg.thigh_joint, leg.calf_joint] for leg in robot.legs]
        self._ids = np.concatenate([robot.joint_ids([leg[k] for leg in names]) for k in range(3)])
        self._feet = f = len(robot.legs)
        parts = ("hip_pos_b", "thigh_offset", "calf_offset", "foot_offset")
        hip, thigh, calf, foot = (np.array([getattr(leg, name) for leg in robot.legs]) for name in parts)
        # In the hip frame: the calf joint turned by the thigh's angle, the foot by the calf's, both about Y. What turns
        # of x and z is a sum of sines and cosines: those of hips, thighs, calves in the rows, x and z in the columns.
        turned, leg = np.zeros((2, 3, f, 2, f)), np.arange(f)
        for k, lever in ((1, calf), (2, foot)):
            turned[0, k, leg, 0, leg], turned[1, k, leg, 0, leg] = lever[:, 2], lever[:, 0]
            turned[0, k, leg, 1, leg], turned[1, k, leg, 1, leg] = -lever[:, 0], lever[:, 2]
        across = calf[:, 1] + foot[:, 1] + thigh[:, 1]
        tables = (turned.reshape(6 * f, 2 * f), np.concatenate([thigh[:, 0], thigh[:, 2]]), across, hip)
        self._numpy = tuple(table.astype(np.float32) for table in tables)
        self._torch = tuple(torch.from_numpy(table) for table in self._numpy)

    def __call__(self, joint_pos: Array) -> Array:
        """Return (..., F, 3) foot centres in the base frame [m] of (..., J) joint angles [rad]."""
        lib, f = library(joint_pos), self._feet
        turned, offset, y, hip = self._numpy if lib is np else self._torch
        angles = joint_pos[..., self._ids]  # Hips, thighs, calves; a calf's angle counts from the base.
        angles[..., 2 * f :] += angles[..., f : 2 * f]
        waves = joined([lib.sin(angles), lib.cos(angles)])
        lengths = waves @ turned + offset
        x, z, sin, cos = lengths[..., :f], lengths[..., f:], waves[..., :f], waves[..., 3 * f : 4 * f]
        return stacked([x, cos * y - sin * z, sin * y + cos * z]) + hip
