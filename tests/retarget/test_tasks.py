import mink
import mujoco
import numpy as np
import pytest

from lagoon.retarget.tasks import BasePointsTask, FloorLimit, TravelLimit, WorldPointsTask


@pytest.fixture
def configuration(kin):
    rng = np.random.default_rng(0)
    qpos = kin.stand()
    qpos[kin.address.joint_qpos] += 0.2 * rng.standard_normal(12)
    turned = np.empty(kin.model.nq)
    turned[:] = qpos
    mujoco.mj_integratePos(kin.model, turned, np.r_[0.1, 0.2, 0.1, 0.3, -0.4, 0.5, np.zeros(12)], 1.0)
    return mink.Configuration(kin.model, turned)


def numeric_jacobian(task, configuration, columns):
    eps = 1e-6
    jacobian = np.zeros((len(task.compute_error(configuration)), len(columns)))
    for c, column in enumerate(columns):
        errors = []
        for sign in (1, -1):
            step = np.zeros(configuration.model.nv)
            step[column] = sign * eps
            qpos = configuration.q
            mujoco.mj_integratePos(configuration.model, qpos, step, 1.0)
            errors.append(task.compute_error(mink.Configuration(configuration.model, qpos)))
        jacobian[:, c] = (errors[0] - errors[1]) / (2 * eps)
    return jacobian


def test_world_points_jacobian_matches_finite_differences(kin, configuration):
    task = WorldPointsTask(kin)
    expected = numeric_jacobian(task, configuration, range(kin.model.nv))
    np.testing.assert_allclose(task.compute_jacobian(configuration), expected, atol=1e-6)


def test_base_points_jacobian_matches_finite_differences_and_ignores_the_base(kin, configuration):
    task = BasePointsTask(kin)
    expected = numeric_jacobian(task, configuration, range(kin.model.nv))
    np.testing.assert_allclose(expected[:, :6], 0, atol=1e-6)
    np.testing.assert_allclose(task.compute_jacobian(configuration), expected, atol=1e-6)


def test_a_landing_foot_aims_between_its_shape_and_its_place(kin, configuration):
    task = BasePointsTask(kin)
    qpos = configuration.q
    feet = kin.feet(qpos)
    task.target[:4], task.target[4:] = kin.points_b(qpos)
    task.landing_w = feet + np.array([0.0, 0.0, 0.1])
    for grip in (0.0, 0.5, 1.0):
        task.grip[:] = grip
        error = task.compute_error(configuration).reshape(8, 3)
        np.testing.assert_allclose(np.linalg.norm(error[:4], axis=1), 0.1 * grip, atol=1e-9)
        np.testing.assert_allclose(error[4:], 0, atol=1e-9)


def test_travel_limit_bounds_the_sum_of_all_steps_of_a_frame(kin, configuration):
    limit = TravelLimit(kin, np.full(12, 0.1))
    assert limit.compute_qp_inequalities(configuration, 1.0).inactive
    joints = configuration.q[kin.address.joint_qpos]
    limit.previous = joints - 0.08
    constraint = limit.compute_qp_inequalities(configuration, 1.0)
    step = np.zeros(kin.model.nv)
    for size, allowed in ((0.019, True), (0.021, False), (-0.179, True), (-0.181, False)):
        step[kin.address.joint_dof] = size
        assert bool(np.all(constraint.G @ step <= constraint.h)) is allowed


def test_floor_limit_allows_no_step_below_the_floor(kin):
    configuration = mink.Configuration(kin.model, kin.stand())
    constraint = FloorLimit(kin, depth=0.0).compute_qp_inequalities(configuration, 1.0)
    lowest = kin.clearances(kin.stand()).min()
    step = np.zeros(kin.model.nv)
    step[2] = -lowest + 1e-6
    assert np.all(constraint.G @ step <= constraint.h)
    step[2] = -lowest - 1e-6
    assert not np.all(constraint.G @ step <= constraint.h)
