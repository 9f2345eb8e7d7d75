"""The motion to imitate as tables that a policy graph can carry.

What enters: a RobotMotion at the control rate. What leaves: float32 tables padded beyond the last
frame with the final pose at rest, looked up by control step.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

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
    root_lin_vel: Array
    """(N, 3)"""
    root_ang_vel: Array
    """(N, 3)"""
    joint_pos: Array
    """(N, J)"""
    joint_vel: Array
    """(N, J)"""
    joint_target: Array
    """(N, J) joint_pos and what holds it against gravity."""
    gravity: Array
    """(N, 3)"""
    foot_pos: Array
    """(N, F, 3) in the base frame."""


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
        tables = [getattr(self, name).flatten(1).numpy() for name in Frames.__dataclass_fields__]
        ends = np.cumsum([table.shape[1] for table in tables])
        self._packed = np.concatenate(tables, axis=1)
        self._places = [slice(end - table.shape[1], end) for end, table in zip(ends, tables, strict=True)]

    def index(self, step: Array) -> Array:
        """Row of the tables for control steps (...) int64; steps beyond the end give the resting row."""
        return clipped(step, 0, self.num_frames)

    def at(self, step: Array) -> Frames:
        """Rows for control steps (N,); those of numpy come out of one table at once and are views of one array."""
        if not isinstance(step, np.ndarray):
            now = self.index(step)
            return Frames(*(getattr(self, name)[now] for name in Frames.__dataclass_fields__))
        rows = self._packed.take(self.index(step), axis=0)
        parts = [rows[:, place] for place in self._places]
        return Frames(*parts[:-1], foot_pos=parts[-1].reshape(len(rows), -1, 3))

    def phase(self, step: Array) -> Array:
        """(N,) how far control steps (N,) are in the motion, in half turns of a clock [rad]: pi at its end."""
        return torch.pi * floats(step) / self.num_frames
