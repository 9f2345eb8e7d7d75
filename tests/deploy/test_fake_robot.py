import dataclasses

import numpy as np
import pytest

from lagoon.deploy.config import DeployConfig, FakeRobotConfig
from lagoon.deploy.fake_robot import FakeRobot, WireCommand
from lagoon.deploy.transport.in_process import CATCH_UP, InProcessTransport
from lagoon.errors import BadInputError


def command(robot, **changes):
    zeros = np.zeros(robot.num_joints)
    return WireCommand(**{**{name: zeros for name in ("q", "dq", "kp", "kd", "tau")}, **changes})


@pytest.fixture
def fake(robot):
    return FakeRobot(robot, FakeRobotConfig.perfect())


def test_it_lies_level_with_folded_legs_and_stays_so(fake):
    pos, quat, joints = fake.truth()
    assert 0.05 < pos[2] < 0.13 and abs(quat[0]) > 0.99 and joints[2::3].max() < -2.4
    fake.advance(0.5)
    assert np.abs(fake.truth()[0] - pos).max() < 0.02


def test_its_wire_has_the_motors_order_signs_and_zeros(robot):
    turned = dataclasses.replace(
        robot,
        motor_sign=np.where(np.arange(12) == 4, -1.0, 1.0),
        motor_offset=np.where(np.arange(12) == 7, 0.4, 0.0),
    )
    fake = FakeRobot(turned, FakeRobotConfig.perfect())
    fake.model.opt.gravity[:] = 0.0
    state, joints = fake.receive(), fake.truth()[2]
    assert state is not None
    for m, name in enumerate(robot.motor_names):
        j = robot.joint_names.index(name)
        assert state.q[m] == pytest.approx((-joints[j] if j == 4 else joints[j]) + (0.4 if j == 7 else 0.0), abs=1e-6)
    # FR_thigh is motor 1 and joint 4; more angle on its bus is less angle of the joint.
    target = state.q + np.where(np.arange(12) == 1, 0.3, 0.0)
    for _ in range(60):
        fake.send(command(robot, q=target, kp=np.full(12, 60.0), kd=np.full(12, 2.0)))
        fake.advance(fake.time + 0.005)
    moved = fake.truth()[2] - joints
    assert moved[4] < -0.1 and np.abs(moved).argmax() == 4 and abs(moved[7]) < 0.02


def test_messages_take_their_time_and_some_are_lost(robot):
    slow = FakeRobot(robot, dataclasses.replace(FakeRobotConfig.perfect(), delay=0.02, jitter=0.01))
    ages = []
    for _ in range(200):
        slow.advance(slow.time + 0.005)
        if (state := slow.receive()) is not None:
            ages.append(slow.time + slow._boot - state.time)
    assert min(ages) >= 0.02 and max(ages) <= 0.02 + 0.01 + 0.005 and np.ptp(ages) > 0.002
    lossy = FakeRobot(robot, dataclasses.replace(FakeRobotConfig.perfect(), loss=0.3))
    stamps = set()
    for _ in range(500):
        lossy.advance(lossy.time + 0.002)
        stamps.add(lossy.receive().time)
    assert 0.6 < len(stamps) / 500 < 0.8


def test_the_same_seed_gives_the_same_robot(robot):
    def measured(seed):
        fake = FakeRobot(robot, seed=seed)
        fake.advance(0.1)
        return fake.receive().q

    np.testing.assert_array_equal(measured(3), measured(3))
    assert not np.array_equal(measured(3), measured(4))


def test_misbehaviour_shows_on_the_wire(robot, fake):
    fake.advance(0.1)
    before = fake.receive()
    fake.faults.freeze = True
    fake.advance(0.15)
    frozen = fake.receive()
    assert frozen.time > before.time + 0.04
    fake.advance(0.2)
    np.testing.assert_array_equal(fake.receive().q, frozen.q)
    fake.faults.freeze, fake.faults.silence = False, True
    fake.advance(0.25)
    silent = fake.receive()
    fake.advance(0.3)
    assert fake.receive() is silent
    fake.faults.silence, fake.faults.nan = False, "gyro"
    fake.faults.heat, fake.faults.battery, fake.faults.clock_offset = {"RL_calf_joint": 90.0}, 0.07, -5.0
    fake.advance(0.35)
    state = fake.receive()
    assert np.isnan(state.gyro[0]) and state.battery == 0.07 and state.time < before.time
    assert state.temperature[robot.motor_names.index("RL_calf_joint")] == 90.0


def test_held_messages_arrive_together(fake):
    fake.advance(0.1)
    before = fake.receive()
    fake.faults.hold = True
    fake.advance(0.2)
    assert fake.receive() is before
    fake.faults.hold, fake.faults.oldest_first = False, True
    assert fake.receive().time == pytest.approx(before.time + 0.002)
    fake.faults.oldest_first = False
    assert fake.receive().time == pytest.approx(before.time + 0.1)


@pytest.mark.parametrize(
    ("config", "setting", "value", "words"),
    [
        (FakeRobotConfig, "loss", 1.0, "loss is 1.0; expected 0 to 1"),
        (FakeRobotConfig, "state_period", 0.0, "expected 0.001 to 1"),
        (DeployConfig, "runs", 0, "runs is 0; expected 1 to 100"),
        (DeployConfig, "max_policy_ms", 50.0, "expected 0.1 to 20"),
    ],
)
def test_settings_that_cannot_work_are_refused(config, setting, value, words):
    with pytest.raises(BadInputError, match=words.replace(".", r"\.")):
        config(**{setting: value})


def test_on_the_wall_clock_time_passes_by_itself(fake):
    link = InProcessTransport(fake, clock="wall")
    before, simulated = link.now(), fake.time
    link.sleep_until(before + 0.02)
    assert link.now() - before >= 0.02
    assert fake.time - simulated == pytest.approx(link.now() - before, abs=0.5)


def test_a_computer_too_slow_to_simulate_in_real_time_does_not_get_stuck(fake):
    link = InProcessTransport(fake, clock="wall")
    link._origin -= 100.0
    before = fake.time
    link.sleep_until(link.now())
    assert fake.time - before == pytest.approx(CATCH_UP, abs=0.003)
