"""How the comparison with other libraries counts; no other library is needed here."""

import json
import multiprocessing
import os

import pytest
import torch
from bench_peers import bounds, ratios, settings, table
from peers.install import PEERS, ROOT, interpreter, requirements
from peers.recipe import Recipe
from peers.runs import check, measured
from peers.tally import Tally, between
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
    with tally.timed("env_seconds"):
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
    fields = ("steps", "ended", "env_seconds", "physics_seconds", "update_seconds", "gradient_steps", "rows")
    return dict.fromkeys((*fields, "cpu_seconds"), 0.0) | some


def test_two_processes_that_learn_together_are_one_library():
    half = _counts(
        steps=16, ended=2, env_seconds=1.0, physics_seconds=0.5, update_seconds=0.6, gradient_steps=4, rows=32
    )
    found = measured(_marks({"1": half | {"cpu_seconds": 1.5}, "2": half | {"cpu_seconds": 1.7}}), RECIPE, 1)
    check(found, RECIPE, 0.0)
    assert found.samples_per_second == pytest.approx(16.0)
    assert found.shares == pytest.approx({"physics": 0.25, "environment": 0.25, "update": 0.3, "rest": 0.2})
    assert found.cpu_us == pytest.approx(1e6 * 3.2 / 32)
    assert found.environment_us == pytest.approx(1e6 * 2.0 / 32)
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
    row = {"shares": {"physics": 0.3, "environment": 0.2, "update": 0.4, "rest": 0.1}, "cpu_us": 100.0}
    speeds = {"lagoon": lagoon, "sb3": other}
    return {name: row | {"samples_per_second": speed, "environment_us": 50.0} for name, speed in speeds.items()}


def test_ratios_are_by_round_and_bounded_by_the_environment():
    rounds = [_round(20_000.0, 10_000.0), _round(15_000.0, 10_000.0), {"lagoon": {}}]
    assert ratios(rounds, "sb3") == pytest.approx([2.0, 1.5])
    # With two processes and 50 us per step, 40,000 samples per second are the most.
    assert bounds(rounds, "sb3", 2) == pytest.approx([4.0, 4.0])
    setting = {"processes": 1, "torch_threads": 2, "env_threads": 1}
    text = table({"rounds": rounds[:2], "settings": {"lagoon": setting, "sb3": setting}, "cores": 2})
    assert "| 10,000 | 1.75 (1.50 to 2.00) | 2.5 | 4.00 | 100 | 30% / 20% / 40% / 10% |" in text


def test_every_library_is_tried_with_several_settings_and_pinned():
    for name, peer in PEERS.items():
        assert (ROOT / "benchmarks" / "engine" / "peers" / f"{peer.module}.py").exists()
        if name != "lagoon":
            assert len(settings(name, 2)) > 1
            assert all("==" in pin for pin in peer.pins)
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
