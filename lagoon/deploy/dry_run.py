"""What a dry run finds out: whether the robot is fit to stand up, and what it would then be sent.

What enters: states from a link that gets no commands, a controller's settings, bundles. What leaves: the targets
of a stand-up from where the robot lies, and those of each policy on the states of its bundle's golden ticks. A robot
that is sent nothing does not move, so the stand-up is computed over joints that follow at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from lagoon.bundle import PolicyBundle
from lagoon.deploy.controller import NOTHING, Action, Controller, Mode, Request
from lagoon.deploy.controller_config import ControllerConfig
from lagoon.deploy.loop import run_loop
from lagoon.deploy.transport.base import Array, MotorCommand, RobotState
from lagoon.robot import RobotSpec

LONGEST = 60.0
"""Time after which a stand-up has failed [s]."""
QUIVER = 1e-5
"""Noise of the imagined sensors [rad, rad/s]: a guard takes numbers that never change for frozen ones."""


class Look:
    """An operator that only looks: damping for some seconds, while it counts states."""

    def __init__(self, seconds: float) -> None:
        """Args: seconds: from its first call on [s]."""
        self._seconds, self._end = seconds, np.inf
        self._states: set[float] = set()
        self.state: RobotState | None = None
        """The newest one."""
        self.command: MotorCommand | None = None
        """What would be sent now."""
        self.lower: Array | None = None
        """(J,) smallest position seen [rad]."""
        self.upper: Array | None = None
        """(J,) largest position seen [rad]."""

    def __call__(self, controller: Controller, now: float) -> Request | None:
        """See Operator in loop.py."""
        if np.isinf(self._end):
            self._end = now + self._seconds
        return NOTHING if now < self._end else None

    def watch(self, state: RobotState | None, command: MotorCommand, now: float) -> None:
        """See Watcher in loop.py."""
        self.command = command
        if state is None or state.joint_pos.shape != command.joint_pos.shape:
            return
        self._states.add(state.time)
        self.state = state
        self.lower = np.fmin(state.joint_pos if self.lower is None else self.lower, state.joint_pos)
        self.upper = np.fmax(state.joint_pos if self.upper is None else self.upper, state.joint_pos)

    @property
    def rate(self) -> float:
        """States that arrived, each second [Hz]."""
        return len(self._states) / self._seconds


class Obedient:
    """An imagined robot: its trunk stays as it lies, its joints are at once where they are sent. See Transport."""

    is_real = False

    def __init__(self, robot: RobotSpec, state: RobotState) -> None:
        """Args: robot: which; state: measured, where it begins."""
        self.name, self.joint_names = "obedient", robot.joint_names
        self._time, self._pos, self._state = 0.0, state.joint_pos.copy(), state
        self._rng = np.random.default_rng(0)

    def now(self) -> float:
        """See Transport.now."""
        return self._time

    def sleep_until(self, deadline: float) -> None:
        """See Transport.sleep_until."""
        self._time = max(self._time, deadline)

    def read(self) -> RobotState | None:
        """See Transport.read."""
        noise, joints = self._rng.normal(scale=QUIVER, size=self._pos.shape), len(self._pos)
        return RobotState(
            time=self._time,
            joint_pos=self._pos + noise,
            joint_vel=np.zeros(joints),
            imu_quat=self._state.imu_quat,
            imu_ang_vel=np.zeros(3),
            battery=self._state.battery,
            motor_temperature=self._state.motor_temperature,
        )

    def write(self, command: MotorCommand) -> None:
        """See Transport.write."""
        if command.kp.any():
            self._pos = command.joint_pos.copy()

    def close(self) -> None:
        """See Transport.close."""


@dataclass(frozen=True)
class SkillTargets:
    """What a policy would ask for at the golden ticks of its bundle; arrays (J,) [rad]."""

    command: str
    lower: Array
    upper: Array
    ticks: int
    """Golden ticks that the policy was asked at."""


@dataclass(frozen=True)
class Plan:
    """What would be sent; arrays (J,) of targets [rad]."""

    first: Array
    """First target of the stand-up."""
    up_lower: Array
    up_upper: Array
    up_seconds: float
    """How long the stand-up takes if the joints follow [s]."""
    skills: tuple[SkillTargets, ...]
    """In the order of the bundles."""
    problem: str = ""
    """Why the stand-up would not be done even if every joint followed; empty if it would."""


class _UntilItStands:
    def __init__(self) -> None:
        self.asked, self.seconds = False, 0.0

    def __call__(self, controller: Controller, now: float) -> Request | None:
        self.seconds = now
        if controller.mode in (Mode.STAND, Mode.FAULT) or now > LONGEST:
            return None
        if self.asked or controller.mode is not Mode.DAMPING or controller.blocker is not None:
            return NOTHING
        self.asked = True
        return Request(Action.STAND_UP)


def plan(robot: RobotSpec, bundles: Sequence[PolicyBundle], config: ControllerConfig, state: RobotState) -> Plan:
    """Compute a stand-up from a measured state, and the targets of the skills.

    Args:
        robot: which.
        bundles: the skills.
        config: of movements and guards, as a run would use them.
        state: where the robot lies; fit to stand up.
    """
    controller, sent = Controller(robot, bundles, config), []
    operator = _UntilItStands()

    def keep(_: RobotState | None, command: MotorCommand, __: float) -> None:
        if command.kp.any():
            sent.append(command.joint_pos)

    run_loop(controller, Obedient(robot, state), operator, keep)
    targets = np.array(sent) if sent else state.joint_pos[None]
    problem = ""
    if controller.mode is not Mode.STAND:
        cause = controller.fault or controller.blocker
        problem = cause.text if cause else f"it was not done after {operator.seconds:.0f} s."
    return Plan(
        first=targets[0],
        up_lower=targets.min(axis=0),
        up_upper=targets.max(axis=0),
        up_seconds=operator.seconds,
        skills=tuple(map(_targets, bundles)),
        problem=problem,
    )


def _targets(bundle: PolicyBundle) -> SkillTargets:
    targets = np.clip(bundle.golden.outputs["joint_pos_target"], bundle.joint_lower, bundle.joint_upper)
    return SkillTargets(bundle.command, targets.min(axis=0), targets.max(axis=0), len(targets))
