"""Steps a controller over a link, once every period, with absolute deadlines.

What enters: a controller, a transport, and an operator that is asked for a request at every step. What
leaves: a LoopReport. However the loop ends, by its operator, an error or Ctrl-C, the last thing it sends
is damping. A missed step is not made up for.
"""

from __future__ import annotations

import gc
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from lagoon.deploy.controller import Action, Controller, Event, Request
from lagoon.deploy.transport.base import HasStopButton, MotorCommand, RobotState, Transport, check_joint_order

REMEMBERED = 120_000
"""Steps whose times are reported, the last ten minutes at 200 Hz; a loop may run for hours."""
FAREWELLS = 5
"""Damping commands sent at the end, since one may be lost."""
EDGES_MS = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0)
"""Upper edges of the lateness histogram [ms]; a last bin is open."""

Operator = Callable[[Controller, float], Request | None]
"""Asked once a step with the controller and the time; None ends the loop. The first call tells when it begins."""
Watcher = Callable[[RobotState | None, MotorCommand, float], None]
"""Told every state and command, for logs and pictures; must be quick."""


@dataclass
class LoopReport:
    """How a loop kept its time, and what the controller told."""

    period: float = 0.0
    """[s]"""
    steps: int = 0
    skipped: int = 0
    """Deadlines that passed without a step."""
    overruns: int = 0
    """Steps whose own work took longer than the period."""
    seconds: float = 0.0
    """On the transport's clock [s]."""
    wall_seconds: float = 0.0
    cpu_share: float = 0.0
    """CPU time of this process over wall time [-]."""
    lateness_ms: dict[str, float] = field(default_factory=dict)
    """Start of a step after its deadline: p50, p99, p99.9, max [ms]."""
    work_ms: dict[str, float] = field(default_factory=dict)
    """From reading to having sent: p50, p99, p99.9, max [ms]."""
    histogram: dict[str, int] = field(default_factory=dict)
    """Steps by lateness; keys are upper edges in ms."""
    events: list[Event] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        return {**asdict(self), "events": [event.to_dict() for event in self.events]}


def run_loop(
    controller: Controller,
    transport: Transport,
    operator: Operator,
    watch: Watcher | None = None,
    tell: Callable[[Event], object] | None = None,
    dry_run: bool = False,
    report: LoopReport | None = None,
) -> LoopReport:
    """Run until the operator returns None.

    Args:
        controller: stepped with the transport's clock.
        transport: open; it is closed at the end.
        operator: gives the requests.
        watch: told every state and command.
        tell: told every event at once.
        dry_run: read and compute, send nothing, not even damping.
        report: filled in and returned; with one of your own it is there after an error too.

    Raises:
        BadInputError: the transport's joints are not the robot's.
    """
    check_joint_order(transport, controller.robot.joint_names)
    period = controller.config.command_dt
    stop = transport if isinstance(transport, HasStopButton) else None
    report = report or LoopReport()
    report.period = period
    late, work = deque[float](maxlen=REMEMBERED), deque[float](maxlen=REMEMBERED)
    # The collector would stop the loop for milliseconds, and nothing here makes cycles.
    collected = gc.isenabled()
    gc.collect()
    gc.disable()
    start = deadline = transport.now()
    wall, cpu = time.perf_counter(), time.process_time()
    try:
        while True:
            begin, now = time.perf_counter(), transport.now()
            request = operator(controller, now)
            if request is None:
                break
            if stop is not None and stop.stop_pressed:
                request = Request(Action.DAMP)
            late.append(max(0.0, now - deadline))
            state = transport.read()
            command = controller.step(state, request, now)
            if not dry_run:
                transport.write(command)
            work.append(time.perf_counter() - begin)
            report.steps += 1
            report.overruns += work[-1] > period
            for event in controller.take_events():
                report.events.append(event)
                if tell is not None:
                    tell(event)
            if watch is not None:
                watch(state, command, now)
            deadline += period
            missed = int((transport.now() - deadline) / period)
            if missed > 0:
                report.skipped += missed
                deadline += missed * period
            transport.sleep_until(deadline)
    finally:
        # Damping first: counting comes when the robot does not wait for it.
        report.seconds = transport.now() - start
        report.wall_seconds = time.perf_counter() - wall
        report.cpu_share = (time.process_time() - cpu) / max(report.wall_seconds, 1e-9)
        try:
            if not dry_run:
                _say_goodbye(controller, transport, deadline)
        finally:
            transport.close()
            if collected:
                gc.enable()
            report.lateness_ms, report.work_ms = quantiles_ms(late), quantiles_ms(work)
            report.histogram = _histogram(late)
    return report


def _say_goodbye(controller: Controller, transport: Transport, deadline: float) -> None:
    """Send damping some times; a robot that hears none of them brakes on its own after its time-out.

    Raises:
        Exception: the link's own, if it took none of them.
    """
    robot = controller.robot
    command = MotorCommand.damping(robot.default_joint_pos, controller.config.damping_kd)
    refused: list[Exception] = []
    for k in range(FAREWELLS):
        try:
            transport.write(command)
        except Exception as error:  # Whatever the link's trouble is, the next try may get through.
            refused.append(error)
        transport.sleep_until(deadline + k * controller.config.command_dt)
    if len(refused) == FAREWELLS:
        raise refused[-1]


def quantiles_ms(seconds: Sequence[float]) -> dict[str, float]:
    """Quantiles of times [s], in ms; empty for no times."""
    if not len(seconds):
        return {}
    values = 1e3 * np.asarray(seconds)
    names = {"p50": 50.0, "p99": 99.0, "p99.9": 99.9, "max": 100.0}
    return {name: float(np.percentile(values, q)) for name, q in names.items()}


def _histogram(seconds: Sequence[float]) -> dict[str, int]:
    counts, _ = np.histogram(1e3 * np.asarray(seconds), bins=[0.0, *EDGES_MS, np.inf])
    names = [*(f"{edge:g}" for edge in EDGES_MS), "more"]
    return {name: int(count) for name, count in zip(names, counts, strict=True)}
