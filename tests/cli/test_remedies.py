"""The ladder goes up one rung at a time, and each line can be pasted."""

import json
import shlex
from pathlib import Path

import pytest

from lagoon.cli.arguments import split
from lagoon.cli.remedies import next_remedy
from lagoon.cli.schema import to_plain
from lagoon.imitation.config import TrainConfig
from lagoon.skill import Plan, Skill


@pytest.fixture
def skill(tmp_path: Path) -> Skill:
    made = Skill.new(tmp_path, "do a cartwheel", "go2")
    made.save()
    made.retarget_path.write_text(json.dumps({"speed": 1.0, "morphology": "upright"}))
    made.begin("train", Plan({"train": to_plain(TrainConfig())}, 0, {}))
    return made


def test_every_rung_comes_once_and_then_there_is_none(skill: Skill) -> None:
    words = []
    for _ in range(4):
        remedy = next_remedy(skill)
        assert remedy is not None
        words.append(remedy.words)
        first = remedy.line.split(" && ")[0]
        stage = shlex.split(first)[1]
        arguments = split(shlex.split(first)[2:], stage, True, False, known=())
        assert arguments.text == str(skill.folder) and remedy.line.endswith("lagoon evaluate " + str(skill.folder))
        (key, value) = arguments.overrides[-1].split("=")
        if stage == "retarget":
            report = json.loads(skill.retarget_path.read_text())
            report |= {key.split(".")[1]: float(value) if key.endswith("speed") else value}
            skill.retarget_path.write_text(json.dumps(report))
        else:
            config = to_plain(TrainConfig()) if "alignment" in key else dict(skill.stages["train"].config["train"])
            if "alignment" in key:
                config["task"]["alignment"]["share"] = float(value)
            else:
                config["ppo"]["total_steps"] = int(value)
            skill.begin("train", Plan({"train": config}, 0, {}))
    assert [w.split()[0].strip(",") for w in words] == ["slower", "half", "twice", "on"]
    assert next_remedy(skill) is None


def test_a_damaged_report_leaves_the_rungs_that_need_none(skill: Skill) -> None:
    skill.retarget_path.write_text("no json")
    remedy = next_remedy(skill)
    assert remedy is not None and "train.task.alignment.share=0.5" in remedy.line
