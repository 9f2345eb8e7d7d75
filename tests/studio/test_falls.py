import dataclasses

import numpy as np

from lagoon.motion.rotations import quat_from_axis_angle, quat_from_yaw, quat_mul
from lagoon.studio.falls import fall_time, has_fallen

LEVEL = np.array([1.0, 0.0, 0.0, 0.0])
HERE = np.array([0.0, 0.0, 0.3])


def test_tilt_and_height_count_heading_and_place_do_not() -> None:
    roll = quat_from_axis_angle(np.array([1.0, 0.0, 0.0]), 1.1)
    assert has_fallen(HERE, roll, HERE, LEVEL)
    assert not has_fallen(HERE, quat_from_axis_angle(np.array([1.0, 0.0, 0.0]), 0.9), HERE, LEVEL)
    assert not has_fallen(HERE + np.array([5.0, 5.0, 0.0]), quat_from_yaw(3.0), HERE, LEVEL)
    assert has_fallen(HERE - [0.0, 0.0, 0.21], LEVEL, HERE, LEVEL)


def test_standing_upright_is_not_a_fall_when_the_reference_does() -> None:
    upright = quat_from_axis_angle(np.array([0.0, 1.0, 0.0]), -np.pi / 2)
    assert not has_fallen(HERE, quat_mul(quat_from_yaw(1.0), upright), HERE, upright)
    assert has_fallen(HERE, LEVEL, HERE, upright)


def test_a_motion_that_stops_early_fell_at_its_end(reference) -> None:
    cut = dataclasses.replace(
        reference,
        root_pos_w=reference.root_pos_w[:76],
        root_quat_w=reference.root_quat_w[:76],
        joint_pos=reference.joint_pos[:76],
        foot_contact=reference.foot_contact[:76],
        segment_names=("motion",),
        segment_starts=(0,),
    )
    assert fall_time(cut, reference) == 1.5
    assert fall_time(reference, reference) is None
