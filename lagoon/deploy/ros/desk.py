"""Requests from services and from the joystick on their way to the control thread, and the answers back.

What enters: requests from any thread, joystick messages, the controller once a step. What leaves: at most
one request a step, and for each service call whether it was granted and why not. Needs no ROS.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from lagoon.deploy.controller import NOTHING, Action, Controller, Event, Kind, Mode, Request

Answer = Callable[[bool, str], None]
"""Told once whether a request was granted, and a sentence."""
QUEUE = 8
"""Requests that may wait; a further one is refused."""


@dataclass(frozen=True)
class JoyConfig:
    """What the buttons of a joystick mean. Numbers are indices of sensor_msgs/Joy; -1 is no button."""

    stop_button: int = -1
    """Damping at once, latched."""
    deadman_button: int = -1
    """Must be held down to start a skill, and while one runs; released, the robot goes back to the stand."""
    timeout: float = 0.5
    """A joystick that is silent for longer counts as released [s]."""


class Desk:
    """The operator of a loop; see lagoon.deploy.loop.Operator."""

    def __init__(self, joy: JoyConfig | None = None) -> None:
        """Args: joy: the joystick's buttons; none by default."""
        self.joy = joy or JoyConfig()
        self._lock = threading.Lock()
        self._waiting: deque[tuple[Request, Answer]] = deque()
        self._asked: tuple[Request, Answer] | None = None
        self._refusal = ""
        self._stop_pressed = False
        self._held_until = -1.0
        self._fresh_joy: Sequence[int] | None = None
        self._told_to_stop = False
        self._closed = False

    def ask(self, request: Request, answer: Answer) -> None:
        """Hand a request in; may be called from any thread."""
        with self._lock:
            full = len(self._waiting) >= QUEUE and request.action is not Action.DAMP
            if not (full or self._closed):
                # Damping overtakes everything.
                put = self._waiting.appendleft if request.action is Action.DAMP else self._waiting.append
                put((request, answer))
                return
        answer(False, "The controller has stopped." if self._closed else "Too many requests are waiting.")

    def on_joy(self, buttons: Sequence[int]) -> None:
        """Take a joystick message; may be called from any thread."""
        with self._lock:
            self._fresh_joy = list(buttons)

    def close(self) -> None:
        """End the loop at its next step."""
        with self._lock:
            self._closed = True

    def tell(self, event: Event) -> None:
        """Hear the controller's events, between two calls."""
        if event.kind is Kind.REFUSED:
            self._refusal = event.text

    def __call__(self, controller: Controller, now: float) -> Request | None:
        """One step: answer what was asked last, then give the next request; None ends the loop."""
        self._answer(controller)
        with self._lock:
            if self._closed:
                return None
            stop = self._read_joy(now)
            held = self.joy.deadman_button < 0 or now <= self._held_until
            request, answer = self._waiting.popleft() if self._waiting and not stop else (NOTHING, None)
        if stop:
            return NOTHING if controller.mode is Mode.FAULT else Request(Action.DAMP)
        if request.action is Action.START and not held:
            assert answer is not None
            answer(False, "The dead-man button is not held; hold it, then start.")
            request, answer = NOTHING, None
        if controller.mode is not Mode.POLICY or held:
            self._told_to_stop = False
        elif request is NOTHING and not self._told_to_stop:
            self._told_to_stop = True
            return Request(Action.STOP)
        self._refusal = ""
        self._asked = None if answer is None else (request, answer)
        return request

    def _answer(self, controller: Controller) -> None:
        if self._asked is None:
            return
        request, answer = self._asked
        self._asked = None
        answer(not self._refusal, self._refusal or _granted(request, controller))

    def _read_joy(self, now: float) -> bool:
        """True while the stop button is down; notes until when the dead-man counts as held."""
        buttons = self._fresh_joy
        if buttons is None:
            return self._stop_pressed
        self._fresh_joy = None
        down = lambda index: 0 <= index < len(buttons) and bool(buttons[index])  # noqa: E731
        self._stop_pressed = down(self.joy.stop_button)
        self._held_until = now + self.joy.timeout if down(self.joy.deadman_button) else -1.0
        return self._stop_pressed

    def settle_accounts(self) -> None:
        """Answer whoever still waits, after the loop has ended."""
        with self._lock:
            self._closed = True
            waiting, self._waiting = list(self._waiting), deque()
        if self._asked is not None:
            waiting.append(self._asked)
            self._asked = None
        for _, answer in waiting:
            answer(False, "The controller has stopped.")


def _granted(request: Request, controller: Controller) -> str:
    if request.action is Action.START and controller.mode is not Mode.POLICY:
        return f"'{request.skill}' begins when the robot stands steadily."
    return f"The robot is in '{controller.mode.value}'."
