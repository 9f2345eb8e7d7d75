import dataclasses

import numpy as np
import pytest

from lagoon.deploy import loop
from lagoon.deploy.config import FakeRobotConfig
from lagoon.deploy.controller import NOTHING, Action, Controller, Mode, Request
from lagoon.deploy.fake_robot import FakeRobot
from lagoon.deploy.loop import EDGES_MS, LoopReport, run_loop
from lagoon.deploy.transport.in_process import InProcessTransport
from lagoon.errors import BadInputError


class Recorder(InProcessTransport):
    """Keeps what was written, and can be late."""

    def __init__(self, fake):
        super().__init__(fake)
        self.written, self.late_at, self.closed = [], {}, False

    def write(self, command):
        self.written.append(command)
        super().write(command)

    def sleep_until(self, deadline):
        super().sleep_until(deadline + self.late_at.pop(len(self.written), 0.0))

    def close(self):
        self.closed = True


@pytest.fixture
def controller(robot, stand_bundle):
    return Controller(robot, [stand_bundle])


@pytest.fixture
def transport(robot):
    return Recorder(FakeRobot(robot, FakeRobotConfig.perfect()))


def until(seconds, request=NOTHING):
    return lambda controller, now: request if now < seconds else None


def stand_up(controller, now):
    if now > 0.4:
        return None
    return Request(Action.STAND_UP) if controller.mode is Mode.DAMPING and controller.blocker is None else NOTHING


def test_steps_come_at_their_deadlines_and_are_counted(controller, transport):
    report = run_loop(controller, transport, until(0.5))
    assert report.steps == 100 and report.skipped == 0 and report.lateness_ms["max"] < 0.01
    assert sum(report.histogram.values()) == 100 and list(report.histogram) == [f"{e:g}" for e in EDGES_MS] + ["more"]
    assert transport.closed and report.seconds >= 0.5


def test_a_loop_of_hours_does_not_fill_the_memory(controller, transport, monkeypatch):
    monkeypatch.setattr(loop, "REMEMBERED", 10)
    transport.late_at = {20: 0.004}
    report = run_loop(controller, transport, until(0.5))
    assert report.steps == 100 and sum(report.histogram.values()) == 10
    assert report.lateness_ms["max"] < 0.001, "the late step is long forgotten"


def test_a_late_step_is_told_and_missed_ones_are_not_made_up_for(controller, transport):
    transport.late_at = {10: 0.003, 20: 0.017}
    report = run_loop(controller, transport, until(0.5))
    assert report.skipped == 2 and report.steps == 98
    assert report.lateness_ms["max"] == pytest.approx(17.0, abs=2.1)
    assert report.histogram["20"] == 1 and report.histogram["more"] == 0


@pytest.mark.parametrize("end", ["done", "error", "interrupt", "broken controller"])
def test_however_it_ends_the_last_words_are_damping(controller, transport, monkeypatch, end):
    errors = {"error": RuntimeError("x"), "interrupt": KeyboardInterrupt()}

    def operator(controller, now):
        if now > 0.3 and end in errors:
            raise errors[end]
        return stand_up(controller, now)

    if end == "broken controller":
        step = controller.step
        monkeypatch.setattr(controller, "step", lambda *a: 1 / 0 if a[2] > 0.3 else step(*a))
        with pytest.raises(ZeroDivisionError):
            run_loop(controller, transport, operator)
    elif end in errors:
        with pytest.raises(type(errors[end])):
            run_loop(controller, transport, operator)
    else:
        run_loop(controller, transport, operator)
    assert any(command.kp.any() for command in transport.written)
    assert len(transport.written) > 5 and all(not command.kp.any() for command in transport.written[-5:])
    assert all((command.kd == 5.0).all() for command in transport.written[-5:]) and transport.closed


def test_damping_is_sent_before_anything_is_counted(controller, transport, monkeypatch):
    counted = []
    monkeypatch.setattr(loop, "quantiles_ms", lambda times: counted.append(transport.written[-1].kp.any()) or {})
    run_loop(controller, transport, stand_up)
    assert counted == [False, False] and any(command.kp.any() for command in transport.written)


def test_a_link_that_stumbles_still_gets_the_last_words(controller, transport, monkeypatch):
    write, left = transport.write, [0, 3]

    def stumbling(command):
        left[0] += 1
        if left[0] > 50 and left[1]:
            left[1] -= 1
            raise OSError("gone")
        write(command)

    monkeypatch.setattr(transport, "write", stumbling)
    report = LoopReport()
    with pytest.raises(OSError, match="gone"):
        run_loop(controller, transport, stand_up, report=report)
    assert transport.closed and report.steps == 50 and report.events[0].mode is Mode.STAND_UP
    assert not transport.written[-1].kp.any() and (transport.written[-1].kd == 5.0).all()


def test_a_dry_run_sends_nothing_and_shows_the_commands(controller, transport):
    seen = []
    run_loop(controller, transport, stand_up, lambda state, command, now: seen.append(command), dry_run=True)
    assert transport.written == [] and any(command.kp.any() for command in seen)


def test_a_link_in_another_joint_order_is_refused_before_anything_is_sent(controller, transport, robot):
    transport.joint_names = robot.motor_names
    with pytest.raises(BadInputError, match="index 0: FR_hip_joint instead of FL_hip_joint"):
        run_loop(controller, transport, until(1.0))
    assert transport.written == []


def test_the_report_is_plain_data(controller, transport):
    import json

    report = run_loop(controller, transport, stand_up)
    content = json.loads(json.dumps(report.to_dict(), allow_nan=False))
    assert content["events"][0]["kind"] == "mode" and dataclasses.is_dataclass(report)
    assert np.isfinite(content["cpu_share"])
