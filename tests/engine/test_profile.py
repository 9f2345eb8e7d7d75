"""What a profile says, worked out by hand, and that a real run fills it."""

import json
from dataclasses import replace

import pytest
from point_mass import make_point_mass

from lagoon.engine.config import GraphConfig, PPOConfig
from lagoon.engine.profile import OTHER, WorkerTime, advice, read, table
from lagoon.engine.run import run

SMALL = PPOConfig(num_envs=64, horizon=16, hidden=(32, 32), total_steps=2 * 1024, tensorboard=False, profile=True)


def worker(name, cpu=None, **parts):
    """A process seen for 10 s; what its parts leave is "other"; its CPU time is what it did not wait."""
    named = {key.replace("wait_", "wait: ").replace("_", " "): value for key, value in parts.items()}
    named["other"] = 10.0 - sum(named.values())
    busy = 10.0 - sum(value for key, value in named.items() if key.startswith("wait"))
    return WorkerTime(name, 10.0, busy if cpu is None else cpu, named)


@pytest.mark.parametrize(
    ("workers", "words"),
    [
        ([worker("trainer", wait_samples=6.0), worker("actor-0", physics=9.0)], "waits 60% of its time for samples"),
        ([worker("trainer", update=9.5), worker("actor-0", wait_permit=5.0)], "Actors wait 50% of their time for the"),
        ([worker("actor-0", wait_actions=5.0), worker("policy-0", inference=9.9)], "policy workers are busy"),
        ([worker("actor-0", wait_actions=5.0), worker("policy-0", wait_questions=5.0)], "train.ring=NUMBER"),
        ([worker("actor-0", physics=9.0), worker("policy-0", wait_questions=7.0)], "Policy workers wait 70%"),
        ([worker("rank-0", wait_other_workers=2.0)], "wait 20% of their time for one another"),
        ([worker("rank-0", update=7.0, physics=1.0, env=1.0)], "The update takes 70%, acting 20%"),
        ([worker("rank-0", env=5.0, physics=2.0)], "own code takes 50%, its physics only 20%"),
        ([worker("actor-0", physics=5.0, copy_samples=2.0)], "Copying samples and parameters takes 20%"),
        ([worker("rank-0", cpu=3.0, physics=9.0)], "rank-0 had no core for 70%"),
    ],
)
def test_what_stands_out_is_said_with_its_number_and_nothing_else(workers, words):
    said = advice(workers)
    assert len(said) == 1 and words in said[0], said


def test_nothing_is_advised_where_nothing_stands_out():
    assert advice([worker("rank-0", physics=4.0, env=1.5, update=3.5)]) == ["Nothing stands out."]
    assert advice([]) == ["Nothing stands out."]


def test_the_table_has_a_column_per_process_and_shares_that_add_up():
    head, *rows = table([worker("actor-0", physics=6.0), worker("trainer", update=9.0)])
    assert head == ["share of wall time", "actor-0", "trainer"]
    assert rows[0] == ["update", "", "90.0%"] and ["physics", "60.0%", ""] in rows
    assert ["everything else", "40.0%", "10.0%"] in rows
    assert rows[-2:] == [["CPU time over wall time", "1.00", "1.00"], ["observed [s]", "10.0", "10.0"]]


@pytest.mark.parametrize("topology", ["colocated", "decoupled"])
def test_a_run_leaves_times_traces_and_a_page(tmp_path, topology):
    old = tmp_path / "profile" / "old.totals.json"
    old.parent.mkdir()
    old.write_text("{}")
    config = replace(SMALL, topology=topology, workers=1 if topology == "colocated" else 0, graph=GraphConfig(actors=1))
    run(make_point_mass, config, tmp_path)
    found = {one.name: one for one in read(tmp_path)}
    expected = {"colocated": {"rank-0"}, "decoupled": {"trainer", "actor-0", "policy-0"}}[topology]
    assert set(found) == expected and not old.exists()
    for one in found.values():
        assert sum(one.parts.values()) == pytest.approx(one.wall) and one.parts[OTHER] >= 0.0
    acting, learning = ("rank-0", "rank-0") if topology == "colocated" else ("actor-0", "trainer")
    assert found[acting].parts["env"] > 0 and found[learning].parts["update"] > 0
    assert all(json.loads(path.read_text()) for path in (tmp_path / "profile").glob("*.trace.json"))
    page = (tmp_path / "profile" / "profile.md").read_text()
    assert "| update |" in page and "## What to change\n- " in page


def test_without_the_setting_nothing_is_left(tmp_path):
    run(make_point_mass, replace(SMALL, workers=1, profile=False), tmp_path)
    assert not (tmp_path / "profile").exists()


def test_damaged_totals_are_passed_over(tmp_path):
    (tmp_path / "profile").mkdir()
    for number, text in enumerate(["", "[]", '{"name": 1}']):
        (tmp_path / "profile" / f"{number}.totals.json").write_text(text)
    assert read(tmp_path) == []
