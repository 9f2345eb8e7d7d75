import mujoco
import numpy as np

from lagoon.motion.rotations import quat_from_rotvec, quat_mul, quat_to_rotvec
from lagoon.retarget.config import RetargetConfig
from lagoon.retarget.kinematics import rotation_errors
from lagoon.retarget.targets import Targets
from lagoon.retarget.wishes import NEAR_FLOOR, TOGETHER, Wishes, evenly
from lagoon.robot import load_robot
from lagoon.sim.contact_forces import contact_shares

CONFIG = RetargetConfig()


def crowd(kin, count):
    """Configurations near the stand, and targets of as many frames."""
    rng = np.random.default_rng(4)
    qpos = np.repeat(kin.stand()[None], count, axis=0)
    for row in qpos:
        mujoco.mj_integratePos(kin.model, row, 0.2 * rng.standard_normal(kin.model.nv), 1.0)
    shape = (count, 4, 3)
    targets = Targets(
        base_quat=quat_from_rotvec(0.3 * rng.standard_normal((count, 3))),
        base_height=rng.uniform(0.2, 0.4, count),
        foot_w=rng.standard_normal(shape),
        grip=rng.choice([0.0, 0.5, 1.0], shape[:2]),
        foot_b=rng.standard_normal(shape),
        knee_b=rng.standard_normal(shape),
        knee_on=rng.choice([0.0, 1.0], shape[:2]),
        contact=np.ones(shape[:2], bool),
        support=rng.standard_normal((count, 2)),
        still=np.ones(count),
        rest=rng.standard_normal((count, 12)),
        pull=rng.uniform(0.0, 0.1, count),
    )
    return qpos, targets


def test_many_frames_at_once_are_the_same_as_one_by_one(kin):
    count = 2 * TOGETHER + 5
    qpos, targets = crowd(kin, count)
    wishes = Wishes(kin, CONFIG)
    wishes.aim(targets, targets.support, targets.rest, targets.pull)
    which = np.delete(np.arange(count), [3, 60])
    wishes.place(qpos[which])
    hessians, gradients = wishes.objective(which)
    rows, room, starts = wishes.floor()
    assert starts[-1] == len(rows) == len(room) > count
    for i, t in enumerate(which):
        wishes.place(qpos[t][None])
        (hessian,), (gradient,) = wishes.objective(np.array([t]))
        np.testing.assert_allclose(hessians[i], hessian, atol=1e-9)
        np.testing.assert_allclose(gradients[i], gradient, atol=1e-9)
        alone = wishes.floor()
        np.testing.assert_allclose(rows[starts[i] : starts[i + 1]], alone[0], atol=1e-12)
        np.testing.assert_allclose(room[starts[i] : starts[i + 1]], alone[1], atol=1e-12)


def test_rows_of_the_floor_are_how_fast_its_points_come_down(kin):
    qpos, _ = crowd(kin, 1)
    wishes = Wishes(kin, CONFIG)
    wishes.place(qpos)
    rows, room, _ = wishes.floor()
    heights = kin.clearances(qpos[0])
    near = np.flatnonzero(heights < NEAR_FLOOR)
    np.testing.assert_allclose(room, heights[near], atol=1e-12)
    for column in range(kin.model.nv):
        sides = []
        for sign in (1e-6, -1e-6):
            moved, step = qpos[0].copy(), np.zeros(kin.model.nv)
            step[column] = sign
            mujoco.mj_integratePos(kin.model, moved, step, 1.0)
            sides.append(kin.clearances(moved)[near])
        np.testing.assert_allclose(rows[:, column], (sides[1] - sides[0]) / 2e-6, atol=1e-6)


def test_a_robot_in_the_air_has_no_point_near_the_floor(kin):
    qpos = kin.stand()[None]
    qpos[:, 2] += 1.0
    wishes = Wishes(kin, CONFIG)
    wishes.place(qpos)
    rows, room, starts = wishes.floor()
    assert rows.shape == (0, kin.model.nv)
    assert len(room) == 0
    assert starts == [0, 0]


def test_rotation_errors_and_their_derivatives():
    rng = np.random.default_rng(2)
    away = np.concatenate([rng.uniform(-1.7, 1.7, (30, 3)), 1e-6 * rng.standard_normal((3, 3)), np.zeros((1, 3))])
    wanted = quat_from_rotvec(rng.standard_normal((len(away), 3)))
    quat = quat_mul(wanted, quat_from_rotvec(away)) * rng.choice([-1.0, 1.0], (len(away), 1))
    angles, derivatives = rotation_errors(wanted, quat)
    np.testing.assert_allclose(angles, away, atol=1e-12)
    for k in range(len(away)):
        angle, derivative = rotation_errors(wanted[k : k + 1], quat[k : k + 1])
        np.testing.assert_allclose(angle[0], angles[k], atol=1e-12)
        np.testing.assert_allclose(derivative[0], derivatives[k], atol=1e-7)
        for axis in range(3):
            turn = np.eye(3)[axis] * 1e-6
            sides = [quat_to_rotvec(quat_mul(quat_from_rotvec(away[k]), quat_from_rotvec(s * turn))) for s in (1, -1)]
            np.testing.assert_allclose(derivatives[k][:, axis], (sides[0] - sides[1]) / 2e-6, atol=1e-5)


def test_even_indices_become_a_slice():
    items = np.arange(20)
    for ids in ([3], [2, 3, 4], [4, 7, 10, 13], [5, 4, 3], [1, 2, 4], [1, 4, 3, 10], [1, 3, 2, 7]):
        found = evenly(np.array(ids))
        np.testing.assert_array_equal(items[found], ids)
    assert evenly(np.array([4, 7, 10])) == slice(4, 11, 3)


def test_contact_forces_of_many_frames_are_least_squares_of_each():
    nv = load_robot("go2").num_joints + 6
    rng = np.random.default_rng(5)
    for feet in (1, 2, 4):
        jacobians, needed = rng.standard_normal((7, 3 * feet, nv)), 50.0 * rng.standard_normal((7, nv))
        shares = contact_shares(jacobians, needed)
        weights = np.tile([1.0, 1.0, 30.0], feet)
        for jacobian, wanted, share in zip(jacobians, needed, shares, strict=True):
            system = np.concatenate([jacobian[:, :6].T * weights, 1e-3 * np.eye(3 * feet)])
            force = weights * np.linalg.lstsq(system, np.r_[wanted[:6], np.zeros(3 * feet)], rcond=None)[0]
            np.testing.assert_allclose(share, jacobian.T @ force, atol=1e-6 * np.abs(share).max())
