from __future__ import annotations

import numpy as np
import pytest

from lagoon.text2motion import scores


def unit(rows: np.ndarray) -> np.ndarray:
    return rows / np.linalg.norm(rows, axis=-1, keepdims=True)


def test_frechet_distance_of_shifted_and_stretched_normals():
    rng = np.random.default_rng(0)
    points = rng.normal(size=(4000, 3))
    assert scores.frechet(points, points) == pytest.approx(0.0, abs=1e-6)
    assert scores.frechet(points, points + np.array([3.0, 0.0, 4.0])) == pytest.approx(25.0, rel=1e-6)
    # Twice as wide in one direction: (1 - 2)^2 of that direction's variance.
    wide = points * [2.0, 1.0, 1.0]
    assert scores.frechet(points, wide) == pytest.approx(np.var(points[:, 0], ddof=1), rel=0.05)


def test_r_precision_is_one_for_the_right_text_and_chance_for_any():
    rng = np.random.default_rng(1)
    vectors = unit(rng.normal(size=(200, 16)))
    names = [f"verb {i}" for i in range(200)]
    right = scores.r_precision(vectors, vectors, names, vectors, names)
    assert right == {1: 1.0, 2: 1.0, 3: 1.0}
    blind = scores.r_precision(unit(rng.normal(size=(200, 16))), vectors, names, vectors, names)
    assert blind[1] == pytest.approx(1 / 32, abs=0.04) and blind[3] == pytest.approx(3 / 32, abs=0.07)


def test_texts_about_the_same_are_not_in_the_pool():
    motion = np.eye(4)[:1]
    same, other = np.eye(4)[:1], np.eye(4)[1:2]
    found = scores.r_precision(motion, motion, ["walk"], np.concatenate([same, other]), ["walk", "bow"])
    assert found[1] == 1.0


def test_equal_vectors_do_not_count_as_found():
    same = np.ones((3, 2)) / np.sqrt(2)
    found = scores.r_precision(same, same, ["a", "b", "c"], same, ["a", "b", "c"])
    assert found[1] == 0.0 and found[3] == 1.0


def test_interval_by_hand():
    mean, half = scores.interval([1.0, 2.0, 3.0])
    # t(0.975, 2) = 4.303; standard deviation 1, three runs
    assert mean == 2.0 and half == pytest.approx(4.303 / np.sqrt(3), rel=1e-3)
    assert scores.interval([5.0]) == (5.0, 0.0)


def test_multimodality_looks_at_one_text_at_a_time():
    motions = np.zeros((2, 3, 2))
    motions[:, :, 0] = [10.0, 20.0, 30.0]
    assert scores.multimodality(motions) == 0.0
    motions[1, :, 1] = 1.0
    assert scores.multimodality(motions) == pytest.approx(1.0)
    assert scores.diversity(motions[0]) > 5.0
