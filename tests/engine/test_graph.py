"""Whole runs of actors, policy workers and a trainer in processes of their own."""

import json
import math
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
from orphans import orphaned_memory
from point_mass import PointMass, make_point_mass

from lagoon.engine.checkpoint import checkpoint_paths, load_checkpoint
from lagoon.engine.config import GraphConfig, PPOConfig
from lagoon.engine.run import run
from lagoon.engine.topology import graph_of
from lagoon.errors import BadInputError, LagoonError
from tests.engine.waiting import group_is_gone, wait_for

SMALL = PPOConfig(
    num_envs=64, horizon=16, hidden=(32, 32), gamma=0.95, total_steps=8 * 1024, tensorboard=False, topology="async"
)


def changed(topology, total=8, **graph):
    return replace(SMALL, topology=topology, total_steps=total * 1024, graph=GraphConfig(actors=1, **graph))


def metrics(folder):
    return [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]


def children():
    return {child.name: child.pid for child in multiprocessing.active_children()}


def kill(name):
    os.kill(children()[f"lagoon-{name}"], signal.SIGKILL)


class At:
    """Does something after certain iterations."""

    def __init__(self, **what):
        self.what = {int(key[1:]): action for key, action in what.items()}

    def on_iteration(self, info, policy):
        self.what.get(info.iteration, lambda: None)()
        return False


def test_in_lockstep_two_topologies_end_with_equal_bits(tmp_path):
    """Who computes the actions, and when, changes nothing: the strongest form of "twice the same"."""
    paths = [
        run(make_point_mass, changed(topology, lockstep=True, max_staleness=1), tmp_path / topology, 5)
        for topology in ("decoupled", "async")
    ]
    first, second = (load_checkpoint(path) for path in paths)
    assert first.facts["iteration"] == first.facts["version"] == 8
    assert all(torch.equal(first.tensors[name], second.tensors[name]) for name in first.tensors)
    assert [row["staleness/max"] for row in metrics(tmp_path / "async")] == [0.0] + 7 * [1.0]
    for topology in ("decoupled", "async"):
        row = metrics(tmp_path / topology)[-1]
        assert_logged(row)
        assert 0.0 <= row["queue/fill"] <= 1.0 and "speed/trainer_waits" in row
    assert children() == {}


def test_killed_workers_are_replaced_and_training_goes_on(tmp_path, caplog):
    hook = At(i3=lambda: kill("actor-0"), i6=lambda: kill("policy-0"))
    path = run(make_point_mass, changed("decoupled", 12, max_staleness=2), tmp_path, 0, hook)
    facts = load_checkpoint(path).facts
    rows = metrics(tmp_path)
    assert (facts["iteration"], facts["finished"]) == (12, True)
    assert [row["iteration"] for row in rows] == list(range(1, 13))
    assert rows[-1]["queue/restarts"] == 2
    assert "actor-0 was killed" in caplog.text and "policy-0 was killed" in caplog.text
    assert max(row["staleness/max"] for row in rows) <= 2
    assert rows[-1]["staleness/age_0"] + rows[-1]["staleness/age_1"] + rows[-1]["staleness/age_2"] == pytest.approx(1.0)
    assert children() == {}


def test_every_topology_logs_what_one_looks_for(tmp_path):
    run(make_point_mass, replace(changed("colocated", 2), workers=1), tmp_path)
    row = metrics(tmp_path)[-1]
    assert_logged(row)
    assert (row["staleness/max"], row["staleness/age_0"]) == (0.0, 1.0)
    assert "time/env" in row and not [name for name in row if name.startswith("queue/")]


def assert_logged(row):
    # One action; H of N(0, s^2) is ln(s sqrt(2 pi e)).
    expected = math.log(row["train/std"] * math.sqrt(2 * math.pi * math.e))
    assert row["train/entropy"] == pytest.approx(expected, rel=1e-4)
    assert row["speed/samples_per_second"] > 0 and row["progress/steps_left"] == 0
    assert {"train/kl", "train/clip_fraction", "train/value_loss", "staleness/age_0"} <= row.keys()


class Broken(PointMass):
    def step(self, action):
        raise RuntimeError("the floor is missing")


def make_broken(rank, num_envs, seed):
    return Broken(num_envs, seed)


def test_an_error_of_an_environment_ends_the_run_with_its_words(tmp_path):
    with pytest.raises(LagoonError, match=r"(?s)The process actor-0 failed: Traceback.*the floor is missing"):
        run(make_broken, changed("async"), tmp_path)
    assert children() == {}


@pytest.mark.skipif(sys.platform != "linux", reason="Parent-death signals as Linux has them.")
def test_a_killed_trainer_leaves_nothing_and_the_bound_holds_after_the_resume(tmp_path):
    before = orphaned_memory()
    here = Path(__file__).parent
    program = subprocess.Popen(
        [sys.executable, str(here / "run_forever.py"), str(tmp_path), "1", "async"], start_new_session=True
    )
    wait_for(lambda: len(checkpoint_paths(tmp_path / "checkpoints")) >= 2 or program.poll() is not None, 120)
    program.kill()
    program.wait(60)
    wait_for(lambda: group_is_gone(program), 20)
    wait_for(lambda: orphaned_memory() <= before, 20)
    saved = load_checkpoint(checkpoint_paths(tmp_path / "checkpoints")[-1])
    assert saved.facts["iteration"] == saved.facts["version"] > 0

    config = PPOConfig(**saved.facts["config"])
    later = replace(config, total_steps=saved.facts["step"] + 6 * config.num_envs * config.horizon)
    first = saved.facts["iteration"]

    def interrupt():
        os.kill(os.getpid(), signal.SIGINT)

    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        run(make_point_mass, later, tmp_path, 0, At(**{f"i{first + 3}": interrupt}))
    assert time.monotonic() - start < 120
    facts = load_checkpoint(checkpoint_paths(tmp_path / "checkpoints")[-1]).facts
    assert (facts["iteration"], facts["version"], facts["finished"]) == (first + 3, first + 3, False)
    rows = metrics(tmp_path)
    assert [row["iteration"] for row in rows] == list(range(1, first + 4))
    assert [row["progress/version"] for row in rows] == list(range(1, first + 4))
    assert max(row["staleness/max"] for row in rows) <= config.graph.max_staleness
    # The very first batch after the resume is of the saved version: nothing older survived, nothing newer is claimed.
    assert rows[first]["staleness/max"] == 0
    assert children() == {}


def test_the_graph_that_settings_describe():
    def graph(topology="decoupled", cores=8, **settings):
        return graph_of(replace(SMALL, topology=topology, graph=GraphConfig(**settings)), list(range(cores)))

    wide = graph(actors=2, policy_workers=2)
    assert (wide.seats, wide.rows, list(wide.ring_of(1))) == (4, 16, [2, 3])
    assert wide.cores == {"trainer": 0, "actor-0": 1, "actor-1": 2, "policy-0": 3, "policy-1": 4}
    assert set(graph(cores=2).cores.values()) == {None}  # More processes than cores: the system shares them out.
    assert graph("async", cores=2).cores == {"trainer": 0, "actor-0": 1}
    assert graph("async", cores=8).actors == 4  # Seven would not divide 64 robots over rings of two.
    with pytest.raises(BadInputError, match=r"3 actors with a ring of 2 .* 6 seats.*num_envs = 64.*num_envs=66"):
        graph(actors=3)
