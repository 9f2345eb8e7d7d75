"""Numbers drawn in blocks are those that were asked for: their sizes, how often they come, their independence."""

import dataclasses

import numpy as np
import pytest
import torch

from lagoon.imitation.config import RandomizationConfig, TrainConfig
from lagoon.imitation.draws import EPISODES, Draws, Rows
from lagoon.imitation.env import TrackingEnv
from lagoon.imitation.memory import Memory
from lagoon.imitation.randomization import set_sensor_errors

CONFIG = RandomizationConfig()


@pytest.fixture
def make_draws():
    def build(config=CONFIG, ramp=1.0, robots=64):
        draws = Draws(config, 12, robots, 0.02, torch.Generator().manual_seed(0))
        draws.use(ramp)
        return draws

    return build


def test_rows_come_in_their_order_and_none_twice():
    drawn = []

    def draw(count):
        drawn.append(np.arange(count, dtype=np.float32) + sum(len(block) for block in drawn))
        return drawn[-1]

    rows = Rows(draw, 10)
    assert [rows.take(count).tolist() for count in (4, 5)] == [[0, 1, 2, 3], [4, 5, 6, 7, 8]]
    assert rows.take(3).tolist() == [10, 11, 12], "what does not suffice is left"
    assert len(rows.take(25)) == 25 and [len(block) for block in drawn] == [10, 10, 25]
    rows.clear()
    assert rows.take(1).tolist() == [45]


def test_noise_has_the_sizes_of_the_settings_and_of_their_share_in_use(make_draws):
    draws = make_draws()
    for ramp in (1.0, 0.5):
        draws.use(ramp)
        rows = np.concatenate([draws.noise(64) for _ in range(100)])
        sizes = np.repeat([0.01, 0.5, 0.01, 0.1], (12, 12, 3, 3))
        np.testing.assert_allclose(rows.std(axis=0), ramp * sizes, rtol=0.05)
        np.testing.assert_allclose(rows.mean(axis=0), 0.0, atol=0.05 * sizes.max())
        assert len(np.unique(rows[:, 0])) == len(rows)
    draws.use(0.0)
    assert not draws.noise(64).any()


def test_pushes_are_as_frequent_and_as_strong_as_asked_and_level(make_draws):
    draws = make_draws(robots=200)
    pushed, kicks = np.zeros(200), []
    for _ in range(3000):
        ids, kick = draws.pushes()
        pushed[ids] += 1
        kicks.append(kick)
    assert pushed.mean() == pytest.approx(3000 * 0.02 / CONFIG.push_interval, rel=0.05) and pushed.min() > 5
    kicks = np.concatenate(kicks)
    assert not kicks[:, 2].any() and 0.29 < np.abs(kicks[:, :2]).max() <= 0.3 and abs(kicks.mean()) < 0.01
    draws.use(0.5)
    assert max(np.abs(draws.pushes()[1]).max(initial=0.0) for _ in range(200)) <= 0.15


def test_errors_of_an_episode_fill_their_ranges(make_draws):
    config = dataclasses.replace(CONFIG, zero_offset=0.03, delay=(0.0, 0.02))
    draws, memory = make_draws(config), Memory(3000, 12, 2, 13)
    for ramp, delays in ((1.0, [0, 1, 2]), (0.5, [0, 1])):
        set_sensor_errors(memory, np.arange(3000), config, 0.01, ramp, draws.episodes(3000))
        for values, limit in (
            (memory.joint_pos_offset, config.joint_pos_offset),
            (memory.tilt_offset, config.tilt_offset),
            (memory.zero_offset, config.zero_offset),
            (np.arctan2(memory.heading[:, 1], memory.heading[:, 0]), config.heading_offset),
        ):
            assert 0.98 * ramp * limit < values.max() <= ramp * limit * 1.001
            assert -ramp * limit * 1.001 <= values.min() < -0.98 * ramp * limit and abs(values.mean()) < 0.05 * limit
        assert np.unique(memory.delay).tolist() == delays
        assert np.bincount(memory.delay).min() > 0.9 * 3000 / len(delays)
    apart = np.corrcoef(np.column_stack([memory.joint_pos_offset, memory.tilt_offset, memory.zero_offset]).T)
    assert np.abs(apart - np.eye(len(apart))).max() < 0.1, "no number is used twice"
    assert EPISODES < 3000, "more than a block can be asked for"


def test_an_environment_that_takes_a_state_up_draws_as_another_one_would(robot, make_crouch):
    """Nothing of a block that was drawn before is left."""
    envs = [TrackingEnv(make_crouch(), robot, TrainConfig(), 4, seed) for seed in (0, 1)]
    for env in envs:
        env.set_progress(1.0)
    envs[1].reset()
    for _ in range(3):
        envs[1].step(torch.zeros(4, 12))
    kept = envs[0].state_dict()
    for env in envs:
        env.load_state_dict(kept)
    assert np.array_equal(envs[0].draws.noise(4), envs[1].draws.noise(4))
    assert np.array_equal(envs[0].draws.episodes(4), envs[1].draws.episodes(4))
    for env in envs:
        env.close()
