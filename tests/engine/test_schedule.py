import math

import pytest

from lagoon.engine.config import PPOConfig
from lagoon.engine.schedule import noise_std

CONFIG = PPOConfig(std_start=0.4, std_end=0.1, std_hold=0.2)


def test_ends_and_hold():
    assert noise_std(0.0, CONFIG) == pytest.approx(0.4)
    assert noise_std(0.8, CONFIG) == pytest.approx(0.1)
    assert noise_std(0.9, CONFIG) == pytest.approx(0.1)
    assert noise_std(1.5, CONFIG) == pytest.approx(0.1)


def test_halfway_through_the_ramp_is_the_geometric_mean():
    assert noise_std(0.4, CONFIG) == pytest.approx(math.sqrt(0.4 * 0.1))
