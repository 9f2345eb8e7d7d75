"""The ladder goes up one rung at a time, and each line can be pasted."""

import json
import shlex
from pathlib import Path

import pytest

from lagoon.cli.arguments import split
from lagoon.cli.help import show
from lagoon.cli.remedies import RUNGS, Remedy, next_remedy
from lagoon.cli.schema import to_plain
from lagoon.imitation.config import TaskConfig, TrainConfig
from lagoon.record import Plan
from lagoon.skill import Skill


@pytest.fixture
def skill(tmp_path: Path) -> Skill:
    made = Skill.new(tmp_path, "do a cartwheel", "go2")
    made.save()
    made.retarget_path.write_text(json.dumps({"speed": 1.0, "morphology": "upright"}))
    config = TrainConfig(task=TaskConfig(self_collisions=False))  # All rungs are there.
    made.begin("train", Plan({"train": to_plain(config)}, 0, {}))
    made.train_folder.mkdir()
    (made.train_folder / "config.yaml").write_text("ppo: {start_from: base/policy.json}")
    return made


def apply(skill: Skill, remedy: Remedy) -> None:
    """Leave the record that the remedy's line would leave."""
    report, config = json.loads(skill.retarget_path.read_text()), dict(skill.stages["train"].config["train"])
    for key, value in remedy.changes.items():
        section, *parents, last = key.split(".")
        inner = config
        for parent in parents:
            inner = inner[parent]
        (report if section == "retarget" else inner)[last] = value
    skill.retarget_path.write_text(json.dumps(report))
    skill.begin("train", Plan({"train": config}, 0, {}))


def test_every_rung_comes_once_and_then_there_is_none(skill: Skill) -> None:
    names = []
    while (remedy := next_remedy(skill)) is not None:
        names.append(remedy.name)
        first = shlex.split(remedy.line.split(" && ")[0])
        arguments = split(first[2:], first[1], True, False, known=())
        assert arguments.text == str(skill.folder) and remedy.line.endswith("lagoon evaluate " + str(skill.folder))
        assert first[1] == remedy.first
        assert {f"{key}={show(value)}" for key, value in remedy.changes.items()} <= set(arguments.overrides)
        apply(skill, remedy)
    assert names == ["slower", "collisions", "from_nothing", "aligned", "longer", "four_legged"] == [*RUNGS]


@pytest.mark.parametrize("content", [None, "", "[", "ppo: {start_from: ''}", "ppo: 3"])
def test_a_training_that_began_with_nothing_has_one_rung_less(skill: Skill, content: str | None) -> None:
    path = skill.train_folder / "config.yaml"
    path.unlink() if content is None else path.write_text(content)
    remedy = next_remedy(skill, ("slower", "collisions"))
    assert remedy is not None and remedy.name == "aligned"


def test_as_it_comes_a_training_has_had_the_collisions(skill: Skill) -> None:
    skill.begin("train", Plan({"train": to_plain(TrainConfig())}, 0, {}))
    remedy = next_remedy(skill, ("slower",))
    assert remedy is not None and remedy.name == "from_nothing"


def test_near_the_goal_training_goes_on_and_then_begins_with_nothing(skill: Skill) -> None:
    found = {"passed": False, "verdict": ["FAIL"], "policy_sha256": "", "checks": [{"name": "survival", "value": 0.9}]}
    skill.evaluation_path.write_text(json.dumps(found))
    tried: list[str] = []
    for name in ("longer", "collisions", "from_nothing", "slower"):
        remedy = next_remedy(skill, tried)
        assert remedy is not None and remedy.name == name
        tried.append(name)


def test_far_below_its_own_check_a_policy_learns_with_collisions_first(skill: Skill) -> None:
    found = {"passed": False, "verdict": ["FAIL"], "policy_sha256": "", "checks": [{"name": "survival", "value": 0.82}]}
    skill.evaluation_path.write_text(json.dumps(found))
    (skill.train_folder / "checks.jsonl").write_text('{"survival": 0.3}\n{"survival": 0.98}\n')
    remedy = next_remedy(skill)
    assert remedy is not None and remedy.changes == {"train.task.self_collisions": True}


def test_a_rung_that_was_tried_elsewhere_is_left_out(skill: Skill) -> None:
    remedy = next_remedy(skill, ("slower", "collisions", "from_nothing", "aligned"))
    assert remedy is not None and remedy.changes == {"train.settle": 2.0, "train.steady": 0.99, "train.give_up": 0}


def test_longer_means_more_minutes_where_they_are_the_limit(skill: Skill) -> None:
    config = to_plain(TrainConfig())
    config["ppo"]["minutes"] = 5.0
    skill.begin("train", Plan({"train": config}, 0, {}))
    remedy = next_remedy(skill, ("slower", "collisions", "from_nothing", "aligned"))
    assert remedy is not None and remedy.changes == {"train.ppo.minutes": 10.0}


def test_a_damaged_report_leaves_the_rungs_that_need_none(skill: Skill) -> None:
    skill.retarget_path.write_text("no json")
    remedy = next_remedy(skill, ("collisions", "from_nothing"))
    assert remedy is not None and "train.task.alignment.share=0.5" in remedy.line
