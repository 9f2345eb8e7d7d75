"""Motors give less the faster they turn; the physics holds to it, in training and elsewhere."""

import dataclasses

import numpy as np
import pytest
import torch

from lagoon.errors import BadInputError
from lagoon.robot import load_robot
from lagoon.sim.backend import BodyParameters, SimState
from lagoon.sim.model import TRAINING
from lagoon.sim.motors import motor_curve
from lagoon.sim.mujoco_backend import MujocoBackend
from lagoon.sim.variation import damping_ratio

ROBOT = load_robot("go2")


def test_the_curve_is_flat_to_the_knee_and_nothing_at_no_load():
    curve, rated = motor_curve(ROBOT), np.tile(ROBOT.torque_limit, (1, 1))
    hip, knee = 0, 2

    def drive(joint, speed):
        lower, upper = curve.limits(np.full((1, 12), speed), rated)
        return float(lower[0, joint]), float(upper[0, joint])

    assert drive(hip, 0.0) == (-23.4, 23.4)
    assert drive(hip, 13.0) == (-23.4, 20.2) and drive(hip, -13.0) == (-20.2, 23.4)
    assert drive(hip, 21.75)[1] == pytest.approx(10.1) and drive(hip, 30.0)[1] == 0.0 and drive(hip, 40.0)[1] == 0.0
    assert drive(knee, 0.1)[1] == pytest.approx(20.2 * 1.917) and drive(knee, 30.0 / 1.917)[1] == pytest.approx(0.0)
    weak = curve.limits(np.zeros((1, 12)), 0.5 * rated)[1]
    np.testing.assert_allclose(weak[0], np.minimum(0.5 * ROBOT.torque_limit, curve.brake_torque))


def test_a_robot_without_motor_data_says_what_is_missing():
    with pytest.raises(BadInputError, match=r"motors\.yaml"):
        motor_curve(load_robot("spot"))


def hanging(backend, speed):
    n = backend.num_envs
    pose = torch.tensor(np.tile(ROBOT.default_joint_pos, (n, 1)), dtype=torch.float32)
    velocity = torch.zeros(n, 12)
    velocity[:, 1] = speed
    quat = torch.tensor([[1.0, 0, 0, 0]]).repeat(n, 1)
    zeros = torch.zeros(n, 3)
    position = torch.tensor([[0.0, 0.0, 2.0]]).repeat(n, 1)
    backend.set_state(torch.arange(n), SimState(position, quat, zeros, zeros, pose, velocity))
    target = pose.clone()
    target[:, 1] += 3.0
    return target


@pytest.mark.parametrize("strength", [1.0, 0.5])
def test_the_simulator_clips_by_speed_and_by_each_robots_own_limit(strength):
    given = {}
    for limited in (False, True):
        backend = MujocoBackend(ROBOT, 2, dataclasses.replace(TRAINING, torque_speed=limited))
        body = BodyParameters.nominal(2, 12, 0.8)
        body.strength[1] = strength
        backend.set_parameters(torch.arange(2), body)
        target = hanging(backend, 20.0)
        assert not backend.step(target.expand(backend.substeps, 2, 12)[:1]).any()
        given[limited] = backend.torques()[:, 1].numpy()
        backend.close()
    slowed = 20.2 * (30.0 - 20.0) / 16.5
    assert given[False] == pytest.approx([23.7, 23.7 * strength])
    assert given[True] == pytest.approx([slowed, min(slowed, 23.7 * strength)], rel=1e-3)


def test_what_few_vary_is_felt_and_otherwise_gets_no_field_of_its_own():
    backend = MujocoBackend(ROBOT, 2, TRAINING)
    backend.set_parameters(torch.arange(2), BodyParameters.nominal(2, 12, 0.8))
    assert not {"dof_frictionloss", "dof_damping", "opt.gravity", "geom_solref"} & set(backend._fields)
    body = BodyParameters.nominal(2, 12, 0.8)
    body.joint_damping[1] = 5.0
    body.slope[1, 0] = 0.05
    backend.set_parameters(torch.arange(2), body)
    target = hanging(backend, 10.0)
    for _ in range(5):
        backend.step(target)
    state = backend.state()
    assert state.joint_vel[1].abs().sum() < state.joint_vel[0].abs().sum()
    assert state.root_lin_vel_w[1, 0] < -0.03 and abs(float(state.root_lin_vel_w[0, 0])) < 0.5
    backend.set_parameters(torch.tensor([1]), BodyParameters.nominal(1, 12, 0.8))
    np.testing.assert_allclose(backend._fields["opt.gravity"][1], [0, 0, -9.81], atol=1e-9)
    backend.close()


def test_a_contact_returns_the_speed_that_was_asked_for():
    ratio = damping_ratio(np.array([0.1, 0.5]))
    np.testing.assert_allclose(np.exp(-np.pi * ratio / np.sqrt(1 - ratio**2)), [0.1, 0.5])
