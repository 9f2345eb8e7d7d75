"""Joints as a robot's motor bus counts and turns them: the one conversion that every link uses.

What enters: a RobotSpec; arrays of joints or of motors. What leaves: the same quantities on the other side.
A motor's angle is sign * joint angle + offset; its speed and torque take the sign only, gains and temperatures
neither. ROS topics carry joints by name, so there the driver converts, not the node.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lagoon.deploy.transport.base import Array, MotorCommand
from lagoon.robot import RobotSpec


@dataclass(frozen=True, eq=False)
class MotorMap:
    """J joints and as many motors M; see the module."""

    joint_of: NDArray[np.int64]
    """(M,) which joint each motor moves."""
    motor_of: NDArray[np.int64]
    """(J,) which motor moves each joint."""
    sign: Array
    """(J,) +1 or -1."""
    offset: Array
    """(J,) angle of the motor where the joint is at zero [rad]."""

    @staticmethod
    def of(robot: RobotSpec) -> MotorMap:
        """Return a robot's own."""
        joint_of = robot.joint_ids(robot.motor_names)
        return MotorMap(joint_of, joint_of.argsort(), robot.motor_sign, robot.motor_offset)

    def command(self, command: MotorCommand) -> MotorCommand:
        """Return a command for joints as one for motors, M instead of J in every array."""
        order, sign = self.joint_of, self.sign[self.joint_of]
        return MotorCommand(
            joint_pos=sign * command.joint_pos[order] + self.offset[order],
            joint_vel=sign * command.joint_vel[order],
            kp=command.kp[order],
            kd=command.kd[order],
            torque=sign * command.torque[order],
        )

    def angles(self, motors: Array) -> Array:
        """Return motor angles (M,) as joint angles (J,) [rad]."""
        return self.sign * (motors[self.motor_of] - self.offset)

    def turns(self, motors: Array) -> Array:
        """Return motor speeds or torques (M,) as those of the joints (J,)."""
        return self.sign * motors[self.motor_of]

    def plain(self, motors: Array) -> Array:
        """Return what has no direction (M,), such as temperatures, by joint (J,)."""
        return motors[self.motor_of]
