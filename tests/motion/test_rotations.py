"""Group axioms, agreement with SciPy, and the conventions page's wxyz order."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from lagoon.motion import rotations as rot


@pytest.fixture
def quats():
    return rot.quat_normalize(np.random.default_rng(0).normal(size=(200, 4)))


def scipy_of(q):
    return Rotation.from_quat(np.roll(q, -1, axis=-1))


def wxyz(r):
    return np.roll(r.as_quat(), 1, axis=-1)


def same_rotation(a, b):
    return np.allclose(np.abs(np.sum(a * b, axis=-1)), 1.0, atol=1e-12)


def test_order_is_wxyz_and_rotates_base_to_world():
    quarter_turn_left = np.array([np.sqrt(0.5), 0, 0, np.sqrt(0.5)])
    assert np.allclose(rot.quat_rotate(quarter_turn_left, np.array([1.0, 0, 0])), [0, 1, 0])
    assert rot.quat_yaw(quarter_turn_left) == pytest.approx(np.pi / 2)


def test_product_matches_scipy_and_is_associative(quats):
    a, b, c = quats[:60], quats[60:120], quats[120:180]
    assert same_rotation(rot.quat_mul(a, b), wxyz(scipy_of(a) * scipy_of(b)))
    assert np.allclose(rot.quat_mul(rot.quat_mul(a, b), c), rot.quat_mul(a, rot.quat_mul(b, c)))


def test_inverse_and_identity(quats):
    identity = np.array([1.0, 0, 0, 0])
    assert np.allclose(rot.quat_mul(quats, rot.quat_conj(quats)), identity)
    assert np.allclose(rot.quat_mul(quats, identity), quats)


def test_rotate_matches_matrix_and_inverse_undoes(quats):
    v = np.random.default_rng(1).normal(size=(200, 3))
    world = rot.quat_rotate(quats, v)
    assert np.allclose(world, np.einsum("nij,nj->ni", rot.quat_to_matrix(quats), v))
    assert np.allclose(rot.quat_rotate_inverse(quats, world), v)
    assert np.allclose(rot.quat_to_matrix(quats), scipy_of(quats).as_matrix())


def test_matrix_round_trip_including_half_turns(quats):
    half_turns = np.array([[0.0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1], [0, np.sqrt(0.5), np.sqrt(0.5), 0]])
    every = np.concatenate([quats, half_turns])
    assert same_rotation(rot.quat_from_matrix(rot.quat_to_matrix(every)), every)


def test_rotvec_round_trip_and_scipy(quats):
    v = rot.quat_to_rotvec(quats)
    assert np.allclose(v, scipy_of(quats).as_rotvec())
    assert same_rotation(rot.quat_from_rotvec(v), quats)
    assert np.all(np.linalg.norm(v, axis=-1) <= np.pi + 1e-12)


@pytest.mark.parametrize("angle", [0.0, 1e-12, 1e-7, 1e-3])
def test_rotvec_is_accurate_for_small_angles(angle):
    v = np.array([angle, 0.0, 0.0])
    assert np.allclose(rot.quat_to_rotvec(rot.quat_from_rotvec(v)), v, rtol=1e-9, atol=1e-15)


def test_slerp_ends_and_middle(quats):
    a, b = quats[:50], quats[50:100]
    assert same_rotation(rot.quat_slerp(a, b, 0.0), a)
    assert same_rotation(rot.quat_slerp(a, b, 1.0), b)
    middle = rot.quat_slerp(a, b, 0.5)
    assert np.allclose(rot.angle_between(a, middle), rot.angle_between(middle, b))


def test_continuous_flips_signs_only(quats):
    flipped = quats.copy()
    flipped[::3] *= -1
    smooth = rot.quat_continuous(flipped)
    assert same_rotation(smooth, flipped)
    assert np.all(np.sum(smooth[1:] * smooth[:-1], axis=-1) >= 0)


def test_the_shortest_rotation_between_directions(quats):
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 100, 3))
    q = rot.quat_between(a, b)
    unit = lambda v: v / np.linalg.norm(v, axis=-1, keepdims=True)  # noqa: E731
    assert np.allclose(rot.quat_rotate(q, unit(a)), unit(b))
    assert np.allclose(np.linalg.norm(rot.quat_to_rotvec(q), axis=-1), np.arccos(np.sum(unit(a) * unit(b), axis=-1)))
    for v in np.eye(3):
        assert np.allclose(rot.quat_rotate(rot.quat_between(v, -v), v), -v), "half a turn about some axis across"
        assert np.allclose(rot.quat_between(v, 5 * v), [1, 0, 0, 0])
