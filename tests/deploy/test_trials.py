import dataclasses

import numpy as np
import pytest
import torch

from lagoon.deploy.config import EvaluateConfig
from lagoon.deploy.sensors import NoisySensors, perfect
from lagoon.deploy.trial_run import TrialRun
from lagoon.deploy.trials import draw_conditions, nominal_conditions
from lagoon.motion.rotations import angle_between, quat_from_rotvec, quat_yaw
from lagoon.sim.backend import SimState
from lagoon.sim.model import CHECKING

QUIET = EvaluateConfig(
    joint_pos_noise=0.0,
    joint_pos_offset=0.0,
    joint_vel_noise=0.0,
    ang_vel_noise=0.0,
    ang_vel_offset=0.0,
    tilt_noise=0.0,
    tilt_offset=0.0,
    heading_drift=0.0,
)


def draw(config, seed=0, ticks=200):
    return draw_conditions(config, 12, ticks, 0.02, 0.002, np.random.default_rng(seed))


def test_every_condition_lies_in_its_range_and_uses_it():
    config = EvaluateConfig(trials=400)
    c = draw(config)
    for name, values in (
        ("friction", c.body.friction),
        ("mass_scale", c.body.mass_scale),
        ("payload", c.body.payload),
        ("gain_scale", c.body.kp_scale),
        ("gain_scale", c.body.kd_scale),
        ("strength", c.body.strength),
        ("start_heading", torch.from_numpy(c.start_heading)),
    ):
        low, high = getattr(config, name)
        span = high - low
        assert low - 1e-6 <= values.min() < low + 0.05 * span and high - 0.05 * span < values.max() <= high + 1e-6
    assert set(c.delay_steps) == set(range(11))
    assert set(c.quat_sign) == {-1.0, 1.0}
    assert np.abs(c.tilt_offset[:, :2]).max() <= config.tilt_offset and not c.tilt_offset[:, 2].any()


def test_pushes_have_the_wanted_number_speed_and_time():
    config = EvaluateConfig(trials=300, pushes=(1, 2), push_speed=(0.1, 0.3))
    pushes = draw(config).push_vel_w
    speed = np.linalg.norm(pushes, axis=2)
    counts = (speed > 0).sum(axis=0)
    # Two pushes of one trial can fall on the same tick and then add up.
    assert set(counts) == {1, 2} and speed[speed > 0].min() >= 0.1 - 1e-9 and speed.max() <= 0.6
    assert not speed[150:].any() and speed[:150].any(axis=1).mean() > 0.8
    directions = pushes[speed > 0].mean(axis=0)
    assert np.abs(directions).max() < 0.05


def test_same_seed_same_trials():
    first, again, other = draw(EvaluateConfig(), 3), draw(EvaluateConfig(), 3), draw(EvaluateConfig(), 4)
    for field in dataclasses.fields(first):
        if field.name != "body":
            np.testing.assert_array_equal(getattr(first, field.name), getattr(again, field.name))
    assert torch.equal(first.body.kp_scale, again.body.kp_scale)
    assert not np.array_equal(first.start_heading, other.start_heading)


def state_of(count, seed=0):
    rng = np.random.default_rng(seed)
    tensor = lambda *shape: torch.from_numpy(rng.normal(size=shape).astype(np.float32))  # noqa: E731
    quat = torch.from_numpy(quat_from_rotvec(rng.normal(size=(count, 3))).astype(np.float32))
    return SimState(tensor(count, 3), quat, tensor(count, 3), tensor(count, 3), tensor(count, 12), tensor(count, 12))


def test_quiet_sensors_tell_the_truth_up_to_the_quaternion_sign():
    config = dataclasses.replace(QUIET, trials=50)
    state, truth = state_of(50), perfect(state_of(50))
    reading = NoisySensors(config, draw(config), np.random.default_rng(0)).read(state, seconds=5.0)
    np.testing.assert_array_equal(reading.joint_pos, truth.joint_pos)
    np.testing.assert_array_equal(reading.imu_ang_vel, truth.imu_ang_vel)
    signs = np.sum(reading.imu_quat * truth.imu_quat, axis=1)
    np.testing.assert_allclose(np.abs(signs), 1.0, atol=1e-6)
    assert (signs < 0).any() and (signs > 0).any()


def test_drift_turns_the_heading_and_nothing_else():
    config = dataclasses.replace(QUIET, trials=20, heading_drift=0.05)
    conditions, state = draw(config), state_of(20)
    state.root_quat_w = torch.tensor([[1.0, 0.0, 0.0, 0.0]]).repeat(20, 1)
    reading = NoisySensors(config, conditions, np.random.default_rng(0)).read(state, seconds=10.0)
    np.testing.assert_allclose(quat_yaw(reading.imu_quat), 10.0 * conditions.heading_drift, atol=1e-6)
    assert np.abs(conditions.heading_drift).max() > 0.02
    np.testing.assert_allclose(reading.imu_quat[:, 1:3], 0.0, atol=1e-9)


def test_noise_and_offsets_have_the_stated_size():
    config = EvaluateConfig(trials=100, heading_drift=0.0)
    conditions, state = draw(config), state_of(100)
    sensors, truth = NoisySensors(config, conditions, np.random.default_rng(0)), perfect(state)
    readings = [sensors.read(state, 0.0) for _ in range(60)]
    gyro = np.stack([r.imu_ang_vel for r in readings]) - truth.imu_ang_vel
    assert gyro.std(axis=0).mean() == pytest.approx(config.ang_vel_noise, rel=0.05)
    np.testing.assert_allclose(gyro.mean(axis=0), conditions.ang_vel_offset, atol=0.06)
    encoder = np.stack([r.joint_pos for r in readings]) - truth.joint_pos
    assert encoder.std(axis=0).mean() == pytest.approx(config.joint_pos_noise, rel=0.05)
    np.testing.assert_allclose(encoder.mean(axis=0), conditions.joint_pos_offset, atol=0.004)
    tilt = angle_between(readings[0].imu_quat, truth.imu_quat)
    assert 0.01 < tilt.mean() < 0.03


@pytest.fixture
def run(stand_bundle, robot):
    conditions = nominal_conditions(4, 12, 10, CHECKING.friction)
    conditions.delay_steps[:] = [0, 3, 10, 13]
    conditions.push_vel_w[2, 1] = [0.3, -0.2]
    made = TrialRun(stand_bundle, robot, CHECKING, conditions, None, threads=1)
    yield made
    made.close()


def test_delay_reaches_back_by_physics_steps(run):
    run._targets.clear()
    for value in (1.0, 2.0, 3.0):
        run._targets.append(np.full((4, 12), value))
    seen = run._delayed()[:, :, 0]
    assert seen.shape == (10, 4)
    np.testing.assert_array_equal(seen[:, 0], [3.0] * 10)
    np.testing.assert_array_equal(seen[:, 1], [2.0] * 3 + [3.0] * 7)
    np.testing.assert_array_equal(seen[:, 2], [2.0] * 10)
    np.testing.assert_array_equal(seen[:, 3], [1.0] * 3 + [2.0] * 7)


def test_pushes_hit_the_trial_and_tick_they_are_drawn_for(run):
    state = run.stand(0.3)
    for tick in range(3):
        state, broken = run.tick(state)
        speed = np.linalg.norm(state.root_lin_vel_w[:, :2].numpy(), axis=1)
        assert not broken.any()
        assert (speed > 0.1).tolist() == [False, tick == 2, False, False]


def test_parked_robots_stand_and_ignore_the_policy(run, robot):
    state = run.stand(0.3)
    fell = np.array([False, False, True, False])
    run.park(fell)
    for _ in range(3):
        state, _ = run.tick(state)
    np.testing.assert_allclose(run._targets[-1][2], robot.default_joint_pos)
    assert state.root_pos_w[2, 2] > 0.2


def test_gains_of_the_bundle_are_simulated(stand_bundle, robot):
    soft = dataclasses.replace(stand_bundle, kp=stand_bundle.kp / 4)
    height = {}
    for name, bundle in (("firm", stand_bundle), ("soft", soft)):
        run = TrialRun(bundle, robot, CHECKING, nominal_conditions(1, 12, 1, 0.8), None, threads=1)
        height[name] = float(run.stand(0.5).root_pos_w[0, 2])
        run.close()
    assert height["soft"] < height["firm"] - 0.02
