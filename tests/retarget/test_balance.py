import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lagoon.retarget.balance import (
    GRAVITY,
    com_for_pressure,
    dynamics,
    nearest_in_support,
    outside_support,
    second_difference,
)


def test_a_robot_at_rest_presses_below_its_centre_of_mass_with_its_weight(kin, go2):
    qpos = np.repeat(kin.stand()[None], 20, axis=0)
    needs = dynamics(kin, qpos, 50.0)
    np.testing.assert_allclose(needs.pressure, needs.com[:, :2], atol=1e-9)
    np.testing.assert_allclose(needs.force, [[0, 0, go2.mass * GRAVITY]] * 20, atol=1e-6)
    assert needs.weight == pytest.approx(go2.mass * GRAVITY, rel=1e-4)


def test_a_constant_acceleration_shifts_the_pressure_point_backwards(kin):
    # The stand translated with 1 m/s^2 along x: p = c - (h / g) a, no angular momentum.
    frames, fps, acceleration = 60, 50.0, 1.0
    qpos = np.repeat(kin.stand()[None], frames, axis=0)
    qpos[:, 0] += 0.5 * acceleration * (np.arange(frames) / fps) ** 2
    needs = dynamics(kin, qpos, fps)
    expected = needs.com[:, 0] - needs.com[:, 2] / GRAVITY * acceleration
    np.testing.assert_allclose(needs.pressure[2:-2, 0], expected[2:-2], atol=1e-6)
    np.testing.assert_allclose(needs.pressure[2:-2, 1], needs.com[2:-2, 1], atol=1e-6)


def test_a_spinning_up_robot_needs_the_matching_moment(kin):
    # Yawing the stand with 2 rad/s^2 needs inertia times that, and no force.
    frames, fps = 60, 50.0
    qpos = np.repeat(kin.stand()[None], frames, axis=0)
    qpos[:, :2] -= kin.com(kin.stand())[:2]
    angle = (np.arange(frames) / fps) ** 2
    c, s = np.cos(angle), np.sin(angle)
    qpos[:, 0], qpos[:, 1] = c * qpos[0, 0] - s * qpos[0, 1], s * qpos[0, 0] + c * qpos[0, 1]
    qpos[:, 3], qpos[:, 6] = np.cos(angle / 2), np.sin(angle / 2)
    needs = dynamics(kin, qpos, fps)
    moments = needs.moment[3:-3, 2]
    assert np.ptp(moments) < 0.02 * moments.mean()
    assert 0.2 < moments.mean() / 2.0 < 1.0


def test_the_pendulum_path_solves_its_equation():
    fps, frames = 50.0, 200
    pressure = np.stack([np.where(np.arange(frames) < 100, 0.0, 0.3), np.zeros(frames)], axis=1)
    height = np.linspace(0.4, 0.5, frames)
    com = com_for_pressure(pressure, height, fps)
    back = com - height[:, None] / GRAVITY * second_difference(com) * fps**2
    np.testing.assert_allclose(back[1:-1], pressure[1:-1], atol=1e-9)
    # The mass moves before the pressure point does.
    assert com[95, 0] > 0.05
    np.testing.assert_allclose(com[[0, -1]], pressure[[0, -1]], atol=1e-9)


SQUARE = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])


@pytest.mark.parametrize(
    ("point", "feet", "expected"),
    [
        ([3.0, 4.0], SQUARE[:1], [0.0, 0.0]),
        ([0.5, 2.0], SQUARE[:2], [0.5, 0.0]),
        ([-1.0, 2.0], SQUARE[:2], [0.0, 0.0]),
        ([0.2, 0.3], SQUARE, [0.2, 0.3]),
        ([2.0, 0.5], SQUARE, [1.0, 0.5]),
        ([0.9, 0.9], SQUARE[:3], [0.5, 0.5]),
        # One foot inside the triangle of the others: the support is the triangle all the same.
        ([0.4, 0.4], np.vstack([SQUARE[:3], [0.1, 0.1]]), [0.4, 0.4]),
    ],
)
def test_nearest_point_of_the_support(point, feet, expected):
    np.testing.assert_allclose(nearest_in_support(np.array(point), feet), expected, atol=1e-12)


def test_the_support_is_that_of_the_feet_in_contact():
    points, feet = np.array([[0.5, 2.0], [0.2, 0.3], [3.0, 4.0]]), np.repeat(SQUARE[None], 3, axis=0)
    contact = np.array([[True, True, False, False], [True] * 4, [False] * 4])
    np.testing.assert_allclose(outside_support(points, feet, contact), [[0.0, 2.0], [0.0, 0.0], [np.nan] * 2])


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(st.floats(-1, 1), st.floats(-1, 1)), min_size=3, max_size=4), st.integers(0, 10**6))
def test_weighted_means_of_the_feet_are_inside(points, seed):
    feet = np.array(points)
    weight = np.random.default_rng(seed).dirichlet(np.ones(len(feet)))
    inside = weight @ feet
    assert np.linalg.norm(nearest_in_support(inside, feet) - inside) < 1e-6
