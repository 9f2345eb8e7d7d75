"""Operators: one that wants one thing after another (stand up, each skill in turn, sit down), one that only rises.

What enters: the controller at every step. What leaves: the request that is next, or None when all is done,
when a guard has tripped, or when it takes too long.
"""

from __future__ import annotations

from collections.abc import Sequence

from lagoon.deploy.controller import NOTHING, Action, Controller, Mode, Request

READY_SECONDS = 5.0
"""How long a robot may need until it can stand up, for example for its first state [s]."""
SPARE_SECONDS = 30.0
"""Time for stand-up, settling and sit-down together, beyond the skills' own [s]."""
AFTER_SECONDS = 0.5
"""How long it watches after the end or a trip, to see damping take effect [s]."""


class SkillSequence:
    """See Operator in loop.py."""

    def __init__(self, skills: Sequence[str]) -> None:
        """Args: skills: their command texts, in order."""
        self._left = list(skills)
        self._asked_up = self._asked_down = False
        self._asked_for = ""
        self._begin: float | None = None
        self._end: float | None = None
        self.problem = ""
        """Why it ended early; empty when everything was done."""

    def __call__(self, controller: Controller, now: float) -> Request | None:
        """Return what to ask for at this step."""
        if self._begin is None:
            self._begin = now
            self._limit = now + SPARE_SECONDS + sum(_seconds(controller, skill) for skill in self._left)
        if self._end is not None:
            return NOTHING if now < self._end else None
        mode = controller.mode
        if mode is Mode.FAULT:
            self.problem = controller.fault.text if controller.fault else "fault"
            self._end = now + AFTER_SECONDS
        elif now > self._limit:
            self.problem = f"it was not done after {now - self._begin:.0f} s, still in '{mode.value}'"
            self._end = now
        elif mode is Mode.DAMPING:
            return self._from_the_floor(controller, now)
        elif mode is Mode.POLICY:
            self._asked_for = ""
        elif mode is Mode.STAND and controller.steady and not controller.is_waiting:
            if self._asked_for:
                self.problem, self._left = f"'{self._asked_for}' did not start", []
                self._asked_for = ""
            if self._left:
                self._asked_for = self._left.pop(0)
                return Request(Action.START, self._asked_for)
            if not self._asked_down:
                self._asked_down = True
                return Request(Action.SIT_DOWN)
        return NOTHING

    def _from_the_floor(self, controller: Controller, now: float) -> Request:
        assert self._begin is not None
        if self._asked_down:
            self._end = now + AFTER_SECONDS
        elif now > self._begin + READY_SECONDS:
            self.problem = controller.blocker.text if controller.blocker else "the robot did not stand up"
            self._end = now
        elif not self._asked_up and controller.blocker is None and now > self._begin:
            self._asked_up = True
            return Request(Action.STAND_UP)
        return NOTHING


class StandUpFor:
    """Asks a robot to stand up as soon as it can, and ends after some seconds; to time a loop."""

    def __init__(self, seconds: float) -> None:
        """Args: seconds: from its first call on [s]."""
        self._seconds = seconds
        self._end: float | None = None
        self.asked = False
        """True once the robot was fit to stand up."""

    def __call__(self, controller: Controller, now: float) -> Request | None:
        """See Operator in loop.py."""
        if self._end is None:
            self._end = now + self._seconds
            return NOTHING
        if now >= self._end:
            return None
        if self.asked or controller.mode is not Mode.DAMPING or controller.blocker is not None:
            return NOTHING
        self.asked = True
        return Request(Action.STAND_UP)


def _seconds(controller: Controller, skill: str) -> float:
    bundle = controller.runner(skill).bundle
    return bundle.num_steps * bundle.control_dt + 2.0 * controller.config.reach_patience
