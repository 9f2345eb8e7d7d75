from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter1d

from lagoon.errors import BadInputError
from lagoon.motion import humanml3d
from lagoon.motion.axes import to_z_up
from lagoon.motion.rotations import quat_from_yaw, quat_rotate


def test_features_lead_back_to_the_motion(people: dict) -> None:
    for motion in (people["waving"](60), people["walking"](80, turn=0.6), people["squatting"](60)):
        assert np.abs(humanml3d.decode(humanml3d.encode(motion)) - motion[:-1]).max() < 1e-9


def test_where_a_person_starts_and_faces_does_not_matter(people: dict) -> None:
    motion = people["walking"](40, turn=0.5)
    moved = quat_rotate(quat_from_yaw(2.0), motion) + np.array([3.0, -1.0, 0.0])
    assert np.allclose(humanml3d.encode(moved), humanml3d.encode(motion), atol=1e-9)


def test_what_the_numbers_mean(people: dict) -> None:
    rows = humanml3d.encode(people["walking"](240, speed=1.2, turn=0.4))
    middle = rows[100:140]  # Far from both ends, which the smoothing of the heading bends.
    assert rows.shape == (239, 263)
    assert np.allclose(middle[:, 0], -0.4 / 20 / 2, atol=2e-4), "half the yaw per frame, about an axis that points up"
    assert np.allclose(middle[:, humanml3d.VELOCITY], (0.0, 1.2 / 20), atol=2e-3), "straight ahead is +z"
    assert set(np.unique(rows[:, humanml3d.CONTACTS])) <= {0.0, 1.0}
    standing = humanml3d.encode(people["squatting"](60))
    assert (standing[:, humanml3d.CONTACTS] == 1.0).all()


def test_rotations_are_orthonormal_even_where_a_bone_points_the_other_way(stand: np.ndarray) -> None:
    motion = np.repeat(stand[None], 5, axis=0)
    elbow, wrist = 19, 21
    motion[:, elbow] = motion[:, 17] + (0.0, 0.0, 0.25)
    motion[:, wrist] = motion[:, elbow] + (0.0, 0.0, 0.25)
    columns = humanml3d.encode(motion)[:, humanml3d.ROTATIONS].reshape(-1, 21, 2, 3)
    gram = columns @ columns.swapaxes(-1, -2)
    assert np.allclose(gram, np.eye(2), atol=1e-9)


@pytest.mark.parametrize("shape", [(10, 262), (263,), (2, 10, 263)])
def test_other_shapes_are_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(BadInputError, match="263"):
        humanml3d.decode(np.zeros(shape))


def test_a_published_pair_is_reproduced() -> None:
    folder = Path(os.environ.get("LAGOON_HUMANML3D", "humanml3d"))
    vectors, joints = sorted(folder.glob("*_vecs.npy")), sorted(folder.glob("*_joints.npy"))
    if not vectors or not joints:
        pytest.skip("LAGOON_HUMANML3D names no folder with NAME_vecs.npy and NAME_joints.npy")
    published = np.load(vectors[0], allow_pickle=False).astype(float)
    motion = to_z_up(np.load(joints[0], allow_pickle=False))
    assert np.abs(humanml3d.decode(published) - motion).max() < 1e-6
    # The published features were smoothed over frames that the pair no longer has; far from the end they agree.
    rows = humanml3d.encode(motion)
    assert np.abs(rows - published[:-1])[:-90].max() < 1e-5
    assert np.abs(rows - published[:-1]).max() < 0.02


def test_the_heading_is_smoothed_as_the_data_set_did() -> None:
    ahead = np.random.default_rng(0).normal(size=(50, 3))
    wanted = gaussian_filter1d(ahead, 20.0, axis=0, mode="nearest")
    assert np.abs(humanml3d._smoothed(ahead) - wanted).max() < 1e-12
