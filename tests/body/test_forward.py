from __future__ import annotations

import numpy as np
from scipy.spatial.transform import Rotation

from lagoon.body.forward import about_axis, chain, positions


def test_a_bent_arm_by_hand() -> None:
    """A root at (1, 0, 0) turned by 90 degrees about z, an upper arm along x, an elbow that turns back, a forearm."""
    turn = np.stack([about_axis("z", np.radians(angle)) for angle in (90.0, -90.0, 0.0)])[None]
    shift = np.array([[[1.0, 0.0, 0.0], [0.3, 0.0, 0.0], [0.2, 0.0, 0.0]]])
    place, world = chain((-1, 0, 1), shift, turn)
    assert np.allclose(place[0], [(1.0, 0.0, 0.0), (1.0, 0.3, 0.0), (1.2, 0.3, 0.0)], atol=1e-12)
    assert np.allclose(world[0, 2], np.eye(3), atol=1e-12)


def test_two_roots_and_any_length_of_the_stretches() -> None:
    random = np.random.default_rng(0)
    shift = random.normal(size=(7, 4, 3))
    turn = Rotation.from_rotvec(random.normal(size=(28, 3))).as_matrix().reshape(7, 4, 3, 3)
    parents = (-1, 0, -1, 2)
    whole, _ = chain(parents, shift, turn)
    assert (whole[:, 2] == shift[:, 2]).all()
    cut = positions(parents, 7, lambda part: (shift[part], turn[part]), block=3)
    assert np.allclose(cut, whole, atol=1e-12)


def test_turns_about_axes_are_right_handed() -> None:
    angles = np.array([-0.4, 0.0, 2.0])
    for axis in "xyz":
        assert np.allclose(about_axis(axis, angles), Rotation.from_euler(axis, angles[:, None]).as_matrix(), atol=1e-12)
