"""The motion to imitate as tables that a policy graph can carry.

What enters: a RobotMotion at the control rate. What leaves: float32 tables padded beyond the last
frame with the final pose at rest, looked up by control step.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch

from lagoon.errors import BadInputError
from lagoon.imitation.feedforward import gravity_offset
from lagoon.imitation.kinematics import FootKinematics
from lagoon.imitation.rotations import gravity_in_base
from lagoon.motion.robot_motion import RobotMotion, resample, velocity
from lagoon.motion.rotations import quat_from_yaw, quat_mul, quat_rotate, quat_yaw
from lagoon.robot import RobotSpec

Tensor = torch.Tensor


def facing_x(motion: RobotMotion) -> RobotMotion:
    """Turn and shift the whole motion so that frame 0 faces +X above the origin of the ground plane."""
    turn = quat_from_yaw(-quat_yaw(motion.root_quat_w[0]))
    origin = motion.root_pos_w[0] * np.array([1.0, 1.0, 0.0])
    return replace(
        motion,
        root_pos_w=quat_rotate(turn, motion.root_pos_w - origin),
        root_quat_w=quat_mul(turn, motion.root_quat_w),
    )


class Reference(torch.nn.Module):
    """A RobotMotion of T frames, then its last pose held for ever."""

    root_pos: Tensor
    root_quat: Tensor
    root_lin_vel: Tensor
    root_ang_vel: Tensor
    joint_pos: Tensor
    joint_vel: Tensor
    joint_target: Tensor
    gravity: Tensor
    foot_pos: Tensor

    def __init__(self, motion: RobotMotion, robot: RobotSpec) -> None:
        """Build the tables.

        Raises:
            BadInputError: the motion is for another robot or joint order.
        """
        super().__init__()
        if motion.robot != robot.name or motion.joint_names != robot.joint_names:
            raise BadInputError(
                f"The motion is for robot '{motion.robot}' with joints {list(motion.joint_names)}; expected "
                f"'{robot.name}' with {list(robot.joint_names)}. Run: lagoon retarget, with robot={robot.name}"
            )
        motion = facing_x(resample(motion, 1.0 / robot.control_dt))
        speed = velocity(motion)
        self.num_frames = motion.num_frames

        def table(name: str, values: np.ndarray, at_rest: bool = False) -> None:
            last = np.zeros_like(values[-1:]) if at_rest else values[-1:]
            self.register_buffer(name, torch.from_numpy(np.concatenate([values, last]).astype(np.float32)))

        table("root_pos", motion.root_pos_w)
        table("root_quat", motion.root_quat_w)
        table("root_lin_vel", speed.root_lin_vel_w, at_rest=True)
        table("root_ang_vel", speed.root_ang_vel_b, at_rest=True)
        table("joint_pos", motion.joint_pos)
        table("joint_vel", speed.joint_vel, at_rest=True)
        # What the servos are told before the policy adds its share.
        table("joint_target", motion.joint_pos + gravity_offset(motion, robot))
        self.register_buffer("gravity", gravity_in_base(self.root_quat))
        self.register_buffer("foot_pos", FootKinematics(robot)(self.joint_pos))

    def index(self, step: Tensor) -> Tensor:
        """Row of the tables for control steps (N,) int64; steps beyond the end give the resting row."""
        return torch.clamp(step, 0, self.num_frames)

    def phase(self, step: Tensor, dtype: torch.dtype) -> Tensor:
        """(N,) how far control steps (N,) are in the motion, in half turns of a clock [rad]: pi at its end."""
        return torch.pi * step.to(dtype) / self.num_frames
