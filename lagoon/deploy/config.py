"""Settings of evaluation and deployment: what differs between trials, what passes, how a robot is run. Plain data.

What enters: values from configs/evaluate/ and configs/deploy/. What leaves: frozen dataclasses. Ranges are
uniform unless said otherwise. Body ranges equal those of training, since both describe the same robot; the
physics, the delays in steps of 2 ms and the drifts differ.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, fields
from typing import Literal

from lagoon.deploy.controller_config import ControllerConfig
from lagoon.deploy.unitree.config import UnitreeConfig
from lagoon.errors import BadSettingError

Range = tuple[float, float]


@dataclass(frozen=True)
class EvaluateConfig:
    """How an exported policy is examined."""

    trials: int = 128
    """Randomized robots; 128 put a 95 % interval of about +-4 points around a survival of 95 %."""
    threads: int = 0
    """Physics threads; 0 takes every core this process may use."""
    physics: Literal["checking", "training"] = "checking"
    """``checking`` (2 ms, elliptic cone, full collisions, dry friction) or ``training``, to tell a policy
    that has not learnt from one that has learnt its simulator."""
    torque_speed: bool = False
    """Limit torques by the motors' curve of torque against speed (motors.yaml), not by their rated torque alone."""
    stand_seconds: float = 0.5
    """Time that the robot stands under its joint controller before the policy takes over [s]."""
    hold_seconds: float = 0.5
    """Time after the reference's end in which it must still stand [s]."""

    friction: Range = (0.5, 1.2)
    """Sliding friction of robot and floor: wet tile to rubber on concrete [-]."""
    mass_scale: Range = (0.95, 1.05)
    """Factor on every link's mass: tolerance of the description [-]."""
    payload: Range = (-0.5, 1.0)
    """Mass added to the trunk: battery variants and a small sensor [kg]."""
    com_offset: float = 0.02
    """Largest shift of the trunk's centre of mass along each axis: cables and payload off centre [m]."""
    gain_scale: Range = (0.85, 1.15)
    """Factor on each joint's kp and kd: torque constants differ by motor and with warmth [-]."""
    strength: Range = (0.85, 1.0)
    """Factor on each torque limit: a warm motor or a low battery [-]."""
    start_joint_offset: float = 0.05
    """Largest offset of each joint's target in the stand before the skill: no robot stands in the exact pose [rad]."""
    start_heading: Range = (-3.14159265, 3.14159265)
    """World heading at the start; a policy must not care [rad]."""

    delay: Range = (0.0, 0.02)
    """Time from measurement to torque: computing and bus; fixed in a trial, in steps of the physics [s]."""
    joint_pos_noise: float = 0.005
    """Standard deviation of an encoder reading [rad]."""
    joint_pos_offset: float = 0.01
    """Largest constant error of each encoder: zeroing by hand is good to about half a degree [rad]."""
    joint_vel_noise: float = 0.3
    """Standard deviation of a joint velocity, which is a differentiated encoder [rad/s]."""
    ang_vel_noise: float = 0.08
    """Standard deviation of the gyro [rad/s]."""
    ang_vel_offset: float = 0.02
    """Largest constant error of each gyro axis [rad/s]."""
    tilt_noise: float = 0.005
    """Standard deviation of the measured orientation about each axis [rad]."""
    tilt_offset: float = 0.015
    """Largest constant tilt of the IMU against the trunk: mounting and filter, just under a degree [rad]."""
    heading_drift: float = 0.02
    """Largest rate at which the measured heading drifts, since no compass corrects it [rad/s]."""
    pushes: tuple[int, int] = (1, 2)
    """Number of pushes in a trial, both ends included."""
    push_speed: Range = (0.1, 0.3)
    """Sudden change of the base velocity in the ground plane: a hand or a knee that brushes the robot [m/s]."""

    fall_tilt: float = 1.0
    """A trial falls when its gravity direction is further from the reference's than this [rad]."""
    fall_height: float = 0.2
    """A trial falls when its base height is further from the reference's than this [m]."""
    floor_clearance: float = 0.03
    """A trial falls when trunk or head touch the floor where the reference keeps them higher than this [m]."""
    end_tilt: float = 0.3
    """At the end the trunk must be level within this [rad]."""
    end_joint_error: float = 0.2
    """At the end the joints must be within this of the stand, averaged over the joints [rad]."""
    end_foot_height: float = 0.02
    """At the end every foot must be within this of the floor [m]."""

    min_survival: float = 0.95
    """PASS needs at least this share of trials that start and end on four legs without a fall."""
    max_joint_error: float = 0.15
    """PASS needs at most this mean joint error over surviving time [rad]."""

    def __post_init__(self) -> None:
        """Check every value.

        Raises:
            BadInputError: a value is outside what can work; field, value and expectation are told.
        """
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, (list, tuple)):
                if len(value) != 2 or value[0] > value[1]:
                    raise BadSettingError.of(self, field.name, "two numbers, the lower one first")
                object.__setattr__(self, field.name, tuple(value))
        if self.trials < 1:
            raise BadSettingError.of(self, "trials", "at least 1")
        if self.threads < 0:
            raise BadSettingError.of(self, "threads", "0 (all cores) or more")
        if self.physics not in ("checking", "training"):
            raise BadSettingError.of(self, "physics", "checking or training")
        if not 0.0 <= self.min_survival <= 1.0:
            raise BadSettingError.of(self, "min_survival", "a share in [0, 1]")
        for name in ("friction", "mass_scale", "gain_scale", "strength"):
            if getattr(self, name)[0] <= 0.0:
                raise BadSettingError.of(self, name, "factors above 0")
        for name in ("delay", "pushes", "push_speed"):
            if getattr(self, name)[0] < 0:
                raise BadSettingError.of(self, name, "0 or more")
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, float) and value < 0.0:
                raise BadSettingError.of(self, field.name, "0 or more")


@dataclass(frozen=True)
class FakeRobotConfig:
    """How the wire to a fake robot behaves, and its sensors."""

    delay: float = 0.004
    """Time that a message is under way, in each direction [s]; the two together stay below evaluation's 20 ms."""
    jitter: float = 0.004
    """Largest time added to that, drawn for each message [s]."""
    loss: float = 0.01
    """Share of messages that never arrive."""
    state_period: float = 0.002
    """Period at which the robot sends its state [s]; 500 Hz as a Go2."""
    command_timeout: float = 0.1
    """Age of the newest command at which the robot brakes on its own [s]."""
    joint_pos_noise: float = 0.002
    """Standard deviation of an encoder reading [rad]."""
    joint_pos_offset: float = 0.01
    """Largest constant error of each encoder [rad]; as in evaluation."""
    joint_vel_noise: float = 0.3
    """Standard deviation of a joint velocity [rad/s]; as in evaluation."""
    ang_vel_noise: float = 0.08
    """Standard deviation of the gyro [rad/s]; as in evaluation."""
    tilt_noise: float = 0.005
    """Standard deviation of the orientation about each axis [rad]; as in evaluation."""
    tilt_offset: float = 0.015
    """Largest constant tilt of the IMU against the trunk about each axis [rad]; as in evaluation."""

    def __post_init__(self) -> None:
        """Check every value.

        Raises:
            BadInputError: a value is negative, or a period or a share cannot work.
        """
        for item in fields(self):
            value = getattr(self, item.name)
            if not 0.0 <= value < 1.0 or (item.name in ("state_period", "command_timeout") and value < 0.001):
                low = "0.001" if item.name in ("state_period", "command_timeout") else "0"
                raise BadSettingError.of(self, item.name, f"{low} to 1")

    @staticmethod
    def perfect() -> FakeRobotConfig:
        """Return a wire without delay, loss and noise."""
        silent = {name: 0.0 for name in FakeRobotConfig.__dataclass_fields__}
        return FakeRobotConfig(**{**silent, "state_period": 0.002, "command_timeout": 0.1})


@dataclass(frozen=True)
class DeployConfig:
    """How a skill is checked for a robot, and run on one."""

    link: str = ""
    """Way to a real robot, for example unitree; empty for --sim, which runs over a fake one."""
    runs: int = 3
    """Simulated runs of the whole sequence in a check, each with another seed of noise and losses."""
    timing_seconds: float = 5.0
    """Time for which the loop is timed in a check, on this computer's clock [s]."""
    priority: int = 0
    """Real-time priority of the loop, 1 to 99 as for chrt -f; 0 leaves it to the system. Linux only, and it must be
    allowed; on a busy computer it keeps 99 of 100 steps within a millisecond."""
    seed: int = 0
    """Seed of the fake robot's noise and losses."""
    dry_seconds: float = 3.0
    """Time that a dry run takes [s]."""
    clock: Literal["wall", "virtual"] = "wall"
    """Whose time passes with --sim: ``wall``, as on a robot, or ``virtual``, as fast as it can be simulated and the
    same every time; for a video on a busy computer, or a test."""
    video: bool = False
    """Write a video of a simulated run into deploy_run/ beside the bundle."""
    record: str = "auto"
    """Folder for a bag of each run; auto is recordings/ beside the bundle for a real link and no bag for --sim; none is
    no bag."""
    record_seconds: float = 600.0
    """How much a bag holds at most, the newest [s]; a minute takes 12 MB of memory."""
    max_policy_ms: float = 5.0
    """A check passes with at most this 99th percentile of the policy's time [ms]: a quarter of its period."""
    max_late_ms: float = 5.0
    """A check passes with at most this 99th percentile of a step's lateness [ms]: one period of the commands."""
    max_joint_error: float = 0.15
    """A check passes with at most this mean joint error in the stand before and after the skill [rad]."""
    max_height_error: float = 0.05
    """A check passes with a trunk this near to the stand's height, before and after the skill [m]."""
    controller: ControllerConfig = dataclasses.field(default_factory=ControllerConfig)
    """Movements and guards."""
    fake: FakeRobotConfig = dataclasses.field(default_factory=FakeRobotConfig)
    """The fake robot's wire and sensors."""
    unitree: UnitreeConfig = dataclasses.field(default_factory=UnitreeConfig)
    """Where a Go2 is, for deploy.link=unitree."""

    def __post_init__(self) -> None:
        """Check every value.

        Raises:
            BadInputError: a value is out of range.
        """
        if not self.record.strip():
            raise BadSettingError.of(self, "record", "auto, none or a folder")
        if self.clock not in ("wall", "virtual"):
            raise BadSettingError.of(self, "clock", "wall or virtual")
        limits = {"runs": (1, 100), "timing_seconds": (0.5, 600), "seed": (0, 2**32 - 1), "dry_seconds": (0.1, 600)}
        limits |= {"max_policy_ms": (0.1, 20), "max_late_ms": (0.1, 20), "max_joint_error": (0.01, 0.3)}
        limits |= {"max_height_error": (0.01, 0.1), "record_seconds": (1, 7200), "priority": (0, 99)}
        for name, (low, high) in limits.items():
            if not low <= getattr(self, name) <= high:
                raise BadSettingError.of(self, name, f"{low:g} to {high:g}")
