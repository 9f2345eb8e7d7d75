import mujoco
import numpy as np
import pytest

from lagoon.motion.rotations import quat_conj, quat_from_rotvec, quat_mul, quat_to_rotvec
from lagoon.retarget.config import RetargetConfig
from lagoon.retarget.program import LONGEST_STEP, StepProgram
from lagoon.retarget.targets import Targets
from lagoon.retarget.wishes import DAMPING, LANDING, Wishes

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


def aimed(kin, targets, com, max_step=MAX_STEP, rest=None, posture=POSTURE):
    program = StepProgram(kin, CONFIG, max_step)
    rest = targets.rest if rest is None else np.repeat(rest[None], targets.num_frames, axis=0)
    program.aim(targets, np.repeat(com[None], targets.num_frames, axis=0), rest, np.full(targets.num_frames, posture))
    return program


@pytest.mark.parametrize("grip", [(1.0, 1.0, 1.0, 1.0), (0.0, 0.4, 1.0, 0.0)])
def test_the_objective_is_the_sum_of_squares_of_all_wishes(kin, grip):
    """Of two configurations at once, whose wishes are those of the second and the first frame."""
    both, targets, com = (shaken(kin), shaken(kin, 3)), some_targets(kin, grip), np.array([0.02, -0.03])
    program, two = Wishes(kin, CONFIG), targets.frame(0, 2)
    program.aim(two, np.repeat(com[None], 2, axis=0), two.rest, np.full(2, POSTURE))
    program.place(np.array(both))
    found = program.objective(np.array([1, 0]))
    for qpos, hessian, gradient in zip(both, *found, strict=True):
        kin.update(qpos)
        turn, origin = kin.data.xmat[kin.base].reshape(3, 3).copy(), qpos[:3].copy()
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
    qpos = shaken(kin)
    qpos[2] += 0.5
    program = aimed(kin, targets.with_(base_height=targets.base_height + 0.5), qpos[:2], posture=1e3)
    program.wishes.place(qpos[None])
    (hessian,), (gradient,) = program.wishes.objective(np.array([0]))
    step = np.linalg.solve(hessian, -gradient)
    moved = qpos.copy()
    mujoco.mj_integratePos(kin.model, moved, step * min(1.0, LONGEST_STEP / np.abs(step).max()), 1.0)
    np.testing.assert_allclose(program.settle(qpos[None], 0, None, 1)[0], moved, atol=1e-6)


def test_a_joint_goes_no_farther_from_the_frame_before(kin):
    targets = some_targets(kin, (0.0, 0.0, 0.0, 0.0))
    qpos, dofs = kin.stand(), kin.address.joint_qpos
    joints = qpos[dofs]
    for away, expected in ((1.0, 0.02), (-1.0, -0.18)):
        program = aimed(kin, targets, np.zeros(2), rest=joints + away, posture=1e6)
        after = program.settle(qpos[None], 0, joints - 0.08, 1)[0]
        np.testing.assert_allclose(after[dofs] - joints, expected, atol=1e-5)


def test_frames_solved_together_go_no_farther_from_each_other_than_one_by_one(kin):
    """All want to be far away at once; each gets one step further than the one before it."""
    targets, dofs = some_targets(kin, (0.0, 0.0, 0.0, 0.0)).frame(0, 6), kin.address.joint_qpos
    joints = kin.stand()[dofs]
    program = aimed(kin, targets, np.zeros(2), np.full(12, 0.03), joints - 0.5, 1e6)
    begin = np.repeat(kin.stand()[None], 6, axis=0)
    begin[:, 2] += 0.5
    together = program.settle(begin, 0, joints, 8)
    at, alone = begin[0], []
    for t in range(6):
        at = program.settle(at[None], t, at[dofs], 8)[0]
        alone.append(at)
    np.testing.assert_allclose(
        together[:, dofs] - joints, -0.03 * np.arange(1.0, 7.0)[:, None].repeat(12, 1), atol=1e-5
    )
    np.testing.assert_allclose(together, alone, atol=2e-3)


def test_no_step_leads_below_the_floor(kin):
    targets = some_targets(kin, (1.0, 1.0, 1.0, 1.0))
    down = targets.with_(foot_w=targets.foot_w - np.array([0.0, 0.0, 0.3]), base_height=targets.base_height - 0.3)
    qpos = aimed(kin, down, np.zeros(2), posture=0.0).settle(kin.stand()[None], 0, None, 10)[0]
    assert kin.clearances(qpos).min() > -2e-3


def test_a_robot_deep_in_the_floor_comes_out_as_far_as_its_joints_may_move(kin):
    targets, qpos = some_targets(kin, (1.0, 1.0, 1.0, 1.0)), kin.stand()
    qpos[2] = -0.2
    program = aimed(kin, targets, np.zeros(2), np.full(12, 1e-3))
    after = program.settle(qpos[None], 0, qpos[kin.address.joint_qpos], 5)[0]
    assert kin.clearances(after).min() > -2e-3


def test_the_start_may_lie_outside_the_limits(kin, go2):
    targets, qpos = some_targets(kin, (0.0, 0.0, 0.0, 0.0)), kin.stand()
    qpos[kin.address.joint_qpos] = go2.joint_upper + 0.3
    qpos[2] += 0.5
    before = qpos[kin.address.joint_qpos]
    after = aimed(kin, targets, np.zeros(2)).settle(qpos[None], 0, before, 1)[0][kin.address.joint_qpos]
    assert np.all(after < before)


def test_shapes_kept_apart_give_way_to_the_speed_of_the_joints(kin):
    """The box asks every joint to turn, the shapes ask the first one not to."""
    targets, dofs = some_targets(kin, (0.0, 0.0, 0.0, 0.0)), kin.address.joint_dof
    program = aimed(kin, targets, np.zeros(2))
    program.wishes.place(kin.stand()[None])
    (hessian,), (gradient,) = program.wishes.objective(np.array([0]))
    joints, none = np.zeros(12), np.zeros((0, kin.model.nv))
    row = np.zeros((1, kin.model.nv))
    row[0, dofs[0]] = 1.0
    box = np.full(12, 0.1), np.full(12, 0.2)
    step = program.step(hessian, gradient, joints, box, none, np.zeros(0), (row, np.zeros(1)))
    np.testing.assert_allclose(step[dofs], np.clip(step[dofs], 0.1, 0.2), atol=1e-9)
    box = np.full(12, -0.2), np.full(12, 0.2)
    step = program.step(hessian, gradient, joints, box, none, np.zeros(0), (row, np.full(1, -0.15)))
    assert step[dofs[0]] <= -0.15 + 1e-9
