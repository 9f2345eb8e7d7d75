"""A trained wave on the hind legs, from lying to lying, over every link; in step with the simulation's clock.

The robot is a whole Go2 with weight, but its bus has an order, signs and zeros of its own.
"""

import dataclasses

import numpy as np
import pytest

from lagoon.deploy.config import FakeRobotConfig
from lagoon.deploy.controller import Controller, ControllerConfig, Kind
from lagoon.deploy.controller.envelope import up_b
from lagoon.deploy.fake_robot import FakeRobot
from lagoon.deploy.loop import run_loop
from lagoon.deploy.rehearsal import RunTrace
from lagoon.deploy.sequence import SkillSequence
from lagoon.robot import load_robot

QUICK = ControllerConfig(speed=3.0, min_seconds=0.5, wiggle_seconds=0.2, steady_seconds=0.6)
JOINT_ERROR, HEIGHT_ERROR = 0.1, 0.03
"""In the stand before and after: mean over joints [rad], trunk [m]."""
GRAVITY_ERROR = 0.35
"""Between measured and expected gravity while it waves, at most [rad]; the guard trips at 0.6."""


@pytest.fixture(scope="module")
def robot():
    go2 = load_robot("go2")
    rng = np.random.default_rng(3)
    return dataclasses.replace(
        go2,
        motor_names=tuple(go2.joint_names[j] for j in rng.permutation(12)),
        motor_sign=rng.choice([-1.0, 1.0], 12),
        motor_offset=rng.uniform(-1.0, 1.0, 12),
    )


@pytest.fixture
def fake(robot):
    """Noisy sensors, and messages that come at once: with a clock of its own a link waits for each."""
    return FakeRobot(robot, dataclasses.replace(FakeRobotConfig(), delay=0.0, jitter=0.0, loss=0.0), seed=1)


def test_from_lying_through_an_upright_wave_and_back(link, fake, robot, wave):
    controller = Controller(robot, [wave], QUICK)
    trace, sequence, pitch = RunTrace(fake, controller), SkillSequence([wave.command]), []

    def watch(state, command, now):
        trace.watch(state, command, now)
        pitch.append(up_b(fake.truth()[1])[0])

    loop = run_loop(controller, link, sequence, watch)
    assert sequence.problem == "" and [event.text for event in loop.events if event.kind is Kind.TRIP] == []
    modes = [event.mode for event in loop.events if event.kind is Kind.MODE]
    assert modes == ["stand_up", "stand", "policy", "settle", "stand", "sit_down", "damping"]
    for when in ("before", "after"):
        assert trace.joint_error[when] < JOINT_ERROR
        assert abs(trace.height[when] - robot.default_root_height) < HEIGHT_ERROR
    assert max(pitch) > 0.95, "it stood on its hind legs"
    assert trace.max_tilt_error < GRAVITY_ERROR
    assert fake.truth()[0][2] < 0.15, "it lies again"
