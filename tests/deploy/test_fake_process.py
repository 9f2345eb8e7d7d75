"""A fake robot that is asked from outside: what it understands, when faults come and go, and a run over its wire."""

import importlib.util
import itertools
import math
import os
import sys

import pytest

from lagoon.deploy.config import DeployConfig, FakeRobotConfig
from lagoon.deploy.controller import NOTHING, Action, Controller, ControllerConfig, Mode, Request
from lagoon.deploy.fake_process import Misbehaviour, Order, open_to_fake, parse_order, started
from lagoon.deploy.fake_robot import FakeRobot
from lagoon.deploy.loop import run_loop
from lagoon.deploy.transport.base import MotorCommand
from lagoon.deploy.transport.links import find_link
from lagoon.deploy.unitree.config import UnitreeConfig
from lagoon.errors import BadInputError, LagoonError

DDS = pytest.mark.skipif(
    importlib.util.find_spec("cyclonedds") is None and (sys.platform != "linux" or sys.version_info >= (3, 14)),
    reason="there are no wheels of cyclonedds here",
)
DOMAIN = 140 + os.getpid() % 90


@pytest.mark.parametrize(
    ("text", "order"),
    [
        ("silence=true", Order("silence", True, 0.0, math.inf)),
        (" cut = true @ 8 - 8.2 ", Order("cut", True, 8.0, 8.2)),
        ("battery=0.05@8", Order("battery", 0.05, 8.0, math.inf)),
        ("clock_offset=-1", Order("clock_offset", -1.0, 0.0, math.inf)),
        ("stuck=[FL_hip_joint]", Order("stuck", ("FL_hip_joint",), 0.0, math.inf)),
        ("heat={RL_calf_joint: 99}@2", Order("heat", {"RL_calf_joint": 99}, 2.0, math.inf)),
        ("nan=gyro", Order("nan", "gyro", 0.0, math.inf)),
    ],
)
def test_an_order_is_read(text, order):
    assert parse_order(text) == order


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("silence", "'silence' is no fault. Expected NAME=VALUE"),
        ("explode=true", "Fault 'explode' is not known. Known: battery, checksum, "),
        ("silence=loudly", "The fault 'silence' is 'loudly'; expected a bool, as False"),
        ("battery=true", "expected a float"),
        ("heat={", "cannot be read"),
        ("cut=true@1.2.3", "cannot be read"),
    ],
)
def test_an_order_that_makes_no_sense_is_refused(text, says):
    with pytest.raises(BadInputError, match=says):
        parse_order(text)


def test_faults_come_and_go_with_the_robots_time(robot):
    fake = FakeRobot(robot, FakeRobotConfig.perfect())
    orders = Misbehaviour(fake, [parse_order("cut=true@0.01-0.02"), parse_order("battery=0.5@0.015")])
    seen = []
    for _ in range(15):
        orders.update()
        seen.append((round(fake.time, 3), fake.faults.cut, fake.faults.battery))
        fake.advance(fake.time + 0.002)
    assert [time for time, cut, _ in seen if cut] == pytest.approx([0.01, 0.012, 0.014, 0.016, 0.018])
    assert next(time for time, _, charge in seen if charge == 0.5) == pytest.approx(0.016)


def test_lines_are_heard_while_it_runs_and_nonsense_is_told(robot):
    fake, said = FakeRobot(robot, FakeRobotConfig.perfect()), []
    orders = Misbehaviour(fake)
    orders.listen(iter(["freeze=true\n", "\n", "explode=now\n"]))
    for _ in itertools.takewhile(lambda _: not (fake.faults.freeze and said), range(10**6)):
        orders.update(said.append)
    assert fake.faults.freeze and len(said) == 1 and "Fault 'explode' is not known" in said[0]


@pytest.mark.slow  # Real time: on a busy computer the other process may be late with anything.
@DDS
def test_over_the_wire_a_process_that_falls_silent_is_noticed(robot):
    """Real time, two processes, the Go2's own messages on the loopback interface."""
    config = DeployConfig(link="unitree", unitree=UnitreeConfig(domain=DOMAIN, listen_seconds=0.5, find_seconds=30.0))
    controller, stamps = Controller(robot, [], ControllerConfig(speed=3.0, min_seconds=0.5)), []
    with started(robot, config) as process:
        link = find_link("unitree")(robot, config)()
        assert (link.name, link.is_real) == ("unitree:lo", False)

        def operator(controller, now):
            """Stand up, hear the robot fall silent in the midst of it, and go on until that is noticed."""
            noticed = controller.blocker is not None and controller.blocker.guard == "stale"
            if len(stamps) > 4000 or (noticed and len(stamps) > 100):
                return None
            if len(stamps) == 100:
                process.stdin.write("silence=true\n")
                process.stdin.flush()
            ready = controller.mode is Mode.DAMPING and controller.blocker is None
            return Request(Action.STAND_UP) if ready else NOTHING

        run_loop(controller, link, operator, lambda state, *_: stamps.append(state.time))
    assert len(set(stamps)) > 20 and len(stamps) < 4000 and controller.mode in (Mode.FAULT, Mode.DAMPING)
    assert process.poll() is not None


@pytest.mark.slow  # Real time: on a busy computer the other process may be late with anything.
@DDS
def test_a_link_opened_to_a_fake_ends_it(robot):
    config = DeployConfig(link="unitree", unitree=UnitreeConfig(domain=DOMAIN, listen_seconds=0.5, find_seconds=30.0))
    link = open_to_fake(robot, config)
    assert link.read() is not None
    ends = link.close.__self__
    link.close()
    assert not ends._exit_callbacks
    with pytest.raises(LagoonError, match="closed"):
        link.write(MotorCommand.damping(robot.default_joint_pos, 3.0))


@DDS
def test_a_fake_that_does_not_start_says_why(robot):
    with (
        pytest.raises(LagoonError, match=r"did not start.*Fault 'explode' is not known"),
        started(robot, DeployConfig(link="unitree"), ["explode=now"]),
    ):
        pass
