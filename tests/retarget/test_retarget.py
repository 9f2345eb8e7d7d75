"""What every retargeted motion must fulfil, on people made of formulae."""

import numpy as np
import pytest

from lagoon.errors import BadInputError
from lagoon.motion.human_motion import HumanMotion
from lagoon.motion.robot_motion import velocity
from lagoon.motion.rotations import quat_rotate
from lagoon.retarget.config import RetargetConfig
from lagoon.retarget.retarget import retarget

CASES = [("waving", "upright"), ("bowing", "upright"), ("marching", "upright"), ("waving", "four_legged")]


def qpos_of(kin, motion):
    rows = zip(motion.root_pos_w, motion.root_quat_w, motion.joint_pos, strict=True)
    return np.array([kin.pack(*row) for row in rows])


def clip(motion):
    """Slice of the frames between lead-in and lead-out."""
    names = list(motion.segment_names)
    i = names.index("motion")
    return slice(int(motion.segment_starts[i]), int(motion.segment_starts[i + 1]))


@pytest.mark.parametrize(("name", "morphology"), CASES)
def test_limits_and_floor_are_respected(retargeted, kin, go2, name, morphology):
    motion, report = retargeted(name, morphology)
    margin = np.minimum(motion.joint_pos - go2.joint_lower, go2.joint_upper - motion.joint_pos)
    assert margin.min() > 0.015
    assert np.all(np.abs(np.diff(motion.joint_pos, axis=0)) * motion.fps <= 0.8 * go2.joint_vel_limit + 1e-9)
    lowest = min(kin.clearances(row).min() for row in qpos_of(kin, motion))
    assert lowest > -0.005
    assert report.joint_limit_violations == 0
    assert report.velocity_violations == 0
    assert report.penetration_max == pytest.approx(max(0.0, -lowest))


@pytest.mark.parametrize(("name", "morphology"), CASES)
def test_it_starts_and_ends_standing_still_on_four_legs(retargeted, go2, name, morphology):
    motion, _ = retargeted(name, morphology)
    start, end = round(0.4 * motion.fps), round(0.5 * motion.fps) + 1
    for frames in (slice(None, start), slice(-end, None)):
        np.testing.assert_allclose(motion.joint_pos[frames] - go2.default_joint_pos, 0, atol=1e-12)
        np.testing.assert_allclose(motion.root_pos_w[frames, 2], go2.default_root_height, atol=1e-12)
        np.testing.assert_allclose(quat_rotate(motion.root_quat_w[frames], np.array([0.0, 0, 1]))[:, 2], 1, atol=1e-9)
        assert np.ptp(motion.root_pos_w[frames], axis=0).max() < 1e-12
        assert motion.foot_contact[frames].all()
    np.testing.assert_allclose(motion.root_pos_w[0, :2], 0, atol=1e-12)
    np.testing.assert_allclose(motion.root_quat_w[0], [1, 0, 0, 0], atol=1e-12)


@pytest.mark.parametrize(("name", "morphology"), CASES)
def test_nothing_jumps(retargeted, name, morphology):
    motion, _ = retargeted(name, morphology)
    speeds = velocity(motion)
    assert np.abs(np.diff(speeds.joint_vel, axis=0)).max() * motion.fps < 150
    assert np.abs(np.diff(speeds.root_lin_vel_w, axis=0)).max() * motion.fps < 12
    assert np.abs(np.diff(speeds.root_ang_vel_b, axis=0)).max() * motion.fps < 60


def test_duration_and_segments_follow_the_conventions(retargeted, go2, people):
    motion, report = retargeted("waving", "upright")
    human = people["waving"]()
    assert motion.fps == pytest.approx(1 / go2.control_dt)
    assert motion.joint_names == go2.joint_names
    assert motion.segment_names == ("stand", "lead_in", "motion", "lead_out", "stand")
    frames = clip(motion)
    assert frames.stop - frames.start == int(np.floor(human.duration * motion.fps + 1e-9)) + 1
    assert report.duration == pytest.approx((motion.num_frames - 1) / motion.fps)
    assert motion.foot_contact.shape == (motion.num_frames, 4)


@pytest.mark.parametrize("name", ["waving", "bowing"])
def test_upright_it_balances_over_planted_hind_feet(retargeted, kin, name):
    motion, report = retargeted(name, "upright")
    frames = clip(motion)
    qpos = qpos_of(kin, motion)[frames]
    up = quat_rotate(motion.root_quat_w[frames], np.array([1.0, 0.0, 0.0]))
    assert up[:, 2].min() > np.cos(0.97)
    assert up[0, 2] > 0.98
    feet = np.array([kin.feet(row) for row in qpos])[:, kin.hind, :2]
    assert np.ptp(feet, axis=0).max() < 0.003
    com = np.array([kin.com(row) for row in qpos])
    assert np.abs(com[:, 0] - feet[:, :, 0].mean(axis=1)).max() < 0.015
    assert np.all((com[:, 1] > feet[:, 1, 1] + 0.05) & (com[:, 1] < feet[:, 0, 1] - 0.05))
    assert report.pressure_p90 < 0.01
    # The belly faces the way the person faces.
    assert quat_rotate(motion.root_quat_w[frames][0], np.array([0.0, 0.0, -1.0]))[0] > 0.95


def test_a_deep_bow_is_limited_and_still_a_bow(retargeted):
    motion, _ = retargeted("bowing", "upright")
    up = quat_rotate(motion.root_quat_w[clip(motion)], np.array([1.0, 0.0, 0.0]))
    tilt = np.arccos(np.clip(up[:, 2], -1, 1))
    assert 0.6 < tilt.max() < 0.97
    assert up[tilt.argmax(), 0] > 0.5


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("morphology", ["upright", "four_legged"])
def test_left_stays_left(retargeted, go2, side, morphology):
    motion, _ = retargeted("waving", morphology, side=side)
    moved = np.ptp(motion.joint_pos[clip(motion)], axis=0)
    waving, other = ("FL", "FR") if side == "left" else ("FR", "FL")
    swing = {name: moved[go2.joint_ids(go2.leg(name).joints)].sum() for name in (waving, other)}
    assert swing[waving] > 2.0
    assert swing[waving] > 3.0 * swing[other]


def test_front_feet_leave_the_floor_only_upright(retargeted, kin):
    upright, _ = retargeted("waving", "upright")
    front = np.array([kin.feet(row) for row in qpos_of(kin, upright)])[clip(upright)][:, kin.front, 2]
    assert front.min() > 0.3
    level, _ = retargeted("waving", "four_legged")
    contact = level.foot_contact[clip(level)]
    assert contact[:, [0, 2, 3]].all()
    assert not contact[len(contact) // 2, 1]


def test_contact_feet_slide_little(retargeted):
    for name, morphology in CASES:
        _, report = retargeted(name, morphology)
        assert report.foot_slide_mean < 0.03, (name, morphology)
    assert retargeted("waving", "four_legged")[1].foot_slide_max < 0.01
    # Whoever steps puts the feet down and leaves them there; smoothing the joints alone gave 1 cm/s.
    assert retargeted("marching", "upright")[1].foot_slide_mean < 0.006


def test_mirrored_people_give_mirrored_robots(retargeted):
    right, _ = retargeted("waving", "upright", side="right")
    left, _ = retargeted("waving", "upright", side="left")
    mirror = [3, 4, 5, 0, 1, 2, 9, 10, 11, 6, 7, 8]
    sign = np.array([-1, 1, 1] * 4)
    np.testing.assert_allclose(left.joint_pos[:, mirror] * sign, right.joint_pos, atol=0.03)


def test_crawling_is_done_on_four_legs_with_a_level_base(retargeted):
    motion, report = retargeted("crawling")
    assert report.morphology == "four_legged"
    up = quat_rotate(motion.root_quat_w, np.array([0.0, 0.0, 1.0]))[:, 2]
    assert up.min() > np.cos(0.3)


def test_same_input_gives_the_same_motion(go2, people):
    config = RetargetConfig(morphology="four_legged", passes=2)
    first, second = (retarget(people["standing"](), go2, config)[0] for _ in range(2))
    np.testing.assert_array_equal(first.joint_pos, second.joint_pos)


def test_progress_reaches_one(go2, people):
    heard = []
    config = RetargetConfig(morphology="four_legged", passes=2)
    retarget(people["standing"](), go2, config, lambda fraction, message="": heard.append(fraction))
    assert heard == sorted(heard)
    assert heard[-1] == 1.0


def test_a_missing_joint_is_named(go2, people):
    whole = people["standing"]()
    keep = [i for i, name in enumerate(whole.joint_names) if name != "left_wrist"]
    torso = HumanMotion(20.0, [whole.joint_names[i] for i in keep], whole.joint_pos_w[:, keep])
    with pytest.raises(BadInputError, match=r"lacks the joint\(s\) left_wrist\. Retargeting needs: left_hip"):
        retarget(torso, go2, RetargetConfig())
