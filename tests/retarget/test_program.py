import mujoco
import numpy as np
import pytest

from lagoon.motion.rotations import quat_conj, quat_from_rotvec, quat_mul, quat_to_rotvec
from lagoon.retarget.config import RetargetConfig
from lagoon.retarget.program import DAMPING, LANDING, StepProgram
from lagoon.retarget.targets import Targets

CONFIG = RetargetConfig()
MAX_STEP = np.full(12, 0.1)
POSTURE = 0.02


def shaken(kin, seed=0):
    """A configuration near the stand, turned, with the base above it."""
    rng = np.random.default_rng(seed)
    qpos = kin.stand()
    qpos[kin.address.joint_qpos] += 0.2 * rng.standard_normal(12)
    mujoco.mj_integratePos(kin.model, qpos, np.r_[0.1, 0.2, 0.3, 0.3, -0.4, 0.5, np.zeros(12)], 1.0)
    return qpos


def some_targets(kin, grip):
    rng = np.random.default_rng(1)
    stand = kin.stand()
    foot_b, knee_b = kin.points_b(stand)
    return Targets(
        base_quat=quat_from_rotvec(np.array([[0.2, 0.1, -0.3]])),
        base_height=stand[None, 2],
        foot_w=kin.feet(stand)[None] + 0.03 * rng.standard_normal((1, 4, 3)),
        grip=np.array([grip]),
        foot_b=foot_b[None] + 0.02 * rng.standard_normal((1, 4, 3)),
        knee_b=knee_b[None],
        knee_on=np.array([[1.0, 1.0, 0.0, 0.0]]),
        contact=np.ones((1, 4), bool),
        support=kin.com(stand)[None, :2],
        still=np.ones(1),
        rest=stand[None, kin.address.joint_qpos],
        pull=np.full(1, CONFIG.weight_posture),
    )


def wishes(kin, targets, com, qpos, turn, origin):
    """Every error by its definition, times the root of its weight; base axes and origin of the landing are given."""
    foot_b, knee_b = kin.points_b(qpos)
    feet, mass = kin.feet(qpos), kin.com(qpos)[:2]
    grip = targets.grip[0][:, None]
    firm = (grip > 0.999).astype(float)
    landing = (targets.foot_w[0] - origin) @ turn
    free = CONFIG.weight_foot * (1.0 + LANDING * grip) * (1.0 - firm)
    knees = CONFIG.weight_elbow * targets.knee_on[0][:, None] * (1.0 - grip)
    away = quat_to_rotvec(quat_mul(quat_conj(targets.base_quat[0]), qpos[3:7]))
    return np.concatenate(
        [
            np.sqrt(CONFIG.weight_base_rotation) * away,
            (np.sqrt(CONFIG.weight_contact * firm) * (feet - targets.foot_w[0])).ravel(),
            [np.sqrt(CONFIG.weight_base_height) * (qpos[2] - targets.base_height[0])],
            (np.sqrt(free) * (foot_b - (1.0 - grip) * targets.foot_b[0] - grip * landing)).ravel(),
            (np.sqrt(knees) * (knee_b - targets.knee_b[0])).ravel(),
            np.sqrt(CONFIG.weight_com) * (mass - com),
            np.sqrt(POSTURE) * (qpos[kin.address.joint_qpos] - targets.rest[0]),
        ]
    )


@pytest.mark.parametrize("grip", [(1.0, 1.0, 1.0, 1.0), (0.0, 0.4, 1.0, 0.0)])
def test_the_objective_is_the_sum_of_squares_of_all_wishes(kin, grip):
    qpos, targets, com = shaken(kin), some_targets(kin, grip), np.array([0.02, -0.03])
    program = StepProgram(kin, CONFIG, MAX_STEP)
    program.aim(targets, 0, com, targets.rest[0], POSTURE)
    program.move_to(qpos)
    hessian, gradient = program.objective()
    turn, origin = program.data.xmat[kin.base].reshape(3, 3).copy(), qpos[:3].copy()
    error = wishes(kin, targets, com, qpos, turn, origin)
    jacobian = np.empty((len(error), kin.model.nv))
    for column in range(kin.model.nv):
        sides = []
        for sign in (1e-6, -1e-6):
            step, moved = np.zeros(kin.model.nv), qpos.copy()
            step[column] = sign
            mujoco.mj_integratePos(kin.model, moved, step, 1.0)
            sides.append(wishes(kin, targets, com, moved, turn, origin))
        jacobian[:, column] = (sides[0] - sides[1]) / 2e-6
    np.testing.assert_allclose(hessian, jacobian.T @ jacobian + DAMPING * np.eye(kin.model.nv), atol=1e-5)
    np.testing.assert_allclose(gradient, jacobian.T @ error, atol=1e-6)


def test_far_from_every_limit_the_step_is_that_of_gauss_and_newton(kin):
    targets = some_targets(kin, (0.0, 0.4, 1.0, 0.0))
    program = StepProgram(kin, CONFIG, MAX_STEP)
    qpos = shaken(kin)
    qpos[2] += 0.5
    program.aim(targets.with_(base_height=targets.base_height + 0.5), 0, qpos[:2], targets.rest[0], 1e3)
    program.move_to(qpos)
    hessian, gradient = program.objective()
    np.testing.assert_allclose(program.step(), np.linalg.solve(hessian, -gradient), atol=1e-6)


def test_a_joint_goes_no_farther_from_the_frame_before(kin):
    targets = some_targets(kin, (0.0, 0.0, 0.0, 0.0))
    program = StepProgram(kin, CONFIG, MAX_STEP)
    qpos = kin.stand()
    joints = qpos[kin.address.joint_qpos]
    program.previous = joints - 0.08
    program.aim(targets, 0, np.zeros(2), joints + 1.0, 1e6)
    program.move_to(qpos)
    np.testing.assert_allclose(program.step()[kin.address.joint_dof], 0.02, atol=1e-5)
    program.aim(targets, 0, np.zeros(2), joints - 1.0, 1e6)
    np.testing.assert_allclose(program.step()[kin.address.joint_dof], -0.18, atol=1e-5)


def test_no_step_leads_below_the_floor(kin):
    targets = some_targets(kin, (1.0, 1.0, 1.0, 1.0))
    down = targets.with_(foot_w=targets.foot_w - np.array([0.0, 0.0, 0.3]), base_height=targets.base_height - 0.3)
    program = StepProgram(kin, CONFIG, MAX_STEP)
    program.aim(down, 0, np.zeros(2), down.rest[0], 0.0)
    program.move_to(kin.stand())
    for _ in range(10):
        program.advance(program.step())
    assert kin.clearances(program.data.qpos).min() > -2e-3


def test_a_robot_deep_in_the_floor_comes_out_as_far_as_its_joints_may_move(kin):
    targets = some_targets(kin, (1.0, 1.0, 1.0, 1.0))
    program = StepProgram(kin, CONFIG, np.full(12, 1e-3))
    qpos = kin.stand()
    qpos[2] = -0.2
    program.previous = qpos[kin.address.joint_qpos].copy()
    program.aim(targets, 0, np.zeros(2), targets.rest[0], POSTURE)
    program.move_to(qpos)
    for _ in range(5):
        program.advance(program.step())
    assert kin.clearances(program.data.qpos).min() > -2e-3


def test_the_start_may_lie_outside_the_limits(kin, go2):
    targets = some_targets(kin, (0.0, 0.0, 0.0, 0.0))
    program = StepProgram(kin, CONFIG, MAX_STEP)
    qpos = kin.stand()
    qpos[kin.address.joint_qpos] = go2.joint_upper + 0.3
    qpos[2] += 0.5
    program.previous = qpos[kin.address.joint_qpos].copy()
    program.aim(targets, 0, np.zeros(2), targets.rest[0], POSTURE)
    program.move_to(qpos)
    before = qpos[kin.address.joint_qpos]
    program.advance(program.step())
    after = program.data.qpos[kin.address.joint_qpos]
    assert np.all(after < before)
