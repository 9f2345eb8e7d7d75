"""Numbers of the controller and of its guards. Plain data.

What enters: values from configs/deploy/. What leaves: frozen dataclasses. A guard has no switch: each
number has a default and a ceiling, may be narrowed freely, and is told as a warning when it is widened.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, fields
from typing import Any

from lagoon.errors import BadSettingError


def _bound(default: float, ceiling: float) -> Any:
    """A number of a guard: its default, and the furthest value it may be widened to."""
    return field(default=default, metadata={"ceiling": ceiling})


def _is_largest(item: Any) -> bool:
    """True for a number that is a largest value; those of the battery are smallest ones."""
    return item.metadata["ceiling"] >= item.default


def _wider(item: Any, value: Any, than: Any) -> bool:
    """True if a guard's number is wider than another value of it."""
    return value > than if _is_largest(item) else value < than


@dataclass(frozen=True)
class GuardConfig:
    """When the controller gives up and goes to damping. docs/deploy.md has one row for each guard."""

    state_timeout: float = _bound(0.05, 0.2)
    """Oldest usable state [s]; ten periods of 200 Hz, two and a half of the policy."""
    frozen_time: float = _bound(0.05, 0.2)
    """Longest time in which new stamps may carry exactly the same numbers [s]; a live gyro never repeats itself."""
    clock_jump: float = _bound(0.1, 0.5)
    """Largest difference between the steps of the robot's clock and the caller's [s]; twice the oldest state."""
    tilt_margin: float = _bound(0.6, 1.0)
    """Angle between measured and expected gravity direction [rad]; 1.0 is what evaluation calls a fall."""
    start_tilt: float = _bound(0.5, 0.8)
    """Largest tilt of a lying robot that may stand up [rad]; beyond it a robot lies on its side."""
    joint_pos_margin: float = _bound(0.1, 0.3)
    """How far beyond its stop a joint may be measured [rad]; ten times the encoder offset of evaluation."""
    joint_vel_share: float = _bound(1.2, 2.0)
    """Measured joint speed over the motor's limit; a fifth for the noise of a differentiated encoder."""
    torque_share: float = _bound(1.0, 1.0)
    """Share of the motor's torque limit that a command may ask for; it cannot be widened."""
    torque_patience: float = _bound(1.0, 3.0)
    """Longest time that one joint may ask for more than its limit without a pause [s]: it is blocked, or wrong."""
    target_speed_share: float = _bound(1.0, 1.5)
    """Largest speed of a target over the joint's own limit; a faster target cannot be followed anyway."""
    target_speed_patience: float = _bound(0.1, 0.5)
    """Longest time that targets may ask for twice that speed and more [s]; five ticks of the policy."""
    target_excess: float = _bound(2.0, 3.0)
    """How far beyond a joint limit the policy may aim [rad]; training allows 1.6 (action clip 4 x scale 0.4)."""
    step_gap: float = _bound(0.04, 0.1)
    """Longest time between two steps of the controller [s]; two periods of the policy."""
    late_share: float = _bound(0.2, 0.5)
    """Largest share of late policy ticks in the last 50; late is half a period or more."""
    torque_mismatch: float = _bound(0.3, 0.6)
    """Difference between reported and expected torque in the stand, over the expected; motors differ by 15 %."""
    gain_share: float = _bound(2.0, 4.0)
    """Largest gain of a bundle over the robot's own; training varies them by 15 %."""
    battery_trip: float = _bound(0.1, 0.03)
    """State of charge below which the robot gives up [-]; chosen: a sagging battery cannot hold a stand."""
    battery_start: float = _bound(0.2, 0.1)
    """State of charge needed to stand up or to start a skill [-]; chosen, twice the other."""
    temperature_trip: float = _bound(80.0, 95.0)
    """Motor temperature above which the robot gives up [deg C]; chosen, the maker publishes no number."""
    temperature_start: float = _bound(65.0, 80.0)
    """Motor temperature above which no skill starts [deg C]; chosen, 15 below the other."""

    def __post_init__(self) -> None:
        """Check every number.

        Raises:
            BadInputError: not a positive, finite number, or beyond what a guard may be widened to.
        """
        for item in fields(self):
            value, ceiling = getattr(self, item.name), item.metadata["ceiling"]
            if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
                raise BadSettingError.of(self, item.name, "a finite number; a guard has no 'off'")
            if value <= 0 or _wider(item, value, ceiling):
                side = "more than 0 and at most" if _is_largest(item) else "at least"
                raise BadSettingError.of(
                    self, item.name, f"{side} {ceiling:g} (default {item.default:g}); a guard has no 'off'"
                )

    def widened(self) -> dict[str, tuple[float, float]]:
        """Names of the numbers that are wider than their defaults, with (value, default)."""
        found = {}
        for item in fields(self):
            value, default = getattr(self, item.name), item.default
            if _wider(item, value, default):
                found[item.name] = (value, default)
        return found


@dataclass(frozen=True)
class ControllerConfig:
    """How the robot moves outside its skills."""

    command_dt: float = 0.005
    """Period at which the controller is stepped and the motors get a command [s]."""
    damping_kd: float = 5.0
    """Damping gain of the damping mode [Nm s/rad]; public Go2 controllers use 3 to 8."""
    speed: float = 1.5
    """Largest mean joint speed of stand-up, settling and sit-down [rad/s]; slow enough to step back from."""
    min_seconds: float = 1.2
    """Shortest time of one such movement [s]."""
    wiggle: float = 0.15
    """Amplitude by which each joint in turn is moved before the robot stands up [rad]."""
    wiggle_seconds: float = 0.3
    """Time for one joint [s]; twelve of them show which motor answers to which name."""
    wiggle_answer: float = 0.25
    """Share of the amplitude that the joint must answer with, and clearly more than any other; on the floor,
    under the robot's own weight, 0.4 to 0.8 were seen, and 0.35 of joints that only came along."""
    blend_seconds: float = 0.2
    """Time over which gains and targets pass from one owner to the next [s]."""
    reach_error: float = 0.2
    """A posture is reached when the mean joint error is below this [rad]; as evaluation judges the last pose."""
    reach_speed: float = 1.0
    """... and the mean joint speed below this [rad/s]: three times the noise of a differentiated encoder."""
    reach_patience: float = 2.0
    """Time to reach a posture after its movement has ended, before it counts as failed [s]."""
    steady_seconds: float = 1.0
    """Time in the stand, with torques as expected, before a skill may start [s]."""
    guards: GuardConfig = field(default_factory=GuardConfig)
    """When to give up."""

    def __post_init__(self) -> None:
        """Check every number.

        Raises:
            BadInputError: a value is not a positive number, or the periods cannot work.
        """
        for item in fields(self):
            value = getattr(self, item.name)
            if item.name != "guards" and not (isinstance(value, (int, float)) and 0 < value < math.inf):
                raise BadSettingError.of(self, item.name, "a number above 0")
        for name, low, high in (("command_dt", 0.001, 0.02), ("damping_kd", 1.0, 10.0), ("speed", 0.2, 4.0)):
            if not low <= getattr(self, name) <= high:
                raise BadSettingError.of(self, name, f"{low:g} to {high:g}")
