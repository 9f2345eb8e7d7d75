"""Whole runs: rollout workers, reward workers and a trainer in processes of their own."""

import json
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from toy_writer import Writing

from lagoon.engine.checkpoint import checkpoint_paths, load_checkpoint
from lagoon.engine.tokens.config import RolloutConfig, TokenPPOConfig
from lagoon.engine.tokens.run import run
from lagoon.errors import BadInputError, LagoonError
from tests.engine.waiting import group_is_gone, wait_for

SMALL = TokenPPOConfig(
    batch=12, minibatches=2, kl_coef=0.0, lr=0.02, row_tokens=24, total_steps=12 * 12, tensorboard=False
)


def small(updates=12, **rollout):
    rollout = {"lanes": 4, "max_staleness": 2, "reward_workers": 1, **rollout}
    return replace(SMALL, total_steps=12 * updates, rollout=RolloutConfig(**rollout))


def metrics(folder):
    return [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]


def children():
    return {child.name: child.pid for child in multiprocessing.active_children()}


class At:
    """Does something after certain iterations."""

    def __init__(self, **what):
        self.what = {int(key[1:]): action for key, action in what.items()}

    def on_iteration(self, info, policy):
        self.what.get(info.iteration, lambda: None)()
        return False


def kill(name):
    os.kill(children()[f"lagoon-{name}"], signal.SIGKILL)


def test_a_killed_worker_is_replaced_and_a_finished_folder_is_left_alone(tmp_path, caplog):
    path = run(Writing(), small(8), tmp_path, 0, At(i3=lambda: kill("reward-0")))
    facts, rows = load_checkpoint(path).facts, metrics(tmp_path)
    assert (facts["iteration"], facts["finished"], facts["step"]) == (8, True, 96)
    assert rows[-1]["queue/restarts"] == 1 and rows[-1]["reward/failed"] == 0
    assert "reward-0 was killed" in caplog.text
    assert max(row["staleness/max"] for row in rows) <= 2
    assert children() == {}
    start = time.monotonic()
    assert run(Writing(), small(8), tmp_path, 0) == path and time.monotonic() - start < 2
    with pytest.raises(BadInputError, match=r"prompts differ from this one's.*another folder"):
        run(Others(), small(9), tmp_path, 0)


@pytest.mark.slow
def test_a_sequence_that_kills_its_judges_is_named_and_a_killed_rollout_worker_replaced(tmp_path, caplog):
    run(Writing(trouble="die"), small(), tmp_path, 0, At(i6=lambda: kill("rollout-0")))
    rows = metrics(tmp_path)
    assert rows[-1]["queue/restarts"] == 3 and rows[-1]["reward/failed"] == 1
    assert "rollout-0 was killed" in caplog.text and "reward-0 was killed" in caplog.text
    assert "sequence 7 ('" in caplog.text and "its process was killed twice" in caplog.text
    assert max(row["staleness/max"] for row in rows) == 2
    assert max(row["rollout/interrupted"] for row in rows) > 0
    assert children() == {}


class Others(Writing):
    prompts = ("zeros", "ones")


@pytest.mark.skipif(sys.platform != "linux", reason="Parent-death signals as Linux has them.")
def test_a_killed_trainer_leaves_no_process_and_the_bound_holds_after_the_resume(tmp_path):
    here = Path(__file__).parents[1]
    program = subprocess.Popen([sys.executable, str(here / "write_forever.py"), str(tmp_path)], start_new_session=True)
    wait_for(lambda: len(checkpoint_paths(tmp_path / "checkpoints")) >= 3 or program.poll() is not None, 120)
    program.kill()
    program.wait(60)
    wait_for(lambda: group_is_gone(program), 60)
    saved = load_checkpoint(checkpoint_paths(tmp_path / "checkpoints")[-1])
    first, config = saved.facts["iteration"], TokenPPOConfig(**saved.facts["config"])
    assert saved.facts["version"] == first > 0 and saved.facts["numbers"] >= 8 * first

    later = replace(config, total_steps=saved.facts["step"] + 8 * 30)
    with pytest.raises(KeyboardInterrupt):
        run(Writing(), later, tmp_path, 0, At(**{f"i{first + 4}": lambda: os.kill(os.getpid(), signal.SIGINT)}))
    facts = load_checkpoint(checkpoint_paths(tmp_path / "checkpoints")[-1]).facts
    assert (facts["iteration"], facts["version"], facts["finished"]) == (first + 4, first + 4, False)
    rows = metrics(tmp_path)
    assert [row["iteration"] for row in rows] == list(range(1, first + 5))
    assert max(row["staleness/max"] for row in rows) <= 2
    assert rows[first]["staleness/max"] == 0  # Nothing older survived.
    assert children() == {}


@pytest.mark.slow
def test_a_judge_that_always_fails_ends_the_run_with_its_words(tmp_path):
    with pytest.raises(LagoonError, match=r"rewards all failed.*sequence \d+ \('\w+', seed 0\): RuntimeError: it fell"):
        run(Writing(trouble="always"), small(), tmp_path)
    assert children() == {}


@pytest.mark.slow
def test_a_judge_that_hangs_is_ended_and_the_sequence_named(tmp_path, caplog):
    run(Writing(trouble="hang"), small(4, reward_seconds=1.0), tmp_path)
    assert "took longer than reward_seconds = 1" in caplog.text
    assert metrics(tmp_path)[-1]["reward/failed"] == 1


@pytest.mark.slow
def test_the_synchronous_twin_and_the_asynchronous_run_learn_the_same_task(tmp_path):
    final = {}
    for staleness in (0, 2):
        folder = tmp_path / str(staleness)
        run(Writing(), replace(small(60, max_staleness=staleness), batch=24, total_steps=24 * 60), folder, 0)
        rows = metrics(folder)
        assert max(row["staleness/max"] for row in rows) == staleness
        final[staleness] = sum(row["train/reward"] for row in rows[-5:]) / 5
    assert min(final.values()) > 0.75 and torch.isfinite(torch.tensor(list(final.values()))).all()
