"""How the comparison with other libraries counts; no other library is needed here."""

import json
import multiprocessing
import os
import signal
import threading
import time
from pathlib import Path

import pytest
import torch
from bench_peers import cpu_ratios, cpu_table, ratios, settings, wall_table
from peers.install import PEERS, ROOT, interpreter, requirements
from peers.recipe import Recipe
from peers.runs import check, measured, spawn
from peers.tally import FIELDS, Tally, between
from torch import nn

RECIPE = Recipe("none.npz", num_envs=8, horizon=4, epochs=2, minibatches=2)


def _act(folder):
    Tally(folder).add(steps=5)


def test_a_tally_adds_up_over_processes_and_marks_what_is_between(tmp_path):
    tally = Tally(tmp_path)
    tally.add(steps=3, ended=1)
    tally.mark()
    child = multiprocessing.get_context("fork").Process(target=_act, args=(tmp_path,))
    child.start()
    child.join()
    with tally.timed("env"):
        tally.add(steps=2)
    tally.mark()
    first, last = tally.marks()
    found = between(first, last)
    assert len(found) == 2
    assert found[str(os.getpid())]["steps"] == 2
    assert found[str(child.pid)]["steps"] == 5
    assert 0 < found[str(os.getpid())]["env_seconds"] < 1


def test_gradient_steps_and_rows_are_counted_where_gradients_are_recorded(tmp_path):
    tally, net = Tally(tmp_path), nn.Linear(3, 1)
    tally.count_rows(net, lambda obs: obs["obs"])
    forward = net.forward
    net.forward = lambda obs: forward(obs["obs"])
    counting = tally.count_optimizers()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    with torch.no_grad():
        net({"obs": torch.zeros(100, 3)})
    for _ in range(3):
        net({"obs": torch.zeros(4, 5, 3)}).sum().backward()
        optimizer.step()
    counting.remove()
    found = tally.totals()[str(os.getpid())]
    assert found["rows"] == 60
    assert found["gradient_steps"] == 3


def _marks(per_process, iterations=3):
    """Two seconds per iteration, of which each process counts the same."""
    return [
        {
            "wall": 10.0 + 2 * k,
            "processes": {
                name: {field: k * value for field, value in counts.items()} for name, counts in per_process.items()
            },
        }
        for k in range(1, iterations + 2)
    ]


def _counts(**some):
    return dict.fromkeys(FIELDS, 0.0) | some


def test_two_processes_that_learn_together_are_one_library():
    half = _counts(
        steps=16,
        ended=2,
        gradient_steps=4,
        rows=32,
        env_seconds=1.0,
        physics_seconds=0.5,
        update_seconds=0.6,
        env_cpu=0.8,
        physics_cpu=0.5,
        update_cpu=0.5,
    )
    found = measured(_marks({"1": half | {"cpu_seconds": 1.5}, "2": half | {"cpu_seconds": 1.7}}), RECIPE, 1)
    check(found, RECIPE, 0.0)
    assert found.samples_per_second == pytest.approx(16.0)
    assert found.shares == pytest.approx({"physics": 0.25, "environment": 0.25, "update": 0.3, "rest": 0.2})
    expected = {"physics": 1.0, "environment": 0.6, "update": 1.0, "rest": 0.6, "all": 3.2}
    assert found.cpu_us == pytest.approx({name: 1e6 * value / 32 for name, value in expected.items()})
    assert found.ended == pytest.approx(0.125)


@pytest.mark.parametrize("wrong", [{"steps": 31}, {"rows": 32}, {"gradient_steps": 2}])
def test_a_library_that_does_less_work_than_the_recipe_does_not_count(wrong):
    counts = _counts(steps=32, env_seconds=1.0, update_seconds=0.5, gradient_steps=4, rows=64, cpu_seconds=2.0) | wrong
    found = measured(_marks({"1": counts}), RECIPE, 1)
    with pytest.raises(AssertionError, match=f"{next(iter(wrong))} per iteration"):
        check(found, RECIPE, 0.0)


def test_too_few_iterations_are_an_error():
    with pytest.raises(RuntimeError, match="1 iterations were marked"):
        measured(_marks({"1": _counts(steps=1)}, 0), RECIPE, 3)


def _round(lagoon, other):
    shares = {"physics": 0.3, "environment": 0.2, "update": 0.4, "rest": 0.1}
    speeds = {"lagoon": lagoon, "lagoon_alone": lagoon / 1.9, "sb3": other}
    return {
        name: {
            "shares": shares,
            "samples_per_second": speed,
            "cpu_us": {phase: share * 1e6 / speed for phase, share in shares.items()} | {"all": 1e6 / speed},
        }
        for name, speed in speeds.items()
    }


def test_ratios_are_by_round_and_bounded_by_the_environment():
    rounds = [_round(20_000.0, 10_000.0), _round(15_000.0, 10_000.0), {"lagoon": {}}]
    assert ratios(rounds, "sb3") == pytest.approx([2.0, 1.5])
    assert cpu_ratios(rounds, "sb3") == pytest.approx([2.0 / 1.9, 1.5 / 1.9])
    # Half of lagoon's time is the environment: with nothing else left it is twice as fast, and not more.
    assert cpu_ratios(rounds, "sb3", ("physics", "environment")) == pytest.approx([4.0 / 1.9, 3.0 / 1.9])
    setting = {"processes": 1, "torch_threads": 2, "env_threads": 1}
    result = {"rounds": rounds[:2], "settings": dict.fromkeys(("lagoon", "lagoon_alone", "sb3"), setting)}
    row = "| Stable-Baselines3 | 1 x 2 (1) | 10,000 | 1.75 (1.50 to 2.00) | 2.5 | 30% / 20% / 40% / 10% |"
    assert row in wall_table(result)
    row = "| Stable-Baselines3 | 100 | 30 / 20 / 40 / 10 | 0.92 (0.79 to 1.05) | 1.84 |"
    assert row in cpu_table(result)


def test_every_library_is_tried_with_several_settings_and_pinned():
    for name, peer in PEERS.items():
        assert (ROOT / "benchmarks" / "engine" / "peers" / f"{peer.module}.py").exists()
        if not name.startswith("lagoon"):
            assert len(settings(name, 2)) > 1
            assert all("==" in pin for pin in peer.pins)
        # What counts where others use the machine: as few threads as there can be.
        assert settings(name, 2)[0].get("torch_threads", 1) == 1
        for setting in settings(name, 2):
            Recipe("none.npz", **setting)


def test_a_recipe_survives_json():
    assert Recipe.from_json(RECIPE.to_json()) == RECIPE
    assert json.loads(RECIPE.to_json())["hidden"] == [256, 128]


def test_an_environment_from_nothing_gets_what_training_needs(tmp_path):
    needed = requirements(ROOT / "pyproject.toml")
    assert any(line.startswith("torch") for line in needed)
    assert not any(line.startswith("lagoon") for line in needed)
    assert interpreter("lagoon", tmp_path, share=False)
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize("how", ["limit", "terminated"])
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are looked up as on Linux")
def test_a_run_that_is_ended_leaves_no_process_behind(tmp_path, how):
    python, note = tmp_path / "python", tmp_path / "pid"
    python.write_text(f"#!/bin/sh\necho $$ > {note}\nsleep 60 &\nwait\n")
    python.chmod(0o755)

    def terminate():
        while not (note.exists() and note.read_text().strip()):
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGTERM)

    if how == "limit":
        with pytest.raises(RuntimeError, match="not done after 1 s"):
            spawn(str(python), "none", RECIPE, tmp_path, limit=1.0)
    else:
        threading.Thread(target=terminate).start()
        with pytest.raises(SystemExit):
            spawn(str(python), "none", RECIPE, tmp_path)
    if note.exists():  # On a busy machine it may not even have begun.
        pid, end = int(note.read_text()), time.monotonic() + 10.0
        while [entry for entry in Path("/proc").glob("[0-9]*") if _lives_in(entry, pid)]:
            assert time.monotonic() < end
            time.sleep(0.05)


def _lives_in(process, group):
    """Tell whether a process of /proc belongs to a process group and is more than a zombie."""
    try:
        state, _, own = (process / "stat").read_text().rpartition(")")[2].split()[:3]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return int(own) == group and state != "Z"
