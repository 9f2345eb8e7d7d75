"""The motion to imitate as tables that a policy graph can carry.

What enters: a RobotMotion at the control rate. What leaves: float32 tables padded beyond the last
frame with the final pose at rest, looked up by control step.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import torch

from lagoon.errors import BadInputError
from lagoon.imitation.arrays import Array, clipped, floats
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


@dataclass
class Frames:
    """Rows of the reference, one for each of N robots; frames and units as in RobotMotion."""

    root_pos: Array
    """(N, 3)"""
    root_quat: Array
    """(N, 4)"""
    gravity: Array
    """(N, 3) in the base frame."""
    joint_pos: Array
    """(N, J)"""
    foot_pos: Array
    """(N, F, 3) in the base frame."""
    tracked: Array
    """(N, 2 J + 3 F + 6) joints, feet, joint velocities, base velocity in world, angular velocity in the base frame."""


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
        tracked = (self.joint_pos, self.foot_pos.flatten(1), self.joint_vel, self.root_lin_vel, self.root_ang_vel)
        self._rows = torch.cat([self.root_pos, self.root_quat, self.gravity, *tracked], dim=1)
        ends = np.cumsum([10, *(table.shape[1] for table in tracked)])
        self.velocities = int(ends[2]) - 10
        """Column of ``Frames.tracked`` at which the velocities begin."""
        self.groups = torch.zeros(int(ends[-1]) - 10, len(tracked))
        """(W, 5) which columns of ``Frames.tracked`` are joints, feet, joint velocities and the two of the base."""
        for group, (begin, end) in enumerate(pairwise(ends - 10)):
            self.groups[begin:end, group] = 1.0
        self._joints, self._feet = slice(10, int(ends[1])), slice(int(ends[1]), int(ends[2]))

    def index(self, step: Array) -> Array:
        """Row of the tables for control steps (...) int64; steps beyond the end give the resting row."""
        return clipped(step, 0, self.num_frames)

    def at(self, step: Array) -> Frames:
        """Rows for control steps (N,), taken from one table at once: views of one array."""
        now = self.index(step)
        rows = self._rows.numpy().take(now, axis=0) if isinstance(step, np.ndarray) else self._rows[now]
        feet = rows[:, self._feet].reshape(len(rows), -1, 3)
        return Frames(rows[:, :3], rows[:, 3:7], rows[:, 7:10], rows[:, self._joints], feet, rows[:, 10:])

    def phase(self, step: Array) -> Array:
        """(N,) how far control steps (N,) are in the motion, in half turns of a clock [rad]: pi at its end."""
        return torch.pi * floats(step) / self.num_frames
