import numpy as np
import pytest

from lagoon.motion.rotations import quat_rotate
from lagoon.retarget.targets import ease


def stretch(motion, name):
    i = list(motion.segment_names).index(name)
    return slice(int(motion.segment_starts[i]), int(motion.segment_starts[i + 1]))


def feet_of(kin, motion):
    rows = zip(motion.root_pos_w, motion.root_quat_w, motion.joint_pos, strict=True)
    return np.array([kin.feet(kin.pack(*row)) for row in rows])


def test_ease_leaves_and_arrives_at_rest():
    u = ease(50)
    assert u[-1] == pytest.approx(1)
    assert np.all(np.diff(u) > 0)
    assert u[0] < 1e-3
    assert u[-1] - u[-2] < 1e-3
    assert u[24] == pytest.approx(0.5, abs=1e-9)


def test_front_feet_lift_only_once_the_mass_is_over_the_hind_feet(retargeted, kin):
    motion, _ = retargeted("waving", "upright")
    frames = stretch(motion, "lead_in")
    feet = feet_of(kin, motion)[frames]
    lifted = np.flatnonzero(feet[:, kin.front, 2].min(axis=1) > kin.robot.foot_radius + 0.01)[0]
    row = frames.start + lifted
    com = kin.com(kin.pack(motion.root_pos_w[row], motion.root_quat_w[row], motion.joint_pos[row]))
    assert abs(com[0] - feet[lifted, kin.hind, 0].mean()) < 0.02
    # Nobody slides before: all four feet are where they stood.
    np.testing.assert_allclose(feet[: lifted - 8, :, :2], feet[:1, :, :2].repeat(lifted - 8, 0), atol=0.006)


def test_the_way_down_is_the_way_up_backwards_for_a_person_who_stands_still(retargeted):
    motion, _ = retargeted("standing", "upright")
    up = motion.joint_pos[stretch(motion, "lead_in")]
    down = motion.joint_pos[stretch(motion, "lead_out")]
    assert len(up) == len(down)
    np.testing.assert_allclose(up, down[::-1], atol=0.06)


def test_lead_of_a_clip_that_steps_moves_one_hind_foot_at_a_time(retargeted, kin):
    motion, _ = retargeted("marching", "upright")
    contact = motion.foot_contact[stretch(motion, "lead_in")]
    level = quat_rotate(motion.root_quat_w, np.array([1.0, 0, 0]))[stretch(motion, "lead_in"), 2] < 0.2
    assert contact[level].sum(axis=1).min() == 3
    assert (~contact[level][:, kin.hind]).any(axis=0).all()


def test_four_legged_lead_keeps_all_feet_on_the_floor(retargeted, kin):
    motion, _ = retargeted("waving", "four_legged")
    for name in ("lead_in", "lead_out"):
        assert motion.foot_contact[stretch(motion, name)].all()
    feet = feet_of(kin, motion)[stretch(motion, "lead_in")]
    assert np.ptp(feet, axis=0).max() < 0.003


def test_a_handstand_leans_forward_before_the_hind_feet_leave_the_floor(retargeted, kin):
    motion, report = retargeted("on_hands", "handstand")
    frames = stretch(motion, "lead_in")
    feet = feet_of(kin, motion)[frames]
    lifted = np.flatnonzero(feet[:, kin.hind, 2].max(axis=1) > kin.robot.foot_radius + 0.01)[0]
    row = frames.start + lifted
    com = kin.com(kin.pack(motion.root_pos_w[row], motion.root_quat_w[row], motion.joint_pos[row]))
    assert abs(com[0] - feet[lifted, kin.front, 0].mean()) < 0.02
    np.testing.assert_allclose(feet[: lifted - 8, :, :2], feet[:1, :, :2].repeat(lifted - 8, 0), atol=0.006)
    # In the clip the head is down, the front feet carry alone, and the robot faced +X before.
    clip = stretch(motion, "motion")
    assert quat_rotate(motion.root_quat_w[clip], np.array([1.0, 0.0, 0.0]))[:, 2].max() < -0.9
    assert motion.foot_contact[clip][:, kin.front].all()
    assert not motion.foot_contact[clip][:, kin.hind].any()
    np.testing.assert_allclose(motion.root_quat_w[0], [1, 0, 0, 0], atol=1e-12)
    assert report.pressure_p90 < 0.01
