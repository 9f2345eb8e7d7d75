"""One run of one skill: the policy at its own rate, its envelope, its end.

What enters: states and times at the rate of the motor commands. What leaves: joint targets, held between
ticks of the policy, or a Trip.
"""

from __future__ import annotations

from collections import deque

import numpy as np

from lagoon.deploy.controller.envelope import Envelope, up_b
from lagoon.deploy.controller.state_guard import Trip
from lagoon.deploy.controller_config import ControllerConfig
from lagoon.deploy.runtime import BadPolicyOutputError, BadSensorError, PolicyRunner
from lagoon.deploy.transport.base import Array, RobotState

LATE_WINDOW = 50
"""Policy ticks over which late ones are counted: one second at 50 Hz."""
LEVEL = 0.3
"""Tilt up to which a skill may be left for the stand [rad]; as evaluation judges the last pose."""


class SkillRun:
    """From the first tick of a skill to its last."""

    def __init__(self, runner: PolicyRunner, start: Array, now: float, config: ControllerConfig) -> None:
        """Args: runner: reset here; start: (J,) the stand's target [rad]; now: time of the first tick [s]."""
        runner.reset()
        self.runner, self.envelope = runner, Envelope(runner.bundle)
        self._config, self._start, self._target = config, start, start
        self._due = self._begin = now
        self._late: deque[bool] = deque(maxlen=LATE_WINDOW)
        self.stopping = False
        """True once a stop was asked for; the run goes on until it may be left."""

    @property
    def phase(self) -> str:
        """Which stretch of the reference is being played."""
        return self.runner.segment

    @property
    def finished(self) -> bool:
        """True once the reference is over, or where a stop that was asked for can be granted."""
        runner = self.runner
        return runner.done or (self.stopping and self.envelope.tilt(runner.tick) <= LEVEL)

    def step(self, state: RobotState, now: float) -> Array | Trip:
        """Target (J,) for this step [rad]; the policy runs when it is due, and missed ticks are not made up for."""
        c, guards = self._config, self._config.guards
        dt = self.runner.bundle.control_dt
        error = self.envelope.error(self.runner.tick, up_b(state.imu_quat))
        if error > guards.tilt_margin:
            return Trip(
                "tilt",
                f"Gravity is {error:.2f} rad off the reference's direction in '{self.phase}'; the limit is "
                f"{guards.tilt_margin:g}.",
                {"error": error, "limit": guards.tilt_margin, "tick": self.runner.tick},
            )
        if now >= self._due - 0.5 * c.command_dt:
            trip = self._tick(state, now, dt)
            if trip is not None:
                return trip
        blend = min(1.0, (now - self._begin) / c.blend_seconds)
        return self._start + blend * (self._target - self._start)

    def _tick(self, state: RobotState, now: float, dt: float) -> Trip | None:
        guards, runner = self._config.guards, self.runner
        self._late.append(now - self._due > 0.5 * dt)
        self._due = now + dt if self._late[-1] else self._due + dt
        if len(self._late) == LATE_WINDOW and np.mean(self._late) > guards.late_share:
            return Trip(
                "overrun",
                f"{sum(self._late)} of the last {LATE_WINDOW} policy ticks were late by more than half a period.",
                {"late": sum(self._late), "of": LATE_WINDOW},
            )
        try:
            self._target = runner.step(state.joint_pos, state.joint_vel, state.imu_quat, state.imu_ang_vel)
        except (BadPolicyOutputError, BadSensorError) as error:
            return Trip("bad_output", str(error), {"tick": runner.tick})
        bundle, wanted = runner.bundle, runner.unclipped[0]
        excess = np.maximum(bundle.joint_lower - wanted, wanted - bundle.joint_upper)
        j = int(excess.argmax())
        if excess[j] > guards.target_excess:
            return Trip(
                "bad_output",
                f"The policy aims {bundle.joint_names[j]} at {wanted[j]:.2f} rad, {excess[j]:.2f} beyond its limit; "
                f"{guards.target_excess:g} is allowed.",
                {"joint": bundle.joint_names[j], "value": float(wanted[j]), "limit": guards.target_excess},
            )
        return None
