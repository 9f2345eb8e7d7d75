"""Schedules that stand at their starts until a hook lets them begin."""

import json
import os
import signal
from dataclasses import replace

import pytest
from point_mass import make_point_mass

from lagoon.engine.checkpoint import checkpoint_paths, load_checkpoint
from lagoon.engine.config import GraphConfig, PPOConfig
from lagoon.engine.run import run
from lagoon.engine.schedule import noise_std
from lagoon.errors import BadInputError

SMALL = PPOConfig(
    num_envs=64, horizon=16, hidden=(16,), gamma=0.95, total_steps=4096, wait_steps=3072, workers=1, tensorboard=False
)
"""Iterations of 1024 steps: three may be waited, four take the schedules through."""


class BeginAt:
    """Lets the schedules begin after an iteration; interrupts after another."""

    def __init__(self, begin=None, interrupt=None):
        self.begin, self.interrupt, self.seen = begin, interrupt, []

    def on_iteration(self, info, policy):
        self.seen.append((info.done, info.begin is None))
        if info.iteration == self.begin:
            info.begin()
        if info.iteration == self.interrupt:
            os.kill(os.getpid(), signal.SIGINT)
        return False


def fractions(folder):
    rows = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    for row in rows:
        assert row["train/std"] == pytest.approx(noise_std(row["progress/fraction"], SMALL), rel=1e-3)
    return [row["progress/fraction"] for row in rows]


def test_they_wait_as_long_as_they_may(tmp_path):
    told, hook = [], BeginAt()
    path = run(make_point_mass, SMALL, tmp_path, 0, hook, lambda share, message="": told.append(share))
    assert fractions(tmp_path) == [0.0, 0.0, 0.0, 0.0, 0.25, 0.5, 0.75]
    assert load_checkpoint(path).facts["step"] == 7 * 1024 and load_checkpoint(path).facts["fraction"] == 1.0
    assert told == pytest.approx([i / 7 for i in range(1, 8)])
    assert hook.seen == [(0.0, False), (0.0, False), (0.0, True), (0.25, True), (0.5, True), (0.75, True), (1.0, True)]


def test_a_hook_lets_them_begin(tmp_path):
    told = []
    path = run(make_point_mass, SMALL, tmp_path, 0, BeginAt(1), lambda share, message="": told.append(share))
    assert fractions(tmp_path) == [0.0, 0.0, 0.25, 0.5, 0.75]
    assert load_checkpoint(path).facts["began"] == 1024 and told[-1] == 1.0 and told == sorted(told)


@pytest.mark.parametrize(("begin", "then"), [(None, [0.0, 0.0, 0.25, 0.5, 0.75]), (1, [0.25, 0.5, 0.75])])
@pytest.mark.parametrize("topology", ["colocated", "async"])
def test_a_run_that_goes_on_waits_or_not_as_before(tmp_path, topology, begin, then):
    config = replace(SMALL, topology=topology, graph=GraphConfig(actors=1))
    with pytest.raises(KeyboardInterrupt):
        run(make_point_mass, config, tmp_path, 0, BeginAt(begin, 2))
    saved = load_checkpoint(checkpoint_paths(tmp_path / "checkpoints")[-1]).facts
    assert saved["began"] == (None if begin is None else 1024)
    run(make_point_mass, config, tmp_path, 0, BeginAt())
    assert fractions(tmp_path)[2:] == then


def test_with_minutes_they_never_wait(tmp_path):
    config = replace(SMALL, total_steps=10**9, wait_steps=10**9, minutes=0.005)
    path = run(make_point_mass, config, tmp_path)
    facts = load_checkpoint(path).facts
    assert facts["began"] == 0 and facts["finished"] and facts["fraction"] == 1.0


def test_a_negative_wait_is_refused():
    with pytest.raises(BadInputError, match="wait_steps"):
        replace(SMALL, wait_steps=-1)
