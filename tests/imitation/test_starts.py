"""Starts look where robots fail, and forget no phase."""

import dataclasses

import pytest
import torch

from lagoon.imitation.config import TaskConfig
from lagoon.imitation.reference import Reference
from lagoon.imitation.starts import BIN_SECONDS, Starts


@pytest.fixture
def make_starts(robot, make_stand):
    def build(adaptive, seed=0):
        task = TaskConfig(adaptive_starts=adaptive, start_share=0.0)
        reference = Reference(make_stand(250), robot)
        return Starts(reference, robot, task, torch.Generator().manual_seed(seed), 0.0)

    return build


def fall(starts, seconds, times=200):
    steps = torch.full((times,), round(seconds / 0.02))
    starts.report(steps, torch.ones(times, dtype=torch.bool))


def test_falls_draw_starts_to_the_phase_before_them_and_a_floor_stays(make_starts):
    starts = make_starts(0.8)
    assert starts.entropy() == pytest.approx(1.0)
    fall(starts, 3.1)
    weights = starts.weights()
    uniform = 1.0 / len(weights)
    assert float(weights.sum()) == pytest.approx(1.0) and float(weights.min()) >= 0.2 * uniform - 1e-6
    assert int(weights.argmax()) == int(3.1 / BIN_SECONDS) and float(weights.max()) > 0.4
    assert weights[int(3.1 / BIN_SECONDS) - 2] > 2 * uniform, "the cause lies before the fall"
    assert starts.entropy() < 0.8
    frames = starts.take(512)[0]
    assert (frames * 0.02 > 3.1 - 3 * BIN_SECONDS).mean() > 0.7
    assert int(frames.min()) < 50 and int(frames.max()) <= 247


def test_old_falls_fade_and_ends_that_are_no_falls_do_not_count(make_starts):
    starts = make_starts(0.8)
    fall(starts, 1.0)
    old = float(starts.falls.sum())
    starts.report(torch.full((1000,), 200), torch.zeros(1000, dtype=torch.bool))
    assert 0.9 * old < float(starts.falls.sum()) < old
    fall(starts, 4.0, 2000)
    assert starts.falls.argmax() == int(4.0 / BIN_SECONDS)


def test_without_adaptation_falls_change_nothing(make_starts):
    first, second = make_starts(0.0), make_starts(0.0)
    fall(second, 1.0)
    assert (first.take(300)[0] == second.take(300)[0]).all() and second.entropy() == pytest.approx(1.0)


def test_a_share_beyond_one_is_refused():
    with pytest.raises(Exception, match="adaptive_starts"):
        dataclasses.replace(TaskConfig(), adaptive_starts=1.5)
