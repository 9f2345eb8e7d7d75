"""The facts of a bundle.

What enters: a robot's and a motion's numbers at export, or the mapping read from bundle.yaml. What
leaves: a validated BundleInfo; the same mapping, in full precision, goes to bundle.yaml and into the
ONNX metadata, so that the graph alone still says how to use it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

import lagoon
from lagoon.bundle.ports import Port, input_ports, output_ports
from lagoon.errors import CorruptFileError

Array = NDArray[np.float64]
SCHEMA_VERSION = 1
QUATERNION = "wxyz base->world"
OPTIONAL = ("action_scale", "up_b")
"""Facts that a bundle may lack."""


class RobotFacts(Protocol):
    """What a bundle takes from, and checks against, a robot description (lagoon.robot.RobotSpec fits)."""

    @property
    def name(self) -> str: ...  # noqa: D102
    @property
    def joint_names(self) -> tuple[str, ...]: ...  # noqa: D102
    @property
    def joint_lower(self) -> Array: ...  # noqa: D102
    @property
    def joint_upper(self) -> Array: ...  # noqa: D102
    @property
    def joint_vel_limit(self) -> Array: ...  # noqa: D102
    @property
    def torque_limit(self) -> Array: ...  # noqa: D102
    @property
    def default_joint_pos(self) -> Array: ...  # noqa: D102
    @property
    def kp(self) -> Array: ...  # noqa: D102
    @property
    def kd(self) -> Array: ...  # noqa: D102
    @property
    def control_dt(self) -> float: ...  # noqa: D102


class MotionFacts(Protocol):
    """What a bundle takes from the reference motion (lagoon.motion.RobotMotion fits)."""

    @property
    def root_quat_w(self) -> Array: ...  # noqa: D102
    @property
    def segment_names(self) -> tuple[str, ...]: ...  # noqa: D102
    @property
    def segment_starts(self) -> Any: ...  # noqa: D102


@dataclass(frozen=True, kw_only=True)
class BundleInfo:
    """Everything a bundle says in words and numbers; arrays are float64 in ``joint_names`` order."""

    robot: str
    """Robot name, for example ``go2``."""
    command: str
    """The text that was typed."""
    joint_names: tuple[str, ...]
    """(J,) order of every joint array of the bundle and of the graph."""
    kp: Array
    """(J,) position gains of the joint controller [Nm/rad]."""
    kd: Array
    """(J,) damping gains [Nm s/rad]."""
    default_joint_pos: Array
    """(J,) the stand in which the skill starts and ends [rad]."""
    joint_lower: Array
    """(J,) [rad]"""
    joint_upper: Array
    """(J,) [rad]"""
    joint_vel_limit: Array
    """(J,) [rad/s]"""
    torque_limit: Array
    """(J,) [Nm]"""
    control_dt: float
    """Period at which the graph must be called [s]."""
    num_steps: int
    """Frames T of the reference inside the graph; from tick T on it holds the last one."""
    segment_names: tuple[str, ...]
    """(S,) stretches of the reference."""
    segment_starts: tuple[int, ...]
    """(S,) first tick of each stretch."""
    max_tilt: tuple[float, ...]
    """(S,) largest angle between the base's up axis and the vertical that the reference reaches in each
    stretch [rad]: the envelope around which a tilt guard puts its margin."""
    state_size: int
    """Numbers in the policy's state; its initial value is zeros."""
    golden_tolerance: float = 1e-4
    """Largest difference allowed between recorded and recomputed outputs. Summation order differs between
    processors; 1e-4 rad is far below an encoder step, and far above float32 rounding of a small network."""
    seed: int = 0
    """Seed of the training run."""
    motion_sha256: str = ""
    """sha256 of the reference motion's file."""
    git_revision: str = ""
    """Revision of the source tree that exported, empty outside a checkout."""
    lagoon_version: str = lagoon.__version__
    quaternion: str = QUATERNION
    action_scale: Array | None = None
    """(J,) [rad] per unit of action where the graph has such a scale; for other programs that read the file."""
    up_b: Array | None = None
    """(T, 3) world's up axis in the base frame at each tick of the reference, to four digits: where a tilt guard
    expects gravity. Bundles of earlier versions lack it; a guard then has only ``max_tilt``."""

    def __post_init__(self) -> None:
        """Validate and freeze.

        Raises:
            CorruptFileError: a field is missing its shape, not finite or not positive; its name and value are told.
        """
        put = object.__setattr__
        for name in ("joint_names", "segment_names"):
            put(self, name, tuple(str(item) for item in getattr(self, name)))
        joints = len(self.joint_names)
        doubled = sorted({name for name in self.joint_names if self.joint_names.count(name) > 1})
        if joints == 0 or doubled:
            raise _bad("joint_names", list(self.joint_names), f"joints named once each, not twice: {doubled}")
        for name in ("kp", "kd", "default_joint_pos", "joint_lower", "joint_upper", "joint_vel_limit", "torque_limit"):
            put(self, name, self._per_joint(name, positive=name in ("kp", "kd", "joint_vel_limit", "torque_limit")))
        if self.action_scale is not None:
            put(self, "action_scale", self._per_joint("action_scale", positive=True))
        for j in np.flatnonzero(self.joint_lower >= self.joint_upper):
            raise _bad(f"joint_lower of {self.joint_names[j]}", self.joint_lower[j], f"< {self.joint_upper[j]}")
        for name, kind in (("control_dt", float), ("golden_tolerance", float), ("num_steps", int), ("state_size", int)):
            value = getattr(self, name)
            if not isinstance(value, (int, float)) or isinstance(value, bool) or not 0 < value < np.inf:
                raise _bad(name, value, "a number above 0")
            put(self, name, kind(value))
        put(self, "seed", int(self.seed))
        put(self, "segment_starts", tuple(int(start) for start in self.segment_starts))
        put(self, "max_tilt", tuple(float(tilt) for tilt in self.max_tilt))
        if not len(self.segment_names) == len(self.segment_starts) == len(self.max_tilt) >= 1:
            raise _bad("max_tilt", list(self.max_tilt), f"one value and one start for each of {self.segment_names}")
        starts = self.segment_starts
        if starts[0] != 0 or list(starts) != sorted(starts) or starts[-1] >= self.num_steps:
            raise _bad("segment_starts", list(starts), f"0 first, ascending, below num_steps {self.num_steps}")
        if not all(0.0 <= tilt <= np.pi + 1e-6 for tilt in self.max_tilt):
            raise _bad("max_tilt", list(self.max_tilt), "angles in [0, pi] rad")
        if self.quaternion != QUATERNION:
            raise _bad("quaternion", self.quaternion, f"'{QUATERNION}'")
        if self.up_b is not None:
            put(self, "up_b", self._directions(self.up_b))

    def _directions(self, value: object) -> Array:
        wanted = f"{self.num_steps} unit vectors, one for each tick"
        try:
            array = np.array(value, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise _bad("up_b", "not a table of numbers", wanted) from error
        if array.shape != (self.num_steps, 3) or not np.isfinite(array).all():
            raise _bad("up_b", f"of shape {array.shape}, or not finite", wanted)
        norms = np.linalg.norm(array, axis=1)
        if np.abs(norms - 1.0).max() > 1e-3:
            raise _bad("up_b", f"of norm {norms[np.abs(norms - 1.0).argmax()]:.4f} at one tick", wanted)
        array.setflags(write=False)
        return array

    def _per_joint(self, name: str, positive: bool) -> Array:
        value, joints = getattr(self, name), len(self.joint_names)
        try:
            array = np.array(value, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise _bad(name, value, f"{joints} numbers") from error
        if array.shape != (joints,):
            raise _bad(name, f"of shape {array.shape}", f"one number for each of the {joints} joints")
        wrong = ~np.isfinite(array) | ((array <= 0) if positive else False)
        for j in np.flatnonzero(wrong):
            raise _bad(f"{name} of {self.joint_names[j]}", array[j], "a finite number" + " above 0" * positive)
        array.setflags(write=False)
        return array

    @property
    def num_joints(self) -> int:
        """Number of joints J."""
        return len(self.joint_names)

    @property
    def initial_state(self) -> NDArray[np.float32]:
        """(state_size,) policy state before the first tick."""
        return np.zeros(self.state_size, dtype=np.float32)

    @property
    def inputs(self) -> tuple[Port, ...]:
        """The graph's inputs."""
        return input_ports(self.num_joints, self.state_size)

    @property
    def outputs(self) -> tuple[Port, ...]:
        """The graph's outputs."""
        return output_ports(self.num_joints, self.state_size)

    def segment_at(self, tick: int) -> str:
        """Name of the stretch that a control tick falls into; the last one after the end."""
        return self.segment_names[self.segment_index(tick)]

    def segment_index(self, tick: int) -> int:
        """Index of that stretch."""
        return int(np.searchsorted(self.segment_starts, tick, side="right")) - 1

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, the content of bundle.yaml and of the ONNX metadata."""
        values: dict[str, Any] = {"schema_version": SCHEMA_VERSION}
        for field in fields(BundleInfo):
            value = getattr(self, field.name)
            if isinstance(value, (np.ndarray, tuple)):
                value = list(value.tolist() if isinstance(value, np.ndarray) else value)
            if value is not None:
                values[field.name] = value
        values["initial_state"] = "zeros"
        values["inputs"] = [port.to_dict() for port in self.inputs]
        values["outputs"] = [port.to_dict() for port in self.outputs]
        return values

    @staticmethod
    def from_dict(values: Mapping[str, Any], source: str) -> BundleInfo:
        """Read what to_dict gave.

        Args:
            values: the mapping.
            source: file it came from, for the error.

        Raises:
            CorruptFileError: another schema version, a missing or unknown key, or an invalid value.
        """
        version = values.get("schema_version")
        if version != SCHEMA_VERSION:
            raise CorruptFileError(
                f"{source} has schema_version {version!r}; this lagoon reads version {SCHEMA_VERSION}. "
                "Install the lagoon that wrote it, or export with this one."
            )
        known = {field.name: field for field in fields(BundleInfo)}
        extra = {"schema_version", "initial_state", "inputs", "outputs"}
        missing = sorted(name for name in known if name not in values and name not in OPTIONAL)
        unknown = sorted(set(values) - set(known) - extra)
        if missing or unknown:
            raise CorruptFileError(
                f"{source} does not hold the keys of a bundle: missing {missing or 'none'}, "
                f"unknown {unknown or 'none'}."
            )
        try:
            info = BundleInfo(**{name: values[name] for name in known if name in values})
        except (TypeError, ValueError) as error:
            raise CorruptFileError(f"{source} cannot be understood ({error}).") from error
        for table, ports in (("inputs", info.inputs), ("outputs", info.outputs)):
            if values.get(table) != [port.to_dict() for port in ports]:
                raise CorruptFileError(
                    f"{source} has a table '{table}' that is not the one of schema {SCHEMA_VERSION}, which is: "
                    f"{'; '.join(str(port) for port in ports)}."
                )
        return info

    @staticmethod
    def of(
        robot: RobotFacts,
        motion: MotionFacts,
        *,
        command: str,
        state_size: int,
        seed: int = 0,
        motion_sha256: str = "",
        git_revision: str = "",
        action_scale: Array | None = None,
        golden_tolerance: float = 1e-4,
    ) -> BundleInfo:
        """Collect the facts of a robot and of a reference motion at the control rate."""
        return BundleInfo(
            robot=robot.name,
            command=command,
            joint_names=robot.joint_names,
            kp=robot.kp,
            kd=robot.kd,
            default_joint_pos=robot.default_joint_pos,
            joint_lower=robot.joint_lower,
            joint_upper=robot.joint_upper,
            joint_vel_limit=robot.joint_vel_limit,
            torque_limit=robot.torque_limit,
            control_dt=robot.control_dt,
            num_steps=len(motion.root_quat_w),
            segment_names=motion.segment_names,
            segment_starts=tuple(int(start) for start in motion.segment_starts),
            max_tilt=max_tilt_by_segment(motion.root_quat_w, [int(start) for start in motion.segment_starts]),
            state_size=state_size,
            golden_tolerance=golden_tolerance,
            seed=seed,
            motion_sha256=motion_sha256,
            git_revision=git_revision,
            action_scale=action_scale,
            up_b=up_directions(motion.root_quat_w),
        )


def up_directions(root_quat_w: Array) -> Array:
    """World's up axis in the base frame (T, 3) of orientations (T, 4) wxyz, to four digits."""
    w, x, y, z = root_quat_w.T
    # Third row of the rotation matrix.
    up = np.stack([2.0 * (x * z - w * y), 2.0 * (y * z + w * x), 1.0 - 2.0 * (x * x + y * y)], axis=1)
    return np.asarray(np.round(up, 4) + 0.0, dtype=np.float64)


def max_tilt_by_segment(root_quat_w: Array, starts: Sequence[int]) -> tuple[float, ...]:
    """Largest angle between base Z and world Z in each stretch [rad].

    Args:
        root_quat_w: (T, 4) wxyz, base to world.
        starts: first frame of each stretch, ascending.
    """
    x, y = root_quat_w[:, 1], root_quat_w[:, 2]
    # Third diagonal entry of the rotation matrix is the cosine of the tilt.
    tilt = np.arccos(np.clip(1.0 - 2.0 * (x * x + y * y), -1.0, 1.0))
    ends = [*starts[1:], len(tilt)]
    # A stretch without frames has the tilt of the frame at which it would begin.
    return tuple(float(tilt[s : max(e, s + 1)].max()) for s, e in zip(starts, ends, strict=True))


def _bad(name: str, value: object, expected: str) -> CorruptFileError:
    return CorruptFileError(f"The bundle's {name} is {value}; expected {expected}.")
