from __future__ import annotations

import numpy as np
import pytest

from lagoon.text2motion import augment
from lagoon.text2motion.novelty import TrainingClips


def turned(pos: np.ndarray, angle: float) -> np.ndarray:
    c, s = np.cos(angle), np.sin(angle)
    return pos @ np.array([[c, s, 0], [-s, c, 0], [0, 0, 1]]) + [3.0, -2.0, 0.0]


@pytest.fixture
def known(people):
    return TrainingClips([people["walking"](80), people["waving"](90, 3), people["squatting"](100, 2)])


def test_a_copy_is_found_wherever_it_stands_and_mirrored(known, people):
    wave = people["waving"](90, 3)
    for copy in (wave, turned(wave, 1.1), augment.mirror(wave), wave[20:70]):
        index, distance = known.nearest(copy)
        assert index == 1 and distance < 0.02


def test_a_longer_motion_that_holds_a_copy_is_found(known, people):
    longer = np.concatenate([people["waving"](90, 3)] * 2)
    index, distance = known.nearest(longer)
    assert index == 1 and distance < 1e-3


def test_another_motion_is_far_from_all(known, people):
    both = people["squatting"](100, 2)
    both[:, 18:22, 2] += 0.5
    assert known.nearest(both)[1] > 0.05
