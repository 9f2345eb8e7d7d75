"""Numbers of the report against motions whose numbers are known beforehand."""

import dataclasses
import json

import numpy as np
import pytest

from lagoon.motion.rotations import quat_from_yaw
from lagoon.retarget.quality import foot_slide, measure
from tests.robot_motions import still


@pytest.fixture(name="still")
def _still(go2):
    return still(go2, 40)


def test_standing_still_is_perfect(still, go2):
    report = measure(still, go2)
    assert report.pressure_max == pytest.approx(0, abs=1e-9)
    assert (report.load_min, report.load_max) == (pytest.approx(1, abs=1e-6), pytest.approx(1, abs=1e-6))
    assert report.friction_p90 == pytest.approx(0, abs=1e-9)
    assert report.foot_slide_max == 0
    assert report.penetration_max < 5e-4
    assert report.velocity_use_max == 0
    assert (report.joint_limit_violations, report.velocity_violations) == (0, 0)
    assert report.flight == 0
    assert report.worst == ()
    assert report.duration == pytest.approx(39 / 50)


def test_a_four_legged_stand_on_two_hind_feet_is_off_balance_by_a_known_distance(still, go2, kin):
    contact = np.array(still.foot_contact)
    contact[:, kin.front] = False
    report = measure(dataclasses.replace(still, foot_contact=contact), go2)
    stand = kin.stand()
    expected = kin.com(stand)[0] - kin.feet(stand)[kin.hind, 0].mean()
    assert report.pressure_mean == pytest.approx(expected, abs=1e-6)
    assert report.worst[0].startswith("0.00 s (motion): the pressure point is 19 cm away from RL and RR")


def test_a_slide_on_purpose_is_measured(still, go2):
    root = np.array(still.root_pos_w)
    root[:, 0] += 0.1 * np.arange(40) / 50
    report = measure(dataclasses.replace(still, root_pos_w=root), go2)
    assert report.foot_slide_mean == pytest.approx(0.1)
    assert report.foot_slide_max == pytest.approx(0.1 * 39 / 50)


def test_slides_are_counted_per_contact():
    feet = np.zeros((6, 1, 3))
    feet[:, 0, 0] = [0.0, 0.01, 0.01, 0.5, 0.5, 0.53]
    contact = np.array([[True], [True], [True], [False], [True], [True]])
    speed, farthest = foot_slide(feet, contact, 10.0)
    assert farthest == pytest.approx(0.03)
    assert speed == pytest.approx((0.1 + 0.0 + 0.3) / 3)


def test_a_robot_sunk_into_the_floor_is_told(still, go2, kin):
    root = np.array(still.root_pos_w)
    root[10, 2] -= 0.03
    report = measure(dataclasses.replace(still, root_pos_w=root), go2)
    assert report.penetration_max == pytest.approx(0.03 - kin.clearances(kin.stand()).min(), abs=1e-9)
    assert any("mm below the floor" in text and text.startswith("0.20 s") for text in report.worst)


def test_violations_are_counted(still, go2):
    joints = np.array(still.joint_pos)
    joints[20, 2] = -0.5  # FL calf, upper limit -0.83776
    report = measure(dataclasses.replace(still, joint_pos=joints), go2)
    assert report.joint_limit_violations == 1
    assert report.joint_limit_margin == pytest.approx(-0.33776)
    # Central differences see the jump of 1.3 rad in the frame before and the frame after: 32.5 rad/s.
    assert report.velocity_violations == 2
    assert report.velocity_use_max == pytest.approx(1.3 * 25 / 15.7)
    assert any("FL_calf_joint moves at 207% of its speed limit" in text for text in report.worst)


def test_a_robot_that_touches_itself_is_told(still, go2):
    joints = np.array(still.joint_pos)
    # Both hind legs turned inward as far as they go.
    joints[5, [6, 9]] = [-1.0, 1.0]
    report = measure(dataclasses.replace(still, joint_pos=joints), go2)
    assert report.self_collisions == 1
    assert report.worst[-1].startswith("0.10 s (motion): RL")
    assert measure(still, go2).self_collisions == 0


def test_joint_order_of_the_file_does_not_matter(still, go2):
    order = np.random.default_rng(0).permutation(12)
    joints = np.array(still.joint_pos) + 0.1 * np.sin(np.arange(40))[:, None] * np.arange(12)
    straight = measure(dataclasses.replace(still, joint_pos=joints), go2)
    names = tuple(go2.joint_names[i] for i in order)
    shuffled = measure(dataclasses.replace(still, joint_pos=joints[:, order], joint_names=names), go2)
    assert shuffled == straight


def test_nothing_on_the_floor_is_flight(still, go2):
    report = measure(dataclasses.replace(still, foot_contact=np.zeros((40, 4), bool)), go2)
    assert report.flight == 1
    assert report.pressure_max == 0


def test_heading_and_place_do_not_matter(still, go2):
    joints = np.array(still.joint_pos)
    joints[:, 3] += 0.2 * np.sin(np.arange(40) / 5)
    moved = dataclasses.replace(still, joint_pos=joints)
    quat = np.tile(quat_from_yaw(1.2), (40, 1))
    turned = dataclasses.replace(moved, root_quat_w=quat, root_pos_w=still.root_pos_w + np.array([3.0, 1.0, 0.0]))
    a, b = measure(moved, go2), measure(turned, go2)
    assert a.pressure_max == pytest.approx(b.pressure_max, abs=1e-6)
    assert a.yaw_moment_p90 == pytest.approx(b.yaw_moment_p90, abs=1e-5)


def test_it_can_be_saved_and_printed(still, go2):
    report = measure(still, go2)
    loaded = json.loads(json.dumps(report.to_dict()))
    assert loaded["pressure_mean"] == report.pressure_mean
    assert loaded["segments"] == {"motion": 0.0}
    lines = report.lines()
    assert lines[0] == "body map         given as a robot motion"
    assert any(line.startswith("joint limits     0 violations") for line in lines)
