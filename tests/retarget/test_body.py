import numpy as np
import pytest

from lagoon.errors import BadInputError
from lagoon.motion.human_motion import HumanMotion
from lagoon.retarget.body import Body, resample_path, trunk_frames


def test_a_standing_person_has_an_upright_trunk_and_the_limb_lengths_of_the_bones(people):
    body = Body.of(people["standing"](), 50.0)
    np.testing.assert_allclose(body.trunk, np.tile(np.eye(3), (body.num_frames, 1, 1)), atol=1e-9)
    np.testing.assert_allclose(body.tilt, 0, atol=1e-6)
    thigh, shank = np.hypot(0.41, 0.02), np.hypot(0.41, 0.02)
    assert body.leg_length == pytest.approx(thigh + shank, abs=1e-9)


def test_it_is_resampled_without_changing_its_length(people):
    human = people["waving"](frames=32)
    body = Body.of(human, 50.0)
    assert body.num_frames == int(np.floor(human.duration * 50 + 1e-9)) + 1
    # Every second of human time is kept: frame 20 of 20 Hz is frame 50 of 50 Hz.
    wrist = human.joint("right_wrist")[20] - human.joint("right_hip")[20]
    np.testing.assert_allclose(body.joints["right_wrist"][50] - body.joints["right_hip"][50], wrist, atol=1e-9)


def test_it_is_turned_to_face_x_at_the_origin(people):
    human = people["waving"]()
    turn = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    moved = HumanMotion(20.0, human.joint_names, human.joint_pos_w @ turn.T + np.array([3.0, -2.0, 0.0]))
    body, reference = Body.of(moved, 50.0), Body.of(human, 50.0)
    for name, path in reference.joints.items():
        np.testing.assert_allclose(body.joints[name], path, atol=1e-9)
    np.testing.assert_allclose(body.middle("hip")[0, :2], 0, atol=1e-12)


def test_every_missing_joint_is_named(people):
    human = people["standing"]()
    keep = [i for i, name in enumerate(human.joint_names) if not name.endswith(("_foot", "_knee"))]
    names = [human.joint_names[i] for i in keep]
    with pytest.raises(BadInputError, match="left_knee, right_knee, left_foot, right_foot"):
        Body.of(HumanMotion(20.0, names, human.joint_pos_w[:, keep]), 50.0)


def test_a_person_without_size_is_refused(people):
    human = people["standing"]()
    with pytest.raises(BadInputError, match=r"hip-knee-ankle is 0\.0000 m long"):
        Body.of(HumanMotion(20.0, human.joint_names, human.joint_pos_w * 1e-6), 50.0)


def test_two_frames_are_interpolated_linearly():
    path = np.array([[[0.0, 0, 0]], [[1.0, 0, 0]]])
    np.testing.assert_allclose(resample_path(path, 10.0, 50.0)[:, 0, 0], np.linspace(0, 1, 6), atol=1e-12)


def test_trunk_frames_are_rotations_even_for_a_twisted_trunk(people):
    body = Body.of(people["bowing"](), 20.0)
    joints = {k: v.copy() for k, v in body.joints.items()}
    joints["left_shoulder"][:, 0] += 0.2
    frames = trunk_frames(joints)
    np.testing.assert_allclose(frames @ frames.transpose(0, 2, 1), np.tile(np.eye(3), (len(frames), 1, 1)), atol=1e-9)
    np.testing.assert_allclose(np.linalg.det(frames), 1, atol=1e-9)
