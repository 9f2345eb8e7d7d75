from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lagoon.text2motion import features


def placed(motion: np.ndarray, yaw: float, x: float, y: float) -> np.ndarray:
    out = motion.copy()
    out[..., :2] = features.turn(motion[..., :2], np.full(motion.shape[:2], yaw)) + np.array([x, y])
    return out


@pytest.mark.parametrize("kind", ["waving", "walking", "squatting"])
def test_decode_is_the_exact_inverse_of_encode(people, kind):
    motion = features.canonical(people[kind]())
    assert np.abs(features.decode(features.encode(motion)) - motion).max() < 1e-12


def test_decode_inverts_a_turning_walk(people):
    motion = features.canonical(people["walking"](120, turn=1.0))
    assert np.abs(features.decode(features.encode(motion)) - motion).max() < 1e-12


@settings(max_examples=20, deadline=None)
@given(st.floats(-3, 3), st.floats(-5, 5), st.floats(-5, 5))
def test_features_do_not_depend_on_place_and_heading(yaw, x, y):
    from_conftest = np.random.default_rng(0).normal(0, 0.3, (12, 22, 3)) * 0.02
    pose = np.zeros((22, 3))
    pose[:, 2] = np.linspace(0, 1.7, 22)
    pose[[1, 13, 16], 1], pose[[2, 14, 17], 1] = 0.2, -0.2
    pose[12, 2] = 1.5
    motion = pose + from_conftest
    moved = placed(motion, yaw, x, y)
    assert np.allclose(features.encode(motion), features.encode(moved), atol=1e-9)


def test_canonical_starts_over_the_origin_facing_x(people):
    motion = features.canonical(placed(people["walking"](40), 2.0, 3.0, -1.0))
    assert np.allclose(motion[0, 0, :2], 0.0, atol=1e-12)
    assert abs(features.heading(motion)[0]) < 1e-9


def test_heading_follows_a_full_turn_without_a_jump(people):
    yaw = features.heading(people["walking"](140, turn=1.2))
    assert yaw[-1] - yaw[0] == pytest.approx(1.2 * 139 / 20, abs=0.15)
    assert np.abs(np.diff(yaw)).max() < 0.1


def test_heading_survives_a_cartwheel(stand):
    # The body turns once about the forward axis through the hips: the person faces +X all the time.
    angle = np.linspace(0, 2 * np.pi, 41)
    centre = stand[0]
    motion = np.repeat(stand[None], 41, axis=0) - centre
    y, z = motion[..., 1].copy(), motion[..., 2].copy()
    c, s = np.cos(angle)[:, None], np.sin(angle)[:, None]
    motion[..., 1], motion[..., 2] = c * y - s * z, s * y + c * z
    assert np.abs(features.heading(motion + centre)).max() < 0.2


def test_contacts_mark_standing_feet_and_not_a_lifted_one(stand):
    motion = np.repeat(stand[None], 10, axis=0)
    motion[:, [7, 10], 2] += 0.3
    assert (features.contacts(motion) == [0, 1, 0, 1]).all()
