"""Standard ROS messages to a robot's state, and a motor command to one standard message.

What enters: JointState, Imu, BatteryState; MotorCommand. What leaves: RobotState in the robot's joint order;
Float64MultiArray. Joints are found by name, and x, y, z, w becomes w, x, y, z.
Message objects are only filled and read, so that this file needs no ROS.

A motor command is one message, since gains that came a message later than their target would move the robot.
Its ``data`` holds the sender's time (whole seconds, nanoseconds), which ``layout.data_offset`` skips, then a
row of position, velocity, kp, kd and torque for each joint. The labels name rows and columns.
"""

from __future__ import annotations

import array
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from lagoon.deploy.transport.base import COMMANDED, Array, MotorCommand, RobotState
from lagoon.errors import LagoonError

COLUMNS = ("position", "velocity", "kp", "kd", "torque")
"""Labels of the columns; their values are COMMANDED of a MotorCommand."""
STAMP = 2
"""Numbers in front of the table: seconds and nanoseconds."""


class BadRosMessageError(LagoonError):
    """A message that cannot be used; it is dropped."""


class JointReader:
    """Takes one robot's joints out of JointState messages, whatever their order and company."""

    def __init__(self, joint_names: Sequence[str]) -> None:
        """Args: joint_names: (J,) the robot's order."""
        self.joint_names = tuple(joint_names)
        self._names: tuple[str, ...] | None = None
        self._order = np.zeros(0, dtype=np.int64)

    def read(self, msg: Any) -> tuple[Array, Array, Array | None]:
        """Return position (J,) [rad], velocity (J,) [rad/s], torque (J,) [Nm] or None.

        Raises:
            BadRosMessageError: a joint is missing or there twice, or positions or velocities are.
        """
        names = tuple(msg.name)
        if names != self._names:
            missing = [name for name in self.joint_names if names.count(name) != 1]
            if missing:
                raise BadRosMessageError(
                    f"A JointState must hold every joint of the robot once; {', '.join(missing)} is missing or there "
                    f"twice. It holds: {', '.join(names) or 'none'}."
                )
            self._names = names
            self._order = np.array([names.index(name) for name in self.joint_names])
        values = []
        for field in ("position", "velocity", "effort"):
            given = np.asarray(getattr(msg, field), dtype=np.float64)
            if given.shape == (len(names),):
                values.append(given[self._order])
            elif field == "effort" and not len(given):
                values.append(None)
            else:
                raise BadRosMessageError(
                    f"A JointState has {len(given)} values of {field} for {len(names)} names; the controller needs "
                    "position and velocity of every joint."
                )
        return values[0], values[1], values[2]


def seconds(stamp: Any) -> float:
    """Return a ROS time as seconds."""
    return stamp.sec + 1e-9 * stamp.nanosec


def state_of(joints: JointReader, joint_msg: Any, imu_msg: Any, battery_msg: Any | None = None) -> RobotState:
    """Put messages together to one state, as old as the older of the two that move.

    Args:
        joints: finds the robot's joints.
        joint_msg: sensor_msgs/JointState.
        imu_msg: sensor_msgs/Imu; orientation base to world, angular velocity in the base frame.
        battery_msg: sensor_msgs/BatteryState; None if there is none.

    Raises:
        BadRosMessageError: joints are missing, or the IMU gives no orientation.
    """
    pos, vel, torque = joints.read(joint_msg)
    if imu_msg.orientation_covariance[0] == -1.0:
        raise BadRosMessageError(
            "The Imu says that it measures no orientation (its covariance begins with -1); the controller needs one. "
            "Put an orientation filter in between, for example imu_filter_madgwick."
        )
    q, w = imu_msg.orientation, imu_msg.angular_velocity
    charge = math.nan if battery_msg is None else float(battery_msg.percentage)
    return RobotState(
        time=min(seconds(joint_msg.header.stamp), seconds(imu_msg.header.stamp)),
        joint_pos=pos,
        joint_vel=vel,
        joint_torque=torque,
        imu_quat=np.array([q.w, q.x, q.y, q.z]),
        imu_ang_vel=np.array([w.x, w.y, w.z]),
        battery=None if math.isnan(charge) else charge,
    )


def dimensions(dimension: Any, joint_names: Sequence[str]) -> list[Any]:
    """Labelled rows and columns of a motor command; ``dimension`` is a class MultiArrayDimension."""
    rows, columns = len(joint_names), len(COLUMNS)
    return [
        dimension(label=",".join(joint_names), size=rows, stride=rows * columns),
        dimension(label=",".join(COLUMNS), size=columns, stride=columns),
    ]


def label(msg: Any, dimension: Any, joint_names: Sequence[str]) -> None:
    """Write a motor command's layout into an empty Float64MultiArray, once; ``dimension`` is MultiArrayDimension."""
    msg.layout.dim = dimensions(dimension, joint_names)
    msg.layout.data_offset = STAMP


def fill(msg: Any, command: MotorCommand, nanoseconds: int) -> None:
    """Write a command into a message that ``label`` has prepared."""
    table = np.stack([getattr(command, name) for name in COMMANDED], axis=1).ravel()
    msg.data = array.array("d", (*divmod(nanoseconds, 1_000_000_000), *table.tolist()))


def command_of(msg: Any, joint_names: Sequence[str]) -> tuple[MotorCommand, float]:
    """Read a motor command as a robot's driver does.

    Args:
        msg: std_msgs/Float64MultiArray.
        joint_names: (J,) the order of the returned arrays; every name must be in the message.

    Returns:
        The command, and the sender's time [s].

    Raises:
        BadRosMessageError: names, columns or sizes do not fit, or a number is not finite.
    """
    names = msg.layout.dim[0].label.split(",") if len(msg.layout.dim) == 2 else []
    columns = tuple(msg.layout.dim[1].label.split(",")) if names else ()
    wrong = sorted(set(names) ^ set(joint_names))
    if columns != COLUMNS or wrong or len(names) != len(set(names)):
        raise BadRosMessageError(
            f"A motor command has the columns {','.join(columns) or 'none'} and not the same joints as the robot: "
            f"{', '.join(wrong) or 'none'} differ. Expected {','.join(COLUMNS)}."
        )
    data = np.asarray(msg.data, dtype=np.float64)
    if msg.layout.data_offset != STAMP or data.shape != (STAMP + len(names) * len(COLUMNS),):
        raise BadRosMessageError(f"A motor command holds {data.size} numbers, which is not what its layout says.")
    if not np.isfinite(data).all():
        raise BadRosMessageError("A motor command holds a number that is not finite.")
    table = data[STAMP:].reshape(len(names), len(COLUMNS))[[names.index(name) for name in joint_names]]
    command = MotorCommand(**dict(zip(COMMANDED, table.T.copy(), strict=True)))
    return command, data[0] + 1e-9 * data[1]
