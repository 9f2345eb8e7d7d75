"""The controller: one step takes a state, a request and the time, and returns a motor command.

What enters: what a transport read, what an operator asked for, the caller's time. What leaves: a motor
command, always, and events. It has no clock, no thread and no link of its own, so that the very same code
runs on a robot, behind ROS and in a test; the same calls give the same commands.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

import numpy as np

from lagoon.bundle import PolicyBundle, check_robot
from lagoon.deploy.controller.command_guard import CommandGuard
from lagoon.deploy.controller.envelope import UP, angle, up_b
from lagoon.deploy.controller.events import Event, Kind, Mode
from lagoon.deploy.controller.maneuvers import Posture, StandUp, folded_posture
from lagoon.deploy.controller.requests import NOTHING, Action, Request
from lagoon.deploy.controller.skill_run import SkillRun
from lagoon.deploy.controller.state_guard import StateGuard, Trip
from lagoon.deploy.controller_config import ControllerConfig
from lagoon.deploy.runtime import PolicyRunner
from lagoon.deploy.transport.base import MotorCommand, RobotState
from lagoon.errors import BadInputError
from lagoon.robot import RobotSpec

PASSIVE = (Mode.DAMPING, Mode.FAULT)
"""Modes in which no joint is held."""
MAX_EVENTS = 1000
"""Events kept until they are taken; older ones are dropped, the count goes on."""


class Controller:
    """Runs skills on one robot. Call ``step`` once every ``config.command_dt``, and send what it returns."""

    def __init__(
        self, robot: RobotSpec, bundles: Sequence[PolicyBundle], config: ControllerConfig | None = None
    ) -> None:
        """Load everything that will be needed; nothing is loaded later.

        Args:
            robot: which robot.
            bundles: loaded bundles, one for each skill; a skill is named by its command text.
            config: numbers of movements and guards.

        Raises:
            BadInputError: a bundle does not fit the robot, its gains are not the robot's kind, or two have one name.
        """
        self.robot, self.config = robot, config or ControllerConfig()
        self._runners = {bundle.command: PolicyRunner(bundle) for bundle in bundles}
        if len(self._runners) != len(bundles):
            raise BadInputError(
                f"Two bundles have the same command: {', '.join(sorted(b.command for b in bundles))}. "
                "Load each skill once."
            )
        for bundle in bundles:
            check_robot(bundle, robot)
            check_gains(bundle, robot, self.config.guards.gain_share)
        self._states = StateGuard(robot, self.config.guards)
        self._commands = CommandGuard(robot, self.config.guards)
        self.mode = Mode.DAMPING
        """What the robot is doing."""
        self.blocker: Trip | None = None
        """While damping: what stands in the way of standing up; None when nothing does."""
        self.fault: Trip | None = None
        """Why the robot is in FAULT."""
        self.skill = ""
        """Skill that runs, or the last one that ran."""
        self._activity: StandUp | Posture | SkillRun | None = None
        self._next: Request = NOTHING
        self._kp, self._kd = np.zeros(robot.num_joints), np.zeros(robot.num_joints)
        self._sent = MotorCommand.damping(robot.default_joint_pos, self.config.damping_kd)
        self._last_pos = robot.default_joint_pos
        self._last_now: float | None = None
        self._stand_since = 0.0
        self._events: deque[Event] = deque(maxlen=MAX_EVENTS)

    @property
    def skills(self) -> tuple[str, ...]:
        """Names of the loaded skills."""
        return tuple(self._runners)

    @property
    def phase(self) -> str:
        """Part of the mode: joint that is checked, stretch of the reference; empty where there is none."""
        return "" if self._activity is None else self._activity.phase

    @property
    def steady(self) -> bool:
        """True in a stand that has lasted long enough, with torques as expected, to start a skill."""
        if self.mode is not Mode.STAND or self._last_now is None or not self._commands.torque_fits:
            return False
        return self._last_now - self._stand_since >= self.config.steady_seconds

    @property
    def is_waiting(self) -> bool:
        """True while a request waits for the stand."""
        return self._next.action is not Action.NONE

    @property
    def progress(self) -> float:
        """Share of the running skill in [0, 1]; 0 in other modes."""
        run = self._activity
        return min(1.0, run.runner.tick / run.runner.bundle.num_steps) if isinstance(run, SkillRun) else 0.0

    @property
    def skill_run(self) -> SkillRun | None:
        """The running skill; None in other modes."""
        return self._activity if isinstance(self._activity, SkillRun) else None

    @property
    def limiter_steps(self) -> tuple[int, int]:
        """Steps so far in which (a torque, a target's speed) was limited."""
        return self._commands.projected_steps, self._commands.limited_steps

    def runner(self, skill: str) -> PolicyRunner:
        """The runner of a loaded skill, for its timing."""
        return self._runners[skill]

    def take_events(self) -> list[Event]:
        """Events since the last call, oldest first."""
        events = list(self._events)
        self._events.clear()
        return events

    def step(self, state: RobotState | None, request: Request, now: float) -> MotorCommand:
        """Take one step; never raises for what state, request or time hold.

        Args:
            state: newest state that has arrived, new or not; None before the first.
            request: what the operator asked for since the last step.
            now: the caller's time [s], monotonic.
        """
        trip = self._states.observe(state, now)
        if not np.isfinite(now):
            now = self._last_now or 0.0  # What follows is damping; its event needs a time.
        if self._last_now is None:
            self._tell_widened(now)
        if self._states.state is not None:
            self._last_pos = self._states.state.joint_pos
        dt = 0.0 if self._last_now is None else max(0.0, now - self._last_now)
        self._last_now = now
        if request.action is Action.DAMP:
            return self._trip(Trip("operator", "Damping was asked for."), now)
        if self.mode in PASSIVE:
            self.blocker = trip or self._not_ready(state)
        elif trip is not None:
            return self._trip(trip, now)
        self._handle(request, now)
        self._handle_waiting(now)
        # A link that has nothing for a moment leaves the last state in force until that is too old.
        usable = self._states.state if state is None else state
        if self.mode in PASSIVE or usable is None:
            return self._damping()
        return self._active(usable, now, dt)

    # Modes -------------------------------------------------------------------------------------------

    def _active(self, state: RobotState, now: float, dt: float) -> MotorCommand:
        # While a skill runs, its own envelope judges the tilt.
        trip = None if self.mode is Mode.POLICY else self._tilted(state)
        if trip is not None:
            return self._trip(trip, now)
        wanted = self.robot.default_joint_pos if self._activity is None else self._activity.step(state, now)
        if isinstance(wanted, Trip):
            return self._trip(wanted, now)
        self._turn_gains(dt)
        period = self.robot.control_dt
        command = self._commands.limit(wanted, self._kp, self._kd, state, now, period)
        if isinstance(command, Trip):
            return self._trip(command, now)
        if self.mode is Mode.STAND and now - self._stand_since > 0.5 * self.config.steady_seconds:
            trip = self._commands.compare_torque(self._sent, state, dt)
            if trip is not None:
                return self._trip(trip, now)
        self._sent = command
        self._advance(now)
        return self._sent

    def _tilted(self, state: RobotState) -> Trip | None:
        tilt, limit = angle(up_b(state.imu_quat), UP), self.config.guards.tilt_margin
        if tilt <= limit:
            return None
        text = f"The trunk is tilted by {tilt:.2f} rad in '{self.mode.value}'; the limit is {limit:g}."
        return Trip("tilt", text, {"error": tilt, "limit": limit})

    def _advance(self, now: float) -> None:
        """Go on to the next mode when the present one is done."""
        activity = self._activity
        if isinstance(activity, SkillRun):
            if activity.finished:
                self._settle(now, "has ended" if activity.runner.done else "was stopped")
        elif activity is not None and activity.done:
            if self.mode is Mode.SIT_DOWN:
                self._enter(Mode.DAMPING, now, "The robot lies.")
                self._damping()
            else:
                self._stand_since = now
                self._enter(Mode.STAND, now, "The robot stands.")

    def _settle(self, now: float, how: str) -> None:
        posture = Posture("settle", self._commands.target, self.robot.default_joint_pos, now, self.config)
        self._enter(Mode.SETTLE, now, f"'{self.skill}' {how}; back to the stand.", posture)

    def _turn_gains(self, dt: float) -> None:
        """Move the gains toward those of the mode, linearly within the blend time."""
        run, share = self._activity, min(1.0, dt / self.config.blend_seconds)
        owner = run.runner.bundle if isinstance(run, SkillRun) else self.robot
        most_kp, most_kd = np.maximum(owner.kp, self.robot.kp), np.maximum(owner.kd, self.robot.kd)
        self._kp = self._kp + np.clip(owner.kp - self._kp, -share * most_kp, share * most_kp)
        self._kd = self._kd + np.clip(owner.kd - self._kd, -share * most_kd, share * most_kd)

    def _damping(self) -> MotorCommand:
        self._kp, self._kd = np.zeros_like(self._kp), np.full_like(self._kd, self.config.damping_kd)
        self._sent = MotorCommand.damping(self._last_pos, self.config.damping_kd)
        return self._sent

    # Requests ----------------------------------------------------------------------------------------

    def _handle(self, request: Request, now: float) -> None:
        action, mode = request.action, self.mode
        if action is Action.NONE:
            return
        if action is Action.RESET:
            self._reset(now)
        elif mode is Mode.FAULT:
            reason = self.fault.text if self.fault else ""
            self._refuse(request, f"The robot is in fault ({reason}) Reset it first.", now)
        elif action is Action.STAND_UP:
            self._stand_up(request, now)
        elif action is Action.START and request.skill not in self._runners:
            known = ", ".join(self._runners) or "none"
            self._refuse(request, f"The skill '{request.skill}' is not loaded. Loaded: {known}.", now)
        elif mode in (Mode.DAMPING, Mode.SIT_DOWN, Mode.STAND_UP):
            self._refuse(request, f"The robot does not stand, it is in '{mode.value}'. Let it stand up first.", now)
        elif action is Action.STOP and not isinstance(self._activity, SkillRun):
            self._refuse(request, "No skill is running.", now)
        else:
            self._next = request if action is not Action.STOP else NOTHING
            if isinstance(self._activity, SkillRun) and action is not Action.START:
                self._stop(self._activity, now)

    def _handle_waiting(self, now: float) -> None:
        """Begin what waits for the stand."""
        if self.mode is not Mode.STAND or self._next.action is Action.NONE:
            return
        waiting = self._next
        if waiting.action is Action.SIT_DOWN:
            self._next = NOTHING
            posture = Posture("sit", self._commands.target, folded_posture(self.robot), now, self.config)
            self._enter(Mode.SIT_DOWN, now, "The robot sits down.", posture)
        elif self.steady:
            self._next = NOTHING
            weak = self._too_weak(self._states.state)
            if weak is not None:
                self._refuse(waiting, weak.text, now)
                return
            self.skill = waiting.skill
            run = SkillRun(self._runners[waiting.skill], self._commands.target, now, self.config)
            self._enter(Mode.POLICY, now, f"'{self.skill}' begins.", run)

    def _stand_up(self, request: Request, now: float) -> None:
        if self.mode is not Mode.DAMPING:
            self._refuse(request, f"The robot is in '{self.mode.value}' already.", now)
        elif self.blocker is not None:
            self._refuse(request, self.blocker.text, now)
        else:
            start = np.clip(self._last_pos, self.robot.joint_lower, self.robot.joint_upper)
            self._commands.restart(start, now)
            self._kp, self._kd = np.zeros_like(self._kp), np.full_like(self._kd, self.config.damping_kd)
            self._next = NOTHING
            self._enter(Mode.STAND_UP, now, "The robot stands up.", StandUp(self.robot, start, now, self.config))

    def _stop(self, run: SkillRun, now: float) -> None:
        run.stopping = True
        if not run.finished:
            tilt = run.envelope.tilt(run.runner.tick)
            text = f"'{self.skill}' goes on until it is near level; its reference is tilted by {tilt:.1f} rad now."
            self._tell(Kind.WARNING, text, now, values={"tilt": tilt})

    def _reset(self, now: float) -> None:
        if self.mode is not Mode.FAULT:
            self._refuse(Request(Action.RESET), "There is no fault to reset.", now)
        elif self._states_complain():
            assert self.blocker is not None
            self._refuse(Request(Action.RESET), f"The cause is still there: {self.blocker.text}", now)
        else:
            self.fault = None
            self._enter(Mode.DAMPING, now, "The fault was reset.")

    def _states_complain(self) -> bool:
        return self.blocker is not None and self.blocker.guard not in ("tilt", "battery", "temperature")

    def _not_ready(self, state: RobotState | None) -> Trip | None:
        """Why a robot whose state is sound should not stand up."""
        if state is None:
            return Trip("stale", "No state has arrived from the robot yet.")
        tilt, limit = angle(up_b(state.imu_quat), UP), self.config.guards.start_tilt
        if tilt > limit:
            text = f"The robot lies tilted by {tilt:.2f} rad; it can stand up below {limit:g}. Put it on its belly."
            return Trip("tilt", text, {"error": tilt, "limit": limit})
        return self._too_weak(state)

    def _too_weak(self, state: RobotState | None) -> Trip | None:
        guards = self.config.guards
        if state is not None and state.battery is not None and state.battery < guards.battery_start:
            text = f"The battery is at {100 * state.battery:.0f} %; a start needs {100 * guards.battery_start:.0f} %."
            return Trip("battery", text, {"value": state.battery, "limit": guards.battery_start})
        if state is not None and state.motor_temperature is not None:
            j = int(np.argmax(state.motor_temperature))
            hottest, limit = float(state.motor_temperature[j]), guards.temperature_start
            if hottest > limit:
                name = self.robot.joint_names[j]
                text = f"The motor of {name} has {hottest:.0f} deg C; a start needs {limit:.0f} or less."
                return Trip("temperature", text, {"joint": name, "value": hottest, "limit": limit})
        return None

    # Events ------------------------------------------------------------------------------------------

    def _trip(self, trip: Trip, now: float) -> MotorCommand:
        """Damping, latched; the first reason is kept."""
        if self.mode is not Mode.FAULT:
            before = self.phase or self.mode.value
            self.fault = self.blocker = trip
            self.mode, self._activity, self._next = Mode.FAULT, None, NOTHING
            values = {**trip.values, "during": before, "skill": self.skill}
            self._tell(Kind.TRIP, f"{trip.text} The robot is in damping until it is reset.", now, trip.guard, values)
        return self._damping()

    def _enter(self, mode: Mode, now: float, text: str, activity: StandUp | Posture | SkillRun | None = None) -> None:
        self.mode, self._activity = mode, activity
        self._tell(Kind.MODE, text, now)

    def _refuse(self, request: Request, reason: str, now: float) -> None:
        what = request.action.value
        self._tell(Kind.REFUSED, f"'{what}' was refused. {reason}", now, values={"action": what})

    def _tell(
        self, kind: Kind, text: str, now: float, guard: str = "", values: dict[str, object] | None = None
    ) -> None:
        self._events.append(Event(now, kind, self.mode, text, guard, values or {}))

    def _tell_widened(self, now: float) -> None:
        for name, (value, default) in self.config.guards.widened().items():
            text = f"The guard number {name} is {value:g}, wider than its default {default:g}."
            self._tell(Kind.WARNING, text, now, name, {"value": value, "default": default})


def check_gains(bundle: PolicyBundle, robot: RobotSpec, share: float) -> None:
    """Refuse a bundle whose gains are far from the robot's own.

    Raises:
        BadInputError: a gain is above ``share`` times the robot's, or below its inverse.
    """
    for name in ("kp", "kd"):
        have, own = getattr(bundle, name), getattr(robot, name)
        for j in np.flatnonzero((have > share * own) | (have * share < own)):
            raise BadInputError(
                f"The bundle's {name} of {bundle.joint_names[j]} is {have[j]:g}; the robot's own is {own[j]:g}, and a "
                f"factor of {share:g} either way is allowed. Check the gains in assets/robots/{robot.name}/robot.yaml "
                "and export again with: lagoon export SKILL --again"
            )
