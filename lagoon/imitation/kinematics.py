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
    thigh_length: Tensor
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
        self.register_buffer("thigh_length", torch.tensor([leg.thigh_length for leg in robot.legs], dtype=f32))
        self.register_buffer("foot_offset", torch.tensor([leg.foot_offset for leg in robot.legs], dtype=f32))

    def forward(self, joint_pos: Tensor) -> Tensor:
        """Return (..., F, 3) foot centres in the base frame [m] of (..., J) joint angles [rad]."""
        a, b = joint_pos[..., self.hip_ids], joint_pos[..., self.thigh_ids]
        c = b + joint_pos[..., self.calf_ids]
        fx, fy, fz = self.foot_offset.unbind(-1)
        # In the hip frame: turn the foot offset by the calf's angle, hang it below the thigh, about Y.
        x = -self.thigh_length * torch.sin(b) + fx * torch.cos(c) + fz * torch.sin(c)
        z = -self.thigh_length * torch.cos(b) - fx * torch.sin(c) + fz * torch.cos(c)
        ox, oy, oz = self.thigh_offset.unbind(-1)
        x, y, z = x + ox, fy + oy, z + oz
        ca, sa = torch.cos(a), torch.sin(a)
        return torch.stack([x, ca * y - sa * z, sa * y + ca * z], dim=-1) + self.hip_pos
