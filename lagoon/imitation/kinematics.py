"""Foot positions of a quadruped from its joint angles, closed form, batched.

What enters: joint angles in RobotSpec order. What leaves: foot centres in the base frame. Legs turn
about X at the hip and about Y at thigh and calf, as on the Go2, Go1, A1 and Spot.
"""

from __future__ import annotations

import torch

from lagoon.robot import RobotSpec

Tensor = torch.Tensor


class FootKinematics(torch.nn.Module):
    """Forward kinematics of all feet at once."""

    thigh_ids: Tensor
    hip_ids: Tensor
    calf_ids: Tensor
    hip_pos: Tensor
    thigh_offset: Tensor
    calf_offset: Tensor
    foot_offset: Tensor

    def __init__(self, robot: RobotSpec) -> None:
        """Read the legs' geometry from the spec."""
        super().__init__()
        f32 = torch.float32
        self.register_buffer("hip_ids", torch.from_numpy(robot.joint_ids([leg.hip_joint for leg in robot.legs])))
        self.register_buffer("thigh_ids", torch.from_numpy(robot.joint_ids([leg.thigh_joint for leg in robot.legs])))
        self.register_buffer("calf_ids", torch.from_numpy(robot.joint_ids([leg.calf_joint for leg in robot.legs])))
        self.register_buffer("hip_pos", torch.tensor([leg.hip_pos_b for leg in robot.legs], dtype=f32))
        self.register_buffer("thigh_offset", torch.tensor([leg.thigh_offset for leg in robot.legs], dtype=f32))
        self.register_buffer("calf_offset", torch.tensor([leg.calf_offset for leg in robot.legs], dtype=f32))
        self.register_buffer("foot_offset", torch.tensor([leg.foot_offset for leg in robot.legs], dtype=f32))

    def forward(self, joint_pos: Tensor) -> Tensor:
        """Return (..., F, 3) foot centres in the base frame [m] of (..., J) joint angles [rad]."""
        a, b = joint_pos[..., self.hip_ids], joint_pos[..., self.thigh_ids]
        c = b + joint_pos[..., self.calf_ids]
        fx, fy, fz = self.foot_offset.unbind(-1)
        kx, ky, kz = self.calf_offset.unbind(-1)
        # In the hip frame: the calf joint turned by the thigh's angle, the foot by the calf's, both about Y.
        sin_b, cos_b, sin_c, cos_c = torch.sin(b), torch.cos(b), torch.sin(c), torch.cos(c)
        x = kx * cos_b + kz * sin_b + fx * cos_c + fz * sin_c
        z = -kx * sin_b + kz * cos_b - fx * sin_c + fz * cos_c
        ox, oy, oz = self.thigh_offset.unbind(-1)
        x, y, z = x + ox, ky + fy + oy, z + oz
        ca, sa = torch.cos(a), torch.sin(a)
        return torch.stack([x, ca * y - sa * z, sa * y + ca * z], dim=-1) + self.hip_pos
