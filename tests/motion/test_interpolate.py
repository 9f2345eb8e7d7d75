import numpy as np
import pytest

from lagoon.motion.interpolate import interpolate


def test_a_cubic_is_met_between_its_frames():
    known, times = np.linspace(0.0, 1.0, 6), np.linspace(0.0, 1.0, 41)
    cubic = lambda t: np.stack([t**3 - t, 2.0 * t**2], axis=1)[:, None]  # noqa: E731
    np.testing.assert_allclose(interpolate(cubic(known), known, times), cubic(times), atol=1e-12)


@pytest.mark.parametrize(("frames", "straight"), [(3, False), (9, True)])
def test_straight_lines_where_there_are_few_frames_or_they_are_asked_for(frames, straight):
    known = np.sort(np.random.default_rng(0).uniform(0.0, 1.0, frames))
    path = np.random.default_rng(1).normal(size=(frames, 2, 3))
    middle = 0.5 * (known[:-1] + known[1:])
    found = interpolate(path, known, middle, straight)
    np.testing.assert_allclose(found, 0.5 * (path[:-1] + path[1:]), atol=1e-12)
    np.testing.assert_allclose(interpolate(path, known, known, straight), path, atol=1e-12)
