"""What a controller may rely on, whatever the link is."""

import dataclasses

import numpy as np
import pytest

from lagoon.deploy.config import FakeRobotConfig
from lagoon.deploy.fake_robot import FakeRobot
from lagoon.deploy.transport.base import MotorCommand, Transport, check_joint_order
from lagoon.errors import BadInputError

DT = 0.005
FIRST_STATE_SECONDS = 15.0


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
