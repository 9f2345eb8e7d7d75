"""Standard ROS messages out of plain arrays, for a bag; rosbags' own classes, so that no ROS is needed.

What enters: one robot's arrays, in the order of its joint names. What leaves: messages to serialize. w, x, y, z
becomes x, y, z, w here.
"""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lagoon.deploy.ros.messages import STAMP, dimensions


class MessageMaker:
    """Makes messages for one robot."""

    def __init__(self, types: Any, names: list[str]) -> None:
        """Args: types: message classes by name, of a typestore of rosbags; names: (J,) of every array."""
        kind = lambda name: types[name]  # noqa: E731
        self._time, self._header = kind("builtin_interfaces/msg/Time"), kind("std_msgs/msg/Header")
        self._joints, self._imu = kind("sensor_msgs/msg/JointState"), kind("sensor_msgs/msg/Imu")
        self._quat, self._vector = kind("geometry_msgs/msg/Quaternion"), kind("geometry_msgs/msg/Vector3")
        self._table, self._string = kind("std_msgs/msg/Float64MultiArray"), kind("std_msgs/msg/String")
        dimension, layout = kind("std_msgs/msg/MultiArrayDimension"), kind("std_msgs/msg/MultiArrayLayout")
        self._names = list(names)
        self._layout = layout(dim=dimensions(dimension, names), data_offset=STAMP)
        # A covariance of zeros means unknown; -1 in front means that there is no such measurement.
        self._unknown, self._none = np.zeros(9), np.array([-1.0, *[0.0] * 8])

    def text(self, content: dict[str, Any]) -> Any:
        """std_msgs/String with JSON."""
        return self._string(data=json.dumps(content))

    def joints(self, stamp: float, position: Any, velocity: Any, effort: Any) -> Any:
        """sensor_msgs/JointState; stamp in s."""
        copy = np.ascontiguousarray
        return self._joints(
            header=self._stamp(stamp, ""),
            name=self._names,
            position=copy(position),
            velocity=copy(velocity),
            effort=copy(effort),
        )

    def imu(self, stamp: float, quat: Any, gyro: Any) -> Any:
        """sensor_msgs/Imu; quat (4,) wxyz, gyro (3,) [rad/s]."""
        w, x, y, z = (float(value) for value in quat)
        gx, gy, gz = (float(value) for value in gyro)
        return self._imu(
            header=self._stamp(stamp, "base"),
            orientation=self._quat(x=x, y=y, z=z, w=w),
            orientation_covariance=self._unknown,
            angular_velocity=self._vector(x=gx, y=gy, z=gz),
            angular_velocity_covariance=self._unknown,
            linear_acceleration=self._vector(x=0.0, y=0.0, z=0.0),
            linear_acceleration_covariance=self._none,
        )

    def command(self, ns: int, table: NDArray[Any]) -> Any:
        """std_msgs/Float64MultiArray, laid out as the ROS node's; table (J, 5)."""
        return self._table(layout=self._layout, data=np.array([*divmod(ns, 10**9), *table.ravel()], np.float64))

    def _stamp(self, seconds: float, frame: str) -> Any:
        # A robot's clock may say anything; what no ROS time can hold becomes 0.
        fits = math.isfinite(seconds) and 0.0 <= seconds < 2**31
        whole, part = divmod(round(1e9 * float(seconds)), 10**9) if fits else (0, 0)
        return self._header(stamp=self._time(sec=whole, nanosec=part), frame_id=frame)
