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
        BadInputError: robot.yaml is no YAML, of another schema, lacks a number, or holds one that cannot be.
    """
    name, path = folder.name, folder / "robot.yaml"
    raw = _mapping(path)
    joints: dict[str, dict[str, Any]] = _part(raw, "joints", dict, path)
    names = tuple(str(joint) for joint in joints)
    for joint in names:
        if not isinstance(joints[joint], dict):
            raise BadInputError(f"{path}: joints.{joint} holds no numbers; expected {{lower: ..., upper: ...}}.")

    def per_joint(key: str, default: float | None = None) -> Array:
        missing = [joint for joint in names if joints[joint].get(key, default) is None]
        if missing:
            raise BadInputError(
                f"{path} has no '{key}' for: {', '.join(missing)}. Fill the numbers in, with their source; then: "
                f"lagoon robot check {name}"
            )
        values = [_number(joints[joint].get(key, default), f"joints.{joint}.{key}", path) for joint in names]
        array = np.array(values, dtype=np.float64)
        array.setflags(write=False)
        return array

    legs = tuple(_leg(str(leg), value, names, path) for leg, value in _part(raw, "legs", dict, path).items())
    if sorted(leg.name for leg in legs) != ["FL", "FR", "RL", "RR"]:
        raise BadInputError(f"{path}: legs are {', '.join(leg.name for leg in legs)}; expected FL, FR, RL and RR.")
    motors = tuple(str(motor) for motor in _part(raw, "motors", list, path))
    if sorted(motors) != sorted(names):
        raise BadInputError(f"{path}: 'motors' and 'joints' must hold the same names, each once.")
    motor_sign = per_joint("motor_sign", default=1.0)
    odd = [f"{joint} ({sign:g})" for joint, sign in zip(names, motor_sign, strict=True) if abs(sign) != 1.0]
    if odd:
        raise BadInputError(f"{path}: motor_sign must be 1 or -1, not so for {', '.join(odd)}.")
    positive = lambda key: _number(_part(raw, key, object, path), key, path, above=0.0)  # noqa: E731
    return RobotSpec(
        name=name,
        joint_names=names,
        motor_names=motors,
        motor_sign=motor_sign,
        motor_offset=per_joint("motor_offset", default=0.0),
        joint_lower=per_joint("lower"),
        joint_upper=per_joint("upper"),
        joint_vel_limit=per_joint("velocity"),
        torque_limit=per_joint("torque"),
        default_joint_pos=per_joint("default"),
        default_root_height=positive("default_root_height"),
        kp=per_joint("kp"),
        kd=per_joint("kd"),
        control_dt=positive("control_dt"),
        base_body=str(_part(raw, "base_body", str, path)),
        foot_names=tuple(leg.foot for leg in legs),
        foot_radius=positive("foot_radius"),
        mass=positive("mass"),
        legs=legs,
        model_path=folder / "robot.xml",
    )


def _mapping(path: Path) -> dict[str, Any]:
    """Content of robot.yaml, of this schema."""
    try:
        raw = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError, RecursionError) as error:
        cause = " ".join(str(error).split())
        raise BadInputError(
            f"{path} cannot be read as YAML ({cause}). Mend it, or draft it anew: lagoon robot init"
        ) from error
    if not isinstance(raw, dict):
        raise BadInputError(
            f"{path} holds no names with values; expected a robot's description as lagoon robot init writes it."
        )
    if raw.get("schema_version") != SCHEMA_VERSION:
        raise BadInputError(
            f"{path} has schema_version {raw.get('schema_version')}; this lagoon reads {SCHEMA_VERSION}."
        )
    return raw


def _part(raw: dict[str, Any], key: str, kind: type, path: Path) -> Any:
    words = {dict: "names with values", list: "a list", str: "a name", object: "a number"}[kind]
    if key not in raw or not isinstance(raw[key], kind):
        fact = f"has no '{key}'" if key not in raw else f"has '{key}: {raw[key]!r:.60}'"
        raise BadInputError(
            f"{path} {fact}; expected {words}. See docs/add_a_robot.md, or the robots that lagoon brings."
        )
    return raw[key]


def _number(value: object, key: str, path: Path, above: float = -np.inf) -> float:
    real = isinstance(value, (int, float)) and not isinstance(value, bool) and np.isfinite(value)
    if not real or float(value) <= above:  # type: ignore[arg-type]
        wanted = f"a number above {above:g}" if np.isfinite(above) else "a number"
        raise BadInputError(f"{path}: {key} is {value!r:.60}; expected {wanted}. Correct it.")
    return float(value)  # type: ignore[arg-type]


def _leg(name: str, value: object, joints: tuple[str, ...], path: Path) -> Leg:
    where = f"legs.{name}"
    if not isinstance(value, dict):
        raise BadInputError(
            f"{path}: {where} is {value!r:.60}; expected names with values, such as those of another leg."
        )
    three = [str(joint) for joint in _part(value, "joints", list, path)]
    strange = [joint for joint in three if joint not in joints]
    if len(three) != 3 or strange:
        fact = f"names {', '.join(strange)}, which 'joints' does not have" if strange else f"has {len(three)} joints"
        raise BadInputError(f"{path}: {where} {fact}; expected three of 'joints', from the body outward.")

    def vector(key: str) -> tuple[float, float, float]:
        found = _part(value, key, list, path)
        if len(found) != 3:
            raise BadInputError(f"{path}: {where}.{key} has {len(found)} numbers; expected x, y and z [m].")
        x, y, z = (_number(item, f"{where}.{key}", path) for item in found)
        return x, y, z

    return Leg(
        name=name,
        hip_joint=three[0],
        thigh_joint=three[1],
        calf_joint=three[2],
        foot=str(_part(value, "foot", str, path)),
        hip_pos_b=vector("hip_pos_b"),
        thigh_offset=vector("thigh_offset"),
        calf_offset=vector("calf_offset"),
        foot_offset=vector("foot_offset"),
    )
