"""How the controller and its loop are doing, as one diagnostic_msgs/DiagnosticArray.

What enters: what the loop tells after every step. What leaves: a message with a level, a sentence and
numbers: mode, fault, period of the loop, age of the state.
"""

# pyright: reportMissingImports=false
# ROS has an environment of its own; see the Makefile.
from __future__ import annotations

from collections import deque

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue

from lagoon.deploy.controller import Controller, Mode
from lagoon.deploy.transport.base import MotorCommand, RobotState

WINDOW = 400
"""Steps over which the period is told: two seconds at 200 Hz."""


class LoopMeter:
    """Watches a loop; see lagoon.deploy.loop.Watcher."""

    def __init__(self) -> None:
        """Begin with an empty window."""
        self._periods: deque[float] = deque(maxlen=WINDOW)
        self._last: float | None = None
        self._stamp: float | None = None
        self._arrived = 0.0
        self.age = float("nan")
        """Time since the newest state came in [s]."""
        self.steps = 0

    def __call__(self, state: RobotState | None, command: MotorCommand, now: float) -> None:
        """Note one step."""
        if self._last is not None:
            self._periods.append(now - self._last)
        if state is not None and state.time != self._stamp:
            self._stamp, self._arrived = state.time, now
        self._last, self.steps = now, self.steps + 1
        self.age = now - self._arrived if self._stamp is not None else float("nan")

    def periods_ms(self) -> dict[str, float]:
        """Quantiles of the time between steps [ms]; empty before the second one."""
        values = 1e3 * np.array(self._periods)
        return {f"p{q}": float(np.percentile(values, q)) for q in (50, 99, 100)} if len(values) else {}


def report(controller: Controller | None, meter: LoopMeter, hardware: str, active: bool) -> DiagnosticArray:
    """Return the message; its header is left to the sender."""
    status = DiagnosticStatus(name="lagoon_policy: controller", hardware_id=hardware)
    if controller is None or not active:
        status.level, status.message = DiagnosticStatus.STALE, "not active"
        return DiagnosticArray(status=[status])
    values: dict[str, object] = {
        "mode": controller.mode.value,
        "skill": controller.skill,
        "phase": controller.phase,
        "progress": f"{controller.progress:.2f}",
        "steps": meter.steps,
        "state age [ms]": f"{1e3 * meter.age:.1f}",
        "torque-limited steps": controller.limiter_steps[0],
        "speed-limited steps": controller.limiter_steps[1],
    }
    values |= {f"period {name} [ms]": f"{value:.2f}" for name, value in meter.periods_ms().items()}
    if controller.mode is Mode.FAULT:
        fault = controller.fault
        status.level = DiagnosticStatus.ERROR
        status.message = "fault" if fault is None else f"{fault.guard}: {fault.text}"
    elif controller.mode is Mode.DAMPING and controller.blocker is not None:
        status.level, status.message = DiagnosticStatus.WARN, f"cannot stand up: {controller.blocker.text}"
    else:
        status.level, status.message = DiagnosticStatus.OK, controller.mode.value
    status.values = [KeyValue(key=key, value=str(value)) for key, value in values.items()]
    return DiagnosticArray(status=[status])
