"""What a motor can give at the speed it turns at.

What enters: ``assets/robots/<name>/motors.yaml``. What leaves: torque limits (N, J) for joint speeds (N, J). A motor
that pulls the way it turns loses torque to its own voltage; one that brakes does not.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import yaml
from numpy.typing import NDArray

from lagoon.errors import BadInputError
from lagoon.robot import RobotSpec

Array = NDArray[np.float64]
FILE = "motors.yaml"


@dataclass(frozen=True)
class MotorCurve:
    """Torque against speed of J joints, in RobotSpec joint order."""

    drive_torque: Array
    """(J,) largest torque in the direction of the motion, up to ``knee_speed`` [Nm]."""
    brake_torque: Array
    """(J,) largest torque against the direction of the motion [Nm]."""
    knee_speed: Array
    """(J,) from here on the driving torque falls in a straight line [rad/s]."""
    free_speed: Array
    """(J,) at this speed no driving torque is left [rad/s]."""

    def limits(self, speed: Array, rated: Array) -> tuple[Array, Array]:
        """Return the lowest and the highest torque (N, J) [Nm].

        Args:
            speed: (N, J) joint speeds [rad/s].
            rated: (N, J) limits that hold at every speed, for example of a warm motor [Nm].
        """
        left = (self.free_speed - np.abs(speed)) / (self.free_speed - self.knee_speed)
        drive = np.minimum(self.drive_torque * np.clip(left, 0.0, 1.0), rated)
        brake = np.minimum(self.brake_torque, rated)
        return -np.where(speed < 0.0, drive, brake), np.where(speed > 0.0, drive, brake)


def motor_curve(robot: RobotSpec) -> MotorCurve:
    """Read a robot's motors.

    Raises:
        BadInputError: the robot has no motors.yaml, or it lacks a joint or a number.
    """
    path = robot.model_path.with_name(FILE)
    if not path.is_file():
        raise BadInputError(
            f"There is no {path}: the torque against speed of {robot.name}'s motors is not known. Write it as in "
            "assets/robots/go2/motors.yaml, from the maker's data, or leave torque_speed off."
        )
    try:
        raw = yaml.safe_load(path.read_text(encoding="utf-8"))
        kinds = {joint: raw["motors"][kind] for kind, joints in raw["joints"].items() for joint in joints}
        rows = [(kinds[joint], float(raw["gear"].get(joint, 1.0))) for joint in robot.joint_names]
        column = lambda key, power: np.array([float(motor[key]) * gear**power for motor, gear in rows])  # noqa: E731
        curve = MotorCurve(
            column("drive_torque", 1), column("brake_torque", 1), column("knee_speed", -1), column("free_speed", -1)
        )
    except (yaml.YAMLError, KeyError, TypeError, AttributeError, ValueError) as error:
        raise BadInputError(
            f"{path} lacks a joint or a number ({error}). It needs motors, joints and gear as in "
            "assets/robots/go2/motors.yaml."
        ) from error
    if not (curve.knee_speed < curve.free_speed).all() or (curve.drive_torque <= 0.0).any():
        raise BadInputError(f"{path}: knee_speed must lie below free_speed, and drive_torque above 0.")
    return curve
