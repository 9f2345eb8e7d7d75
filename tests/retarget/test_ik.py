import dataclasses

import numpy as np
import pytest

from lagoon.motion.rotations import quat_from_axis_angle, quat_from_rotvec, quat_mul
from lagoon.retarget.config import RetargetConfig
from lagoon.retarget.ik import WholeBodyIK, smooth, softened, within_speed
from lagoon.retarget.kinematics import self_collisions
from lagoon.retarget.targets import Targets

CONFIG = RetargetConfig()


def stand_targets(kin, frames=1):
    stand = kin.stand()
    foot_b, knee_b = kin.points_b(stand)
    feet = kin.feet(stand)
    one = Targets(
        base_quat=stand[None, 3:7],
        base_height=stand[None, 2],
        foot_w=feet[None],
        grip=np.ones((1, 4)),
        foot_b=foot_b[None],
        knee_b=knee_b[None],
        knee_on=np.zeros((1, 4)),
        contact=np.ones((1, 4), bool),
        support=kin.com(stand)[None, :2],
        still=np.ones(1),
        rest=stand[None, kin.address.joint_qpos],
        pull=np.full(1, CONFIG.weight_posture),
    )
    return one.frame(0, frames)


@pytest.fixture(scope="module")
def ik(kin):
    return WholeBodyIK(kin, CONFIG, 50.0)


def test_the_stand_solves_to_itself(kin, ik):
    start = kin.stand()
    start[kin.address.joint_qpos] += 0.1
    start[2] += 0.03
    np.testing.assert_allclose(ik.pose(stand_targets(kin), start), kin.stand(), atol=3e-3)


def test_a_reachable_pose_is_reached(kin, ik):
    targets = stand_targets(kin)
    goal = kin.stand()
    goal[3:7] = quat_from_rotvec(np.array([0.1, -0.15, 0.2]))
    goal[kin.address.joint_qpos] += 0.15 * np.sin(np.arange(12))
    goal[2] += 0.1
    foot_b = kin.points_b(goal)[0]
    feet = kin.feet(goal)
    targets = targets.with_(
        base_height=goal[None, 2],
        base_quat=goal[None, 3:7],
        foot_w=feet[None],
        foot_b=foot_b[None],
        support=kin.com(goal)[None, :2],
    )
    solved = ik.pose(targets, kin.stand(), iterations=100)
    np.testing.assert_allclose(kin.feet(solved), feet, atol=2e-3)
    np.testing.assert_allclose(kin.com(solved)[:2], kin.com(goal)[:2], atol=2e-3)


def test_an_unreachable_foot_stops_at_the_joint_limits(kin, ik, go2):
    targets = stand_targets(kin)
    foot_b = np.array(targets.foot_b)
    foot_b[0, 0] += np.array([0.5, 0.5, 0.5])
    grip = np.ones((1, 4))
    grip[0, 0] = 0.0
    solved = ik.pose(targets.with_(foot_b=foot_b, grip=grip), kin.stand())[kin.address.joint_qpos]
    margin = np.minimum(solved - go2.joint_lower, go2.joint_upper - solved)
    assert margin.min() == pytest.approx(CONFIG.limit_margin, abs=1e-3)


def test_a_target_below_the_floor_is_not_followed(kin, ik):
    targets = stand_targets(kin)
    foot_w = np.array(targets.foot_w)
    foot_w[..., 2] -= 0.1
    height = targets.base_height - 0.1
    solved = ik.pose(targets.with_(foot_w=foot_w, base_height=height), kin.stand())
    assert kin.clearances(solved).min() > -5e-4


def test_a_jump_is_spread_over_time_by_the_velocity_limit(kin, go2):
    config = dataclasses.replace(CONFIG, passes=1, velocity_share=0.2)
    targets = stand_targets(kin, 30)
    goal = kin.stand()
    goal[kin.address.joint_qpos[0:3]] = [0.6, -0.4, -1.2]
    foot_b, grip = np.array(targets.foot_b), np.array(targets.grip)
    foot_b[5:] = kin.points_b(goal)[0]
    grip[:, 0] = 0.0
    qpos = WholeBodyIK(kin, config, 50.0).solve(targets.with_(foot_b=foot_b, grip=grip), kin.stand(), sigma=0.0)
    speed = np.abs(np.diff(qpos[:, kin.address.joint_qpos], axis=0)) * 50
    assert np.all(speed <= 0.2 * go2.joint_vel_limit + 1e-6)
    assert (speed / (0.2 * go2.joint_vel_limit)).max() > 0.99
    np.testing.assert_allclose(kin.points_b(qpos[-1])[0][0], foot_b[-1, 0], atol=0.01)


def test_balance_wins_over_a_trunk_that_leans(kin, ik):
    # Nose down by 0.5 rad on hind feet only: the centre of mass stays over them, the trunk gives way.
    targets = stand_targets(kin)
    quarter = quat_from_axis_angle(np.array([0.0, 1.0, 0.0]), -np.pi / 2 + 0.5)
    rest = np.array(targets.rest)
    rest[0, kin.leg_joints[kin.hind, 1]] += np.pi / 2
    grip, contact = np.ones((1, 4)), np.ones((1, 4), bool)
    grip[0, kin.front], contact[0, kin.front] = 0.0, False
    support = targets.foot_w[0, kin.hind, :2].mean(axis=0)[None]
    targets = targets.with_(
        base_quat=quarter[None], base_height=np.array([0.5]), grip=grip, contact=contact, support=support, rest=rest
    )
    start = kin.stand()
    start[3:7], start[2] = quarter, 0.5
    start[kin.address.joint_qpos] = rest[0]
    solved = ik.pose(targets, start, iterations=150)
    np.testing.assert_allclose(kin.com(solved)[:2], support[0], atol=0.01)
    np.testing.assert_allclose(kin.feet(solved)[kin.hind], targets.foot_w[0, kin.hind], atol=0.005)


def test_joints_that_are_too_fast_come_as_far_as_they_may():
    path = np.zeros((5, 8))
    path[2:, 7] = 0.25
    kept = within_speed(path, np.array([7]), np.zeros(1), np.full((len(path), 1), 0.1))
    np.testing.assert_allclose(kept[:, 7], [0.0, 0.0, 0.1, 0.2, 0.25])
    assert within_speed(kept, np.array([7]), np.zeros(1), np.full((len(path), 1), 0.1)) is kept


def test_only_the_stretch_that_needs_it_is_softened():
    qpos = np.zeros((60, 8))
    qpos[:, 3] = np.where(np.arange(60) % 3, 1.0, -1.0)  # One orientation, told with either sign.
    qpos[::2, 7] = 0.2
    soft = softened(qpos, [(20, 30)], 2.0, 5.0)
    np.testing.assert_array_equal(soft[np.r_[0:15, 36:60]], qpos[np.r_[0:15, 36:60]])
    assert np.ptp(soft[20:31, 7]) < 0.02
    np.testing.assert_allclose(np.abs(soft[:, 3]), 1.0)


def test_smoothing_keeps_the_quaternion_unit_and_ignores_its_sign():
    turn = quat_from_axis_angle(np.array([0.0, 0.0, 1.0]), np.linspace(0, 1, 30))
    qpos = np.zeros((30, 19))
    qpos[:, 3:7] = turn
    qpos[10:20, 3:7] *= -1
    smoothed = smooth(qpos, 2.0)
    np.testing.assert_allclose(np.linalg.norm(smoothed[:, 3:7], axis=1), 1, atol=1e-12)
    assert np.sum(smoothed[1:, 3:7] * smoothed[:-1, 3:7], axis=1).min() > 0.99
    back = quat_mul(turn * np.array([1, -1, -1, -1]), smoothed[:, 3:7])
    assert np.abs(back[5:-5, 1:]).max() < 0.02
    np.testing.assert_array_equal(smooth(qpos, 0.0), qpos)


def test_shapes_that_would_touch_are_kept_apart(kin, go2):
    """A front foot is asked for inside the thigh behind it."""
    stand = kin.stand()
    stand[2] += 0.5
    targets = stand_targets(kin, 60)
    knee_b = kin.points_b(stand)[1]
    foot_b = np.repeat(targets.foot_b, 1, axis=0)
    foot_b[:, 1] += np.linspace(0.0, 1.0, 60)[:, None] * (knee_b[3] + np.array([0.0, 0.0, 0.1]) - foot_b[0, 1])
    lifted = targets.foot_w + np.array([0.0, 0.0, 0.5])
    targets = targets.with_(foot_b=foot_b, foot_w=lifted, base_height=targets.base_height + 0.5)
    targets.grip[:, 1] = 0.0
    free = WholeBodyIK(kin, dataclasses.replace(CONFIG, passes=2), 50.0)
    touches = self_collisions(go2, free.solve(targets, stand, 0.0))
    assert touches
    free.keep_apart({(a, b) for _, a, b in touches})
    apart = free.solve(targets, stand, 0.0)
    assert not {(a, b) for _, a, b in touches} & {(a, b) for _, a, b in self_collisions(go2, apart)}
    # The other three feet are where they are wanted.
    np.testing.assert_allclose(kin.feet(apart[-1])[[0, 2, 3]], lifted[-1, [0, 2, 3]], atol=5e-3)


def test_a_leg_caught_at_its_limits_comes_free(kin, ik):
    start = kin.stand()
    start[kin.address.joint_qpos[kin.leg_joints[3]]] = [
        1.03,
        -0.5,
        -2.7,
    ]  # Folded outward, the foot far from its place.
    solved = ik.solve(stand_targets(kin, 40), start, 1.5)
    np.testing.assert_allclose(solved[-1], kin.stand(), atol=5e-3)
    speed = np.abs(np.diff(solved[:, 7:], axis=0)) * 50.0
    assert (speed <= kin.robot.joint_vel_limit + 1e-6).all()


def test_feet_that_step_are_back_at_their_places_after_smoothing(kin, ik):
    """The front left foot is lifted and put down 6 cm ahead; smoothing alone moves it before and after."""
    targets = stand_targets(kin, 80)
    swing = np.clip((np.arange(80) - 30) / 15.0, 0.0, 1.0)
    ahead = np.stack([0.06 * swing, 0.0 * swing, 0.06 * np.sin(np.pi * swing) ** 2], axis=1)
    foot_w = np.array(targets.foot_w)
    foot_w[:, 0] += ahead
    targets = targets.with_(foot_w=foot_w, foot_b=targets.foot_b + ahead[:, None] * np.array([1.0, 0, 0, 0])[:, None])
    targets.contact[30:46, 0] = False
    off = {}
    for hold in (False, True):
        qpos = ik.solve(targets, kin.stand(), 4.0, hold=hold)
        feet = np.array([kin.feet(row) for row in qpos])[:, 0, :2]
        off[hold] = np.linalg.norm(feet - foot_w[:, 0, :2], axis=1)[targets.contact[:, 0]].max()
        speed = np.abs(np.diff(qpos[:, 7:], axis=0)) * 50.0
        assert (speed <= kin.robot.joint_vel_limit).all()
    assert off[False] > 0.003
    assert off[True] < 0.4 * off[False]
