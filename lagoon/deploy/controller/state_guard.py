"""Judges what the robot reports: age, clocks, numbers, limits, battery, heat, and who else commands it.

What enters: a state and the caller's time, once per step. What leaves: a Trip, or None. It remembers
only what it needs to compare with; it never looks at a clock of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from lagoon.deploy.controller_config import GuardConfig
from lagoon.deploy.runtime import NORM_TOLERANCE
from lagoon.deploy.transport.base import MEASURED, Array, RobotState
from lagoon.robot import RobotSpec

SAMPLES = 3
"""New states in a row that must agree before a noisy number counts."""
CLOCK_DRIFT = 2e-4
"""Two quartz clocks differ by at most this [s/s]: 100 ppm each."""


@dataclass(frozen=True)
class Trip:
    """Why a guard tripped."""

    guard: str
    text: str
    """One sentence with the measured value and the limit."""
    values: Mapping[str, Any] = field(default_factory=dict)
    """The same as plain data."""


class StateGuard:
    """Everything that can be wrong with a state."""

    def __init__(self, robot: RobotSpec, config: GuardConfig) -> None:
        """Args: robot: limits; config: numbers."""
        self.robot, self.config = robot, config
        self._lower = robot.joint_lower - config.joint_pos_margin
        self._upper = robot.joint_upper + config.joint_pos_margin
        self._speed = robot.joint_vel_limit * config.joint_vel_share
        self._now: float | None = None
        self.forget()

    def forget(self) -> None:
        """Start comparing afresh: at the start, and after one of the two clocks has jumped."""
        self._state: RobotState | None = None
        self._received = self._changed = 0.0
        self._waiting_since: float | None = None
        self._offset = np.inf
        self._counts: dict[str, tuple[int, float | None]] = {}

    @property
    def state(self) -> RobotState | None:
        """The last state whose numbers could be used."""
        return self._state

    def observe(self, state: RobotState | None, now: float) -> Trip | None:
        """Judge one step.

        Args:
            state: the newest one that has arrived, new or not.
            now: the caller's time [s].
        """
        last, self._now = self._now, now
        if not np.isfinite(now):
            self._now = last
            return Trip("clock", f"The caller's time is {now}.", {"now": str(now)})
        if last is not None and now < last:
            self.forget()
            return Trip("clock", f"The caller's time went back by {last - now:.3f} s.", {"back_s": last - now})
        gap = 0.0 if last is None else now - last
        if gap > self.config.step_gap:
            return Trip(
                "overrun",
                f"{1e3 * gap:.0f} ms passed between two steps; the limit is {1e3 * self.config.step_gap:.0f} ms.",
                {"gap_s": gap, "limit_s": self.config.step_gap},
            )
        if state is None:
            return self._missing(now)
        try:
            trip = self._numbers(state)
        except (TypeError, ValueError, AttributeError, OverflowError) as error:  # Whatever a field may hold.
            trip = Trip("bad_state", f"A field of the state cannot be read: {error}.", {"error": str(error)})
        return trip or self._timing(state, now) or self._limits(state)

    def _missing(self, now: float) -> Trip | None:
        if self._waiting_since is None:
            self._waiting_since = now
        age = now - (self._waiting_since if self._state is None else self._received)
        if age <= self.config.state_timeout:
            return None
        text = f"No state has arrived from the robot for {1e3 * age:.0f} ms."
        return Trip("stale", text, {"age_s": age, "limit_s": self.config.state_timeout})

    def _numbers(self, state: RobotState) -> Trip | None:
        """Shapes and finiteness; nothing else may be computed from a state before this."""
        joints = self.robot.num_joints
        wanted: dict[str, int] = dict(zip(MEASURED, (joints, joints, 4, 3), strict=True))
        for name in ("joint_torque", "motor_temperature"):
            if getattr(state, name) is not None:
                wanted[name] = joints
        for name, size in wanted.items():
            array = np.asarray(getattr(state, name))
            if array.shape != (size,) or array.dtype.kind not in "fiu":
                return Trip("bad_state", f"{name} has shape {array.shape}; expected ({size},).", {"field": name})
            if not np.isfinite(array).all():
                index = int(np.flatnonzero(~np.isfinite(array))[0])
                where = self.robot.joint_names[index] if size == joints else f"component {index}"
                return Trip("bad_state", f"{name} holds {array[index]} at {where}.", {"field": name, "at": where})
        for name in ("time", "battery"):
            value = getattr(state, name)
            if name == "battery" and value is None:
                continue
            if not isinstance(value, (int, float, np.number)) or not np.isfinite(value):
                return Trip("bad_state", f"{name} is {value}.", {"field": name})
        if not all(isinstance(who, str) for who in state.other_publishers):
            raise TypeError("other_publishers holds what is no name")
        norm = float(np.linalg.norm(np.clip(state.imu_quat, -100.0, 100.0)))  # Clipped, so that it stays a number.
        if abs(norm - 1.0) > NORM_TOLERANCE:
            return Trip("bad_state", f"imu_quat has norm {norm:.3f}; expected 1.", {"field": "imu_quat", "norm": norm})
        return None

    def _timing(self, state: RobotState, now: float) -> Trip | None:
        c, last = self.config, self._state
        if last is None:
            self._state, self._received, self._changed = state, now, now
            self._offset = now - state.time
            return None
        if state.time == last.time:
            age = now - self._received
            if age > c.state_timeout:
                return Trip(
                    "stale",
                    f"The newest state is {1e3 * age:.0f} ms old; the limit is {1e3 * c.state_timeout:.0f} ms.",
                    {"age_s": age, "limit_s": c.state_timeout},
                )
            return None
        step, waited = state.time - last.time, now - self._received
        if step < 0.0 or abs(step - waited) > c.clock_jump:
            self.forget()
            way = f"went back by {-step:.3f} s" if step < 0.0 else f"moved by {step:.3f} s in {waited:.3f} s"
            return Trip("clock", f"The robot's clock {way}.", {"step_s": step, "waited_s": waited})
        frozen = all(np.array_equal(getattr(state, name), getattr(last, name)) for name in MEASURED)
        self._state, self._received = state, now
        if not frozen:
            self._changed = now
        elif now - self._changed > c.frozen_time:
            return Trip(
                "frozen",
                f"For {1e3 * (now - self._changed):.0f} ms every new state has held exactly the same numbers.",
                {"seconds": now - self._changed, "limit_s": c.frozen_time},
            )
        # The fastest message seen says how far the clocks are apart; slower ones are late by the difference.
        self._offset = min(self._offset + CLOCK_DRIFT * max(step, 0.0), now - state.time)
        late = now - state.time - self._offset
        if late > c.state_timeout:
            return Trip(
                "stale",
                f"States arrive {1e3 * late:.0f} ms later than the fastest one did; the limit is "
                f"{1e3 * c.state_timeout:.0f} ms.",
                {"late_s": late, "limit_s": c.state_timeout},
            )
        return None

    def _limits(self, state: RobotState) -> Trip | None:
        if len(state.other_publishers):
            names = ", ".join(state.other_publishers)
            return Trip(
                "other_publisher", f"Someone else commands the motors: {names}.", {"who": list(state.other_publishers)}
            )
        names, c = self.robot.joint_names, self.config
        outside = np.maximum(self._lower - state.joint_pos, state.joint_pos - self._upper)
        j = self._worst("joint_position", state, outside)
        if j is not None:
            return Trip(
                "joint_position",
                f"{names[j]} is at {state.joint_pos[j]:.3f} rad, {outside[j] + c.joint_pos_margin:.2f} past a stop.",
                {"joint": names[j], "value": float(state.joint_pos[j]), "margin": c.joint_pos_margin},
            )
        j = self._worst("joint_velocity", state, np.abs(state.joint_vel) - self._speed)
        if j is not None:
            return Trip(
                "joint_velocity",
                f"{names[j]} moves at {state.joint_vel[j]:.1f} rad/s; the limit is {self._speed[j]:.1f}.",
                {"joint": names[j], "value": float(state.joint_vel[j]), "limit": float(self._speed[j])},
            )
        if state.motor_temperature is not None:
            j = self._worst("temperature", state, state.motor_temperature - c.temperature_trip)
            if j is not None:
                return Trip(
                    "temperature",
                    f"The motor of {names[j]} has {state.motor_temperature[j]:.0f} deg C; the limit is "
                    f"{c.temperature_trip:.0f}.",
                    {"joint": names[j], "value": float(state.motor_temperature[j]), "limit": c.temperature_trip},
                )
        low = (
            None if state.battery is None else self._worst("battery", state, np.array([c.battery_trip - state.battery]))
        )
        if low is not None:
            return Trip(
                "battery",
                f"The battery is at {100 * (state.battery or 0.0):.0f} %; the limit is {100 * c.battery_trip:.0f} %.",
                {"value": state.battery, "limit": c.battery_trip},
            )
        return None

    def _worst(self, name: str, state: RobotState, beyond: Array) -> int | None:
        """Index of the largest entry above zero, once that has been so in enough new states in a row."""
        worst = int(np.argmax(beyond))
        count, stamp = self._counts.get(name, (0, None))
        if beyond[worst] <= 0.0:
            self._counts[name] = (0, state.time)
            return None
        count += state.time != stamp
        self._counts[name] = (count, state.time)
        return worst if count >= SAMPLES else None
