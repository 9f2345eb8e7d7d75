import dataclasses
import re

import mujoco
import numpy as np
import pytest
import torch

from lagoon.deploy.config import EvaluateConfig
from lagoon.deploy.tracking import BaseShape, ReferenceTrack, Tracker, foot_positions_b, loaded_feet
from lagoon.motion.rotations import (
    quat_from_axis_angle,
    quat_from_rotvec,
    quat_from_yaw,
    quat_mul,
    quat_rotate,
    quat_rotate_inverse,
)
from lagoon.sim.backend import SimState
from lagoon.sim.model import CHECKING, Addresses, build_model
from lagoon.sim.mujoco_backend import FootState, MujocoBackend

Y = np.array([0.0, 1.0, 0.0])
NOT_BROKEN = np.zeros(1, dtype=bool)


@pytest.fixture(scope="module")
def model(robot):
    return build_model(robot, CHECKING)


@pytest.fixture(scope="module")
def shape(robot, model):
    return BaseShape.of(model, Addresses.of(model, robot).base_body)


def test_clearance_agrees_with_mujoco_distances(robot, model, shape):
    data, at = mujoco.MjData(model), Addresses.of(model, robot)
    floor = model.geom("floor").id
    geoms = [g for g in range(model.ngeom) if model.geom_bodyid[g] == at.base_body and model.geom_group[g] in (3, 4)]
    rng = np.random.default_rng(0)
    for quat in quat_from_rotvec(rng.normal(size=(40, 3))):
        data.qpos[:3], data.qpos[3:7] = [0.3, -0.2, rng.uniform(0.3, 0.8)], quat
        mujoco.mj_forward(model, data)
        wanted = min(mujoco.mj_geomDistance(model, data, g, floor, 2.0, None) for g in geoms)
        assert shape.clearance(data.qpos[:3].copy(), quat) == pytest.approx(wanted, abs=1e-6)


def test_foot_positions_agree_with_the_running_simulator(robot, model):
    backend = MujocoBackend(robot, 3, CHECKING, watch_feet=True)
    zeros = torch.zeros(3, 3)
    pose = torch.from_numpy(np.tile(robot.default_joint_pos, (3, 1)).astype(np.float32))
    quat = torch.from_numpy(quat_from_yaw(np.array([0.0, 1.0, -2.0])).astype(np.float32))
    position = torch.tensor([[0.0, 0.0, 0.288]]).repeat(3, 1)
    backend.set_state(torch.arange(3), SimState(position, quat, zeros, zeros, pose, torch.zeros_like(pose)))
    for _ in range(25):
        backend.step(pose)
    feet = backend.feet()
    measured = quat_rotate_inverse(feet.base_quat_w[:, None], feet.pos_w - feet.base_pos_w[:, None])
    computed = foot_positions_b(backend.state().joint_pos.numpy().astype(float), robot, model)
    np.testing.assert_allclose(measured, computed, atol=2e-4)
    assert loaded_feet(feet, robot.foot_radius).all()
    backend.close()


def feet_at(pos_w, quat_w=(1.0, 0.0, 0.0, 0.0)):
    pos = np.broadcast_to(np.asarray(pos_w, float), (1, 4, 3))
    level = np.array([[1.0, 0.0, 0.0, 0.0]])
    return FootState(pos, np.broadcast_to(np.asarray(quat_w, float), (1, 4, 4)), np.zeros((1, 3)), level)


def tracker_of(robot, model, motion, heading=0.0, **config):
    reference = ReferenceTrack(motion, robot, model)
    return Tracker(reference, EvaluateConfig(**config), np.array([heading]), robot.torque_limit[None])


def state_at(robot, height=None, quat=(1.0, 0.0, 0.0, 0.0), joints=None):
    as_tensor = lambda a: torch.tensor(np.asarray(a, dtype=np.float32))[None]  # noqa: E731
    return SimState(
        as_tensor([0.0, 0.0, robot.default_root_height if height is None else height]),
        as_tensor(quat),
        torch.zeros(1, 3),
        torch.zeros(1, 3),
        as_tensor(robot.default_joint_pos if joints is None else joints),
        torch.zeros(1, 12),
    )


def observe(tracker, state, tick=1, feet=None, torques=None, broken=NOT_BROKEN):
    torques = np.zeros((1, 12)) if torques is None else torques
    return tracker.observe(tick, state, feet_at([0, 0, 0.022]) if feet is None else feet, torques, broken)


def last(tracker, name):
    return float(tracker.errors[name][-1][0])


def test_a_perfect_robot_has_no_error_whatever_its_heading(robot, model, stand):
    for heading in (0.0, 1.3, -3.0):
        tracker = tracker_of(robot, model, stand, heading)
        fell = observe(tracker, state_at(robot, quat=quat_from_yaw(heading)))
        assert not fell.any() and tracker.alive.all()
        for name in ("joint_error", "tilt_error", "orientation_error", "height_error", "heading_error"):
            assert last(tracker, name) == pytest.approx(0.0, abs=1e-6), name


def test_errors_are_the_numbers_put_in(robot, model, stand):
    tracker = tracker_of(robot, model, stand, heading=0.5)
    joints = robot.default_joint_pos + np.r_[0.12, np.zeros(11)]
    quat = quat_mul(quat_from_yaw(0.5 + 0.2), quat_from_axis_angle(Y, 0.3))
    torques = np.zeros((1, 12))
    torques[0, :2] = [robot.torque_limit[0], -robot.torque_limit[1] / 2]
    observe(tracker, state_at(robot, robot.default_root_height + 0.05, quat, joints), torques=torques)
    assert last(tracker, "joint_error") == pytest.approx(0.01, abs=1e-6)
    assert last(tracker, "tilt_error") == pytest.approx(0.3, abs=1e-6)
    assert last(tracker, "heading_error") == pytest.approx(0.2, abs=1e-6)
    assert last(tracker, "height_error") == pytest.approx(0.05, abs=1e-6)
    assert 0.3 < last(tracker, "orientation_error") < 0.5
    assert last(tracker, "torque_share") == pytest.approx(1.5 / 12)
    assert last(tracker, "torque_saturated") == pytest.approx(1 / 12)


def test_foot_error_is_measured_in_the_base_frame(robot, model, stand):
    tracker = tracker_of(robot, model, stand)
    base, quat = np.array([[3.0, -2.0, 0.3]]), quat_from_yaw(np.array([2.0]))
    wanted = foot_positions_b(robot.default_joint_pos[None], robot, model)[0]
    for offset in (0.0, 0.03):
        world = base[:, None] + quat_rotate(quat[:, None], wanted[None] + np.array([offset, 0.0, 0.0]))
        observe(tracker, state_at(robot), feet=FootState(world, np.tile(quat[:, None], (1, 4, 1)), base, quat))
        assert last(tracker, "foot_error") == pytest.approx(offset, abs=1e-9)


def test_joint_at_its_stop_is_counted(robot, model, stand):
    tracker = tracker_of(robot, model, stand)
    joints = robot.default_joint_pos.copy()
    joints[2] = robot.joint_lower[2] + 0.01
    observe(tracker, state_at(robot, joints=joints))
    assert last(tracker, "joint_at_limit") == pytest.approx(1 / 12)


@pytest.mark.parametrize(
    ("state", "cause"),
    [
        ({"quat": quat_from_axis_angle(Y, 1.05)}, "tilted 1 rad away"),
        ({"height": 0.06}, "trunk or head on the floor|0.2 m too"),
        ({"height": 0.288 + 0.21}, "0.2 m too high or too low"),
        ({"height": 0.05}, "trunk or head on the floor"),
    ],
)
def test_falls_and_their_causes(robot, model, stand, state, cause):
    tracker = tracker_of(robot, model, stand)
    assert observe(tracker, state_at(robot, **state), tick=7).tolist() == [True]
    assert tracker.fall_tick.tolist() == [7] and re.search(cause, tracker.fall_cause[0])
    assert np.isnan(last(tracker, "joint_error"))
    assert not observe(tracker, state_at(robot), tick=8).any() and tracker.fall_tick.tolist() == [7]


def test_near_falls_are_not_falls(robot, model, stand):
    tracker = tracker_of(robot, model, stand)
    assert not observe(tracker, state_at(robot, 0.288 + 0.19)).any()
    assert not observe(tracker, state_at(robot, 0.45, quat_from_axis_angle(Y, 0.95))).any()


def test_broken_trials_fall_and_poison_nothing(robot, model, stand):
    tracker = tracker_of(robot, model, stand)
    state = state_at(robot)
    state.joint_pos[:] = np.nan
    assert observe(tracker, state, broken=np.array([True])).all()
    assert "not finite" in tracker.fall_cause[0]


def test_a_trunk_may_touch_the_floor_where_the_reference_does(robot, model, stand):
    lying = stand.root_pos_w.copy()
    lying[:, 2] = 0.075
    motion = dataclasses.replace(stand, root_pos_w=lying)
    tracker = tracker_of(robot, model, motion)
    assert tracker.reference.clearance[0] < 0.03
    assert not observe(tracker, state_at(robot, height=0.05)).any()


def test_slip_is_sliding_not_rolling(robot, model, stand):
    r, dt = robot.foot_radius, robot.control_dt

    def speed(pos_w, quat_w):
        tracker = tracker_of(robot, model, stand)
        observe(tracker, state_at(robot), feet=feet_at([0, 0, r]))
        observe(tracker, state_at(robot), feet=feet_at(pos_w, quat_w))
        return last(tracker, "foot_slip")

    still = [1.0, 0.0, 0.0, 0.0]
    assert speed([0.002, 0, r], still) == pytest.approx(0.002 / dt)
    # Turning about +Y by an angle rolls the foot forward by radius * angle.
    assert speed([0.1 * r, 0, r], quat_from_axis_angle(Y, 0.1)) == pytest.approx(0.0, abs=1e-9)
    assert speed([0, 0, r], quat_from_axis_angle(Y, 0.1)) == pytest.approx(0.1 * r / dt)
    assert np.isnan(speed([0.002, 0, r + 0.01], still))


@pytest.mark.parametrize(
    ("state", "foot_height", "cause"),
    [
        ({}, 0.0, ""),
        ({"quat": quat_from_axis_angle(Y, 0.4)}, 0.0, "ended tilted more than 0.3 rad"),
        ({}, 0.03, "ended with a foot more than 2 cm off the floor"),
        ({"joints": "far"}, 0.0, "ended with the joints more than 0.2 rad off the stand"),
    ],
)
def test_the_end_must_be_the_stand(robot, model, stand, state, foot_height, cause):
    tracker = tracker_of(robot, model, stand)
    state = dict(state)
    if state.get("joints"):
        state["joints"] = robot.default_joint_pos + 0.25
    tracker.finish(105, state_at(robot, **state), feet_at([0, 0, robot.foot_radius + foot_height]))
    assert tracker.fall_cause == [cause] and tracker.alive.tolist() == [cause == ""]
