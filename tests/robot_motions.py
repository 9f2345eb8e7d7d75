"""Synthetic robot motions: a robot that stands still on four legs, and whatever a test changes of that."""

from __future__ import annotations

from typing import Any

import numpy as np

from lagoon.motion.robot_motion import RobotMotion
from lagoon.motion.rotations import quat_from_yaw
from lagoon.robot import RobotSpec


def still(robot: RobotSpec, frames: int, yaw: float = 0.0, **changes: Any) -> RobotMotion:
    """So many frames at 50 Hz on all feet, turned by ``yaw`` [rad]; ``changes`` are fields of the motion."""
    values: dict[str, Any] = {
        "fps": 50.0,
        "robot": robot.name,
        "joint_names": robot.joint_names,
        "root_pos_w": np.tile([0.0, 0.0, robot.default_root_height], (frames, 1)),
        "root_quat_w": np.tile(quat_from_yaw(yaw), (frames, 1)),
        "joint_pos": np.tile(robot.default_joint_pos, (frames, 1)),
        "foot_contact": np.ones((frames, len(robot.foot_names)), dtype=bool),
    }
    return RobotMotion(**{**values, **changes})
