"""RobotSpec: the facts about a robot that every stage needs, each with its source.

What enters: ``robot.yaml`` and ``robot.xml`` of a robot's folder, which lies in ``assets/robots`` or in ``robots`` of
the working folder. What leaves: one frozen dataclass;
joints are found by name everywhere, since joint order, actuator order and motor order differ.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from numpy.typing import NDArray

from lagoon.errors import BadInputError, unknown_name
from lagoon.paths import data_dir

Array = NDArray[np.float64]
SCHEMA_VERSION = 1


@dataclass(frozen=True)
class Leg:
    """One leg: its three joints from the body outward, its foot, and its fixed geometry in the base frame."""

    name: str
    """Two letters, front/rear and left/right: FL, FR, RL, RR."""
    hip_joint: str
    thigh_joint: str
    calf_joint: str
    foot: str
    """Name of the foot site and foot geom in robot.xml."""
    hip_pos_b: tuple[float, float, float]
    """Hip (abduction) axis origin in the base frame [m]."""
    thigh_offset: tuple[float, float, float]
    """Thigh joint origin in the hip frame [m]."""
    calf_offset: tuple[float, float, float]
    """Calf joint origin in the thigh frame [m]."""
    foot_offset: tuple[float, float, float]
    """Foot centre in the calf frame [m]."""

    @property
    def joints(self) -> tuple[str, str, str]:
        """The three joint names from the body outward."""
        return (self.hip_joint, self.thigh_joint, self.calf_joint)

    @property
    def thigh_length(self) -> float:
        """Thigh joint to calf joint [m]."""
        return float(np.linalg.norm(self.calf_offset))

    @property
    def reach(self) -> float:
        """Thigh joint to foot centre with the leg straight [m]; joint limits may forbid a straight leg."""
        return self.thigh_length + float(np.linalg.norm(self.foot_offset))

    def foot_in_thigh(self, calf: Array | float) -> Array:
        """Return the foot centre in the thigh's frame (..., 3) [m]; both joints turn about +Y.

        Args:
            calf: (...) angle of the calf joint [rad].
        """
        x, y, z = self.foot_offset
        cos, sin = np.cos(calf), np.sin(calf)
        return np.stack([cos * x + sin * z, np.full_like(cos, y), cos * z - sin * x], axis=-1) + self.calf_offset

    @property
    def is_front(self) -> bool:
        """True for FL and FR."""
        return self.name[0] == "F"

    @property
    def is_left(self) -> bool:
        """True for FL and RL."""
        return self.name[1] == "L"


@dataclass(frozen=True)
class RobotSpec:
    """A quadruped with J joints and F feet. Arrays follow ``joint_names`` unless said otherwise."""

    name: str
    joint_names: tuple[str, ...]
    """(J,) the order used by every array in lagoon, in files and in the bundle."""
    motor_names: tuple[str, ...]
    """(J,) joint names in the order of the robot's motor bus and of the actuators in robot.xml."""
    motor_sign: Array
    """(J,) -1 where the motor turns the other way; angle on the motor bus = motor_sign * angle here + motor_offset."""
    motor_offset: Array
    """(J,) angle on the motor bus where the joint is at zero [rad]."""
    joint_lower: Array
    """(J,) lower position limits [rad]."""
    joint_upper: Array
    """(J,) upper position limits [rad]."""
    joint_vel_limit: Array
    """(J,) [rad/s]."""
    torque_limit: Array
    """(J,) [Nm]."""
    default_joint_pos: Array
    """(J,) the four-legged stand [rad]."""
    default_root_height: float
    """Base height in that stand [m]."""
    kp: Array
    """(J,) position gains of the joint controller [Nm/rad]."""
    kd: Array
    """(J,) damping gains [Nm s/rad]."""
    control_dt: float
    """Period of the policy [s]."""
    base_body: str
    foot_names: tuple[str, ...]
    """(F,) feet, in the order of the legs."""
    foot_radius: float
    """[m]"""
    mass: float
    """Total mass [kg]."""
    legs: tuple[Leg, ...]
    model_path: Path
    """robot.xml."""

    def leg(self, name: str) -> Leg:
        """Return a leg by its two-letter name."""
        for leg in self.legs:
            if leg.name == name:
                return leg
        raise unknown_name("Leg", name, [leg.name for leg in self.legs])

    def joint_ids(self, names: tuple[str, ...] | list[str]) -> NDArray[np.int64]:
        """Return the indices in ``joint_names`` of the given names, in the given order.

        Raises:
            BadInputError: a name is not a joint of this robot; the known ones are listed.
        """
        for name in names:
            if name not in self.joint_names:
                raise unknown_name(f"Joint of robot '{self.name}'", name, self.joint_names)
        return np.array([self.joint_names.index(name) for name in names], dtype=np.int64)

    @property
    def num_joints(self) -> int:
        """Number of actuated joints J."""
        return len(self.joint_names)


def robot_folders() -> list[Path]:
    """Where robots are looked for, first come first served: $LAGOON_ROBOTS, robots/ in the working folder, assets/."""
    own = os.environ.get("LAGOON_ROBOTS")
    return [*([Path(own)] if own else []), Path("robots"), data_dir("assets") / "robots"]


def known_robots() -> list[str]:
    """Names of the robots in these folders."""
    return sorted({path.parent.name for folder in robot_folders() for path in folder.glob("*/robot.yaml")})


def load_robot(name: str) -> RobotSpec:
    """Read a robot's description by name.

    Raises:
        BadInputError: no such robot (the known ones are listed), or its description lacks a number.
    """
    if name not in known_robots():
        raise unknown_name("Robot", name, known_robots(), "Choose one of them, or see: lagoon robot list")
    folder = next(place / name for place in robot_folders() if (place / name / "robot.yaml").is_file())
    return read_robot(folder)


def read_robot(folder: Path) -> RobotSpec:
    """Read the description in a folder; its name is the robot's.

    Raises:
        BadInputError: robot.yaml is of another schema or lacks a number.
    """
    name = folder.name
    raw: dict[str, Any] = yaml.safe_load((folder / "robot.yaml").read_text(encoding="utf-8"))
    if raw.get("schema_version") != SCHEMA_VERSION:
        raise BadInputError(
            f"{folder / 'robot.yaml'} has schema_version {raw.get('schema_version')}; "
            f"this lagoon reads {SCHEMA_VERSION}."
        )
    joints: dict[str, dict[str, float]] = raw["joints"]
    names = tuple(joints)

    def per_joint(key: str, default: float | None = None) -> Array:
        missing = [joint for joint in names if joints[joint].get(key, default) is None]
        if missing:
            raise BadInputError(
                f"{folder / 'robot.yaml'} has no '{key}' for: {', '.join(missing)}. Fill the numbers in, "
                f"with their source; then: lagoon robot check {name}"
            )
        array = np.array([joints[joint].get(key, default) for joint in names], dtype=np.float64)
        array.setflags(write=False)
        return array

    legs = tuple(
        Leg(
            name=leg,
            hip_joint=value["joints"][0],
            thigh_joint=value["joints"][1],
            calf_joint=value["joints"][2],
            foot=value["foot"],
            hip_pos_b=tuple(value["hip_pos_b"]),
            thigh_offset=tuple(value["thigh_offset"]),
            calf_offset=tuple(value["calf_offset"]),
            foot_offset=tuple(value["foot_offset"]),
        )
        for leg, value in raw["legs"].items()
    )
    if set(raw["motors"]) != set(names):
        raise BadInputError(f"{folder / 'robot.yaml'}: 'motors' and 'joints' must hold the same names.")
    motor_sign = per_joint("motor_sign", default=1.0)
    odd = [f"{joint} ({sign:g})" for joint, sign in zip(names, motor_sign, strict=True) if abs(sign) != 1.0]
    if odd:
        raise BadInputError(f"{folder / 'robot.yaml'}: motor_sign must be 1 or -1, not so for {', '.join(odd)}.")
    return RobotSpec(
        name=name,
        joint_names=names,
        motor_names=tuple(raw["motors"]),
        motor_sign=motor_sign,
        motor_offset=per_joint("motor_offset", default=0.0),
        joint_lower=per_joint("lower"),
        joint_upper=per_joint("upper"),
        joint_vel_limit=per_joint("velocity"),
        torque_limit=per_joint("torque"),
        default_joint_pos=per_joint("default"),
        default_root_height=float(raw["default_root_height"]),
        kp=per_joint("kp"),
        kd=per_joint("kd"),
        control_dt=float(raw["control_dt"]),
        base_body=raw["base_body"],
        foot_names=tuple(leg.foot for leg in legs),
        foot_radius=float(raw["foot_radius"]),
        mass=float(raw["mass"]),
        legs=legs,
        model_path=folder / "robot.xml",
    )
