"""What a controller may rely on, whatever the link is.

The robot is an odd one: the bus of its motors has another order than its joints, some motors turn the other way, and
none has its zero where its joint has it. A link that converts any of that wrongly fails nearly every test.
"""

import dataclasses

import numpy as np
import pytest

from lagoon.deploy.config import FakeRobotConfig
from lagoon.deploy.controller import NOTHING, Controller, Mode
from lagoon.deploy.fake_robot import FakeRobot
from lagoon.deploy.loop import run_loop
from lagoon.deploy.transport.base import MotorCommand, Transport, check_joint_order
from lagoon.errors import BadInputError
from lagoon.robot import load_robot

DT = 0.005
FIRST_STATE_SECONDS = 15.0


@pytest.fixture(scope="module")
def robot():
    go2 = load_robot("go2")
    order = np.random.default_rng(7).permutation(12)
    signs = np.array([1, -1, -1, 1, 1, -1, -1, -1, 1, -1, 1, 1], dtype=float)
    return dataclasses.replace(
        go2,
        motor_names=tuple(go2.joint_names[j] for j in order),
        motor_sign=signs,
        motor_offset=np.linspace(-1.1, 1.3, 12),
    )


@pytest.fixture
def fake(robot):
    """A fake robot without weight that touches nothing, quick and with good sensors: joints move as they are told."""
    fake = FakeRobot(robot, FakeRobotConfig.perfect())
    fake.model.opt.gravity[:] = 0.0
    fake.data.qpos[2] = 1.0
    fake.data.qvel[:] = 0.0
    return fake


def first_state(link):
    deadline = link.now() + FIRST_STATE_SECONDS
    while (state := link.read()) is None:
        assert link.now() < deadline, "no state arrived"
        link.sleep_until(link.now() + DT)
    return state


def drive(link, command, seconds):
    """Send a command again and again; return the last state."""
    end = link.now() + seconds
    while link.now() < end:
        link.write(command)
        link.sleep_until(link.now() + DT)
    return link.read()


def hold(state, offset, kp):
    """Hold the measured pose plus an offset, without damping."""
    zeros = np.zeros(12)
    return MotorCommand(joint_pos=state.joint_pos + offset, joint_vel=zeros, kp=kp, kd=zeros + 2.0, torque=zeros)


def test_it_is_a_transport_in_the_robots_order(link, robot):
    assert isinstance(link, Transport) and link.name and link.is_real is False
    check_joint_order(link, robot.joint_names)


def test_states_are_whole_and_get_newer(link, robot):
    first = first_state(link)
    before = link.now()
    link.sleep_until(before + 0.05)
    assert link.now() >= before + 0.05
    second = link.read()
    assert 0.02 < second.time - first.time < 5.0
    for state in (first, second):
        for name, size in (("joint_pos", 12), ("joint_vel", 12), ("imu_quat", 4), ("imu_ang_vel", 3)):
            value = getattr(state, name)
            assert value.shape == (size,) and value.dtype == np.float64 and np.isfinite(value).all()
        assert np.linalg.norm(state.imu_quat) == pytest.approx(1.0, abs=1e-3)
        assert state.other_publishers == ()


def test_a_sleep_into_the_past_returns_at_once(link):
    before = link.now()
    link.sleep_until(before - 1.0)
    assert 0.0 <= link.now() - before < 1.0


def test_what_is_measured_is_the_truth_joint_by_joint(link, fake, robot):
    state = first_state(link)
    drive(link, hold(state, np.linspace(-0.15, 0.15, 12), robot.kp), 0.5)
    link.sleep_until(link.now() + 0.02)
    state = link.read()
    _, quat, joints = fake.truth()
    np.testing.assert_allclose(state.joint_pos, joints, atol=0.01)
    assert abs(np.dot(state.imu_quat, quat)) > 0.999
    # The pose tells joints apart: no two of one kind are alike.
    kinds = joints.reshape(4, 3)
    assert min(np.abs(kinds[a] - kinds[b]).min() for a in range(4) for b in range(a)) > 0.005


@pytest.mark.parametrize("name", ["FL_thigh_joint", "RR_hip_joint", "FR_calf_joint"])
def test_a_target_reaches_the_joint_of_its_name(link, fake, robot, name):
    state = first_state(link)
    j = robot.joint_names.index(name)
    sign = 1.0 if "calf" in name else -1.0
    command = hold(state, np.where(np.arange(12) == j, 0.25 * sign, 0.0), np.full(12, 60.0))
    moved = drive(link, command, 0.3).joint_pos - state.joint_pos
    assert int(np.abs(moved).argmax()) == j and sign * moved[j] > 0.08, dict(zip(robot.joint_names, moved, strict=True))


def test_gains_and_torques_reach_the_joint_of_their_name(link, robot):
    state = first_state(link)
    kp = 40.0 + 5.0 * np.arange(12)
    command = dataclasses.replace(hold(state, np.tile([0.03, -0.04, 0.05], 4), kp), torque=np.linspace(-1.0, 1.0, 12))
    drive(link, command, 0.4)
    reported, expected = [], []
    for _ in range(20):
        state = drive(link, command, 0.01)
        reported.append(state.joint_torque)
        expected.append(kp * (command.joint_pos - state.joint_pos) - command.kd * state.joint_vel + command.torque)
    np.testing.assert_allclose(np.mean(reported, axis=0), np.mean(expected, axis=0), atol=0.3)


def test_a_robot_that_hears_nothing_brakes_on_its_own(link, fake, robot):
    state = first_state(link)
    drive(link, hold(state, np.full(12, 0.05), robot.kp), 0.1)
    link.sleep_until(link.now() + 0.02)
    assert not fake.is_damping
    link.sleep_until(link.now() + 0.3)
    assert fake.is_damping


class Standing:
    """A controller that holds the robot's stand, and what the robot's motors are told."""

    def __init__(self, link, fake, robot):
        # A live gyro never repeats itself.
        fake.config = dataclasses.replace(fake.config, ang_vel_noise=0.01)
        self.link, self.told, send = link, [], fake.send
        fake.send = lambda command: (self.told.append(command), send(command))[1]
        self.controller = Controller(robot, [])
        first_state(link)
        self.controller.mode = Mode.STAND
        for _ in range(10):
            self.step()
        assert self.controller.mode is Mode.STAND and self.told[-1].kp.all()

    def step(self):
        self.link.write(self.controller.step(self.link.read(), NOTHING, self.link.now()))
        self.link.sleep_until(self.link.now() + DT)


@pytest.mark.parametrize(
    ("fault", "value", "guard", "own_seconds"),
    [
        ("silence", True, "stale", 0.05),
        ("cut", True, "stale", 0.05),
        ("freeze", True, "frozen", 0.05),
        ("nan", "q", "bad_state", 0.0),
        ("nan", "gyro", "bad_state", 0.0),
        ("clock_offset", -1.0, "clock", 0.0),
        ("clock_offset", 1.0, "clock", 0.0),
        ("battery", 0.04, "battery", 0.01),  # Three states in a row, as for heat.
        ("heat", {"RL_calf_joint": 99.0}, "temperature", 0.01),
    ],
)
def test_a_fault_of_the_robot_ends_in_damping_at_its_motors(link, fake, robot, fault, value, guard, own_seconds):
    standing = Standing(link, fake, robot)
    if fault == "heat" and link.read().motor_temperature is None:
        return  # This link does not carry it.
    setattr(fake.faults, fault, value)
    began, limit = link.now(), own_seconds + 2 * DT + fake.config.state_period
    while standing.controller.mode is Mode.STAND:
        assert link.now() - began < limit + 1e-9
        standing.step()
    assert standing.controller.fault.guard == guard
    assert not standing.told[-1].kp.any() and (standing.told[-1].kd > 0.0).all()


def test_a_network_that_is_gone_for_200_ms_leaves_the_robot_braking(link, fake, robot):
    standing = Standing(link, fake, robot)
    fake.faults.cut = True
    end = link.now() + 0.2
    while link.now() < end:
        standing.step()
    assert fake.is_damping, "it brakes on its own"
    fake.faults.cut = False
    for _ in range(10):
        standing.step()
    assert standing.controller.mode is Mode.FAULT and not fake.is_damping and not standing.told[-1].kp.any()


def test_whatever_ends_the_loop_the_motors_hear_damping_last(link, fake, robot):
    standing = Standing(link, fake, robot)

    def stumbles(controller, now):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        run_loop(standing.controller, link, stumbles)
    assert not standing.told[-1].kp.any() and (standing.told[-1].kd > 0.0).all()


def test_closing_twice_does_no_harm(link):
    first_state(link)
    link.close()
    link.close()


def test_a_link_in_another_order_is_refused(link, robot):
    names = robot.joint_names
    with pytest.raises(BadInputError, match="index 0: FL_hip_joint instead of FR_hip_joint"):
        check_joint_order(link, (*names[3:6], *names[:3], *names[6:]))
    with pytest.raises(BadInputError, match="it lacks tail and has beyond them RR_calf_joint"):
        check_joint_order(link, (*names[:-1], "tail"))
