import numpy as np
import pytest

from lagoon.errors import BadInputError
from lagoon.robot import load_robot
from lagoon.sim.description.source import read_source


def test_numbers_of_a_urdf_arrive(urdf):
    source = read_source(urdf())
    assert [leg.name for leg in source.legs] == ["FL", "FR", "RL", "RR"]
    leg = source.legs[1]
    assert [joint.name for joint in leg.joints] == ["FR_abduct", "FR_swing", "FR_knee"]
    np.testing.assert_allclose(leg.hip_pos_b, [0.2, -0.05, 0], atol=1e-9)
    np.testing.assert_allclose(leg.thigh_offset, [0, -0.08, 0], atol=1e-9)
    np.testing.assert_allclose(leg.calf_offset, [0.01, 0, -0.2], atol=1e-9)
    np.testing.assert_allclose(leg.foot_offset, [0, 0, -0.2], atol=1e-9)
    assert leg.foot_radius == pytest.approx(0.025)
    knee = leg.joints[2]
    assert (knee.lower, knee.upper, knee.torque, knee.velocity, knee.sign) == (-2.6, -0.5, 30.0, 21.0, 1)
    assert source.base.mass == pytest.approx(8.0)
    assert [link.mass for link in leg.links] == pytest.approx([0.6, 1.0, 0.3])


def test_the_order_of_legs_in_the_file_changes_nothing_but_the_motors(urdf):
    usual, other = read_source(urdf()), read_source(urdf(order=("RR", "FL", "RL", "FR")))
    assert [leg.name for leg in other.legs] == [leg.name for leg in usual.legs]
    for a, b in zip(usual.legs, other.legs, strict=True):
        np.testing.assert_allclose(a.hip_pos_b, b.hip_pos_b)


def test_an_axis_that_points_the_other_way_is_turned_with_its_limits(urdf):
    source = read_source(urdf(flipped=("RL_knee", "FR_abduct")))
    knee, hip = source.legs[2].joints[2], source.legs[1].joints[0]
    assert (knee.sign, knee.lower, knee.upper) == (-1, -2.6, -0.5)
    assert (hip.sign, hip.lower, hip.upper) == (-1, -0.8, 0.9)
    assert any("RL_knee" in note and "-Y" in note for note in source.notes)


def test_link_frames_that_are_turned_against_the_base_describe_the_same_robot(urdf):
    usual, turned = read_source(urdf()), read_source(urdf(turned=True))
    for a, b in zip(usual.legs, turned.legs, strict=True):
        for key in ("hip_pos_b", "thigh_offset", "calf_offset", "foot_offset"):
            np.testing.assert_allclose(getattr(a, key), getattr(b, key), atol=1e-9)
        assert [j.sign for j in b.joints] == [1, 1, 1]
        # The thigh's frame is parallel to the base in both files, so its inertia is the same.
        np.testing.assert_allclose(a.links[1].pos, b.links[1].pos, atol=1e-9)


def test_feet_without_a_sphere_are_the_far_end_of_the_shape(urdf):
    leg = read_source(urdf(sphere=False)).legs[0]
    np.testing.assert_allclose(leg.foot_offset, [0, 0, -0.2], atol=1e-9)
    assert leg.foot_radius is None


def test_missing_limits_are_none_and_not_zero(urdf):
    joint = read_source(urdf(limits=False)).legs[0].joints[1]
    assert (joint.lower, joint.upper, joint.torque, joint.velocity) == (None, None, None, None)


def test_an_arm_is_refused_by_name_and_can_be_locked(urdf):
    path = urdf(arm=True)
    with pytest.raises(BadInputError, match=r"further joints: arm_1.*lock="):
        read_source(path)
    source = read_source(path, locked=("arm_1",))
    assert source.base.mass == pytest.approx(8.5)
    with pytest.raises(BadInputError, match=r"'arm_9', which .* does not have"):
        read_source(path, locked=("arm_9",))


def test_a_slanted_axis_is_refused_by_name(urdf):
    with pytest.raises(BadInputError, match=r"'FL_swing' .* turns about"):
        read_source(urdf(diagonal_thigh=True))


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("nonsense", "is not XML"),
        ("<html/>", "begins with <html>"),
        ('<robot name="x"><link name="a"/></robot>', "0 moving trees|cannot read|cannot compile"),
        ("<mujoco><worldbody/></mujoco>", "0 moving trees"),
    ],
)
def test_other_files_are_refused(tmp_path, text, wanted):
    path = tmp_path / "x.xml"
    path.write_text(text)
    with pytest.raises(BadInputError, match=wanted):
        read_source(path)
    with pytest.raises(BadInputError, match="There is no file"):
        read_source(tmp_path / "none.xml")


def test_reading_the_go2_back_gives_its_own_numbers():
    robot = load_robot("go2")
    source = read_source(robot.model_path)
    assert source.motors == robot.motor_names
    for read, leg in zip(source.legs, robot.legs, strict=True):
        assert tuple(joint.name for joint in read.joints) == leg.joints
        for key in ("hip_pos_b", "thigh_offset", "calf_offset", "foot_offset"):
            np.testing.assert_allclose(getattr(read, key), getattr(leg, key), atol=1e-9)


def test_an_inertia_that_is_no_solid_bodys_is_made_even_and_named(urdf):
    path = urdf()
    thigh = path.read_text().index('<link name="RL_thigh">')
    text = path.read_text()
    path.write_text(text[:thigh] + text[thigh:].replace('iyy="0.02"', 'iyy="0.2"', 1))
    source = read_source(path)
    np.testing.assert_allclose(source.legs[2].links[1].diagonal, (0.01 + 0.2 + 0.015) / 3)
    assert any("Inertias of RL_thigh are no solid body's" in note for note in source.notes)
    assert not any("RR_thigh" in note for note in source.notes)


def test_a_link_without_inertia_is_refused_by_name(urdf):
    path = urdf()
    path.write_text(
        path.read_text().replace('ixx="0.01" iyy="0.02" izz="0.015" ixy="0.001"', 'ixx="0" iyy="0" izz="0" ixy="0"', 1)
    )
    with pytest.raises(BadInputError, match=r"cannot compile .*'trunk'.*write it into the file") as caught:
        read_source(path)
    assert str(caught.value).isprintable()
