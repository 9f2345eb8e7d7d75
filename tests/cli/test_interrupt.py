"""Ctrl-C in a real training, sent to a real process."""

import json
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from lagoon.robot import load_robot
from lagoon.skill import Skill
from tests.robot_motions import still

SMALL = (
    "train.ppo.num_envs=8",
    "train.ppo.horizon=8",
    "train.ppo.hidden=[8]",
    "train.check_trials=2",
    "train.workers=1",
)


@pytest.fixture
def skill(tmp_path: Path) -> Skill:
    skill = Skill.new(tmp_path / "skills", "stand still", "go2")
    skill.save()
    still(load_robot("go2"), 40).save(skill.robot_path)
    return skill


def _iterations(skill: Skill) -> list[int]:
    path = skill.train_folder / "metrics.jsonl"
    lines = path.read_text().splitlines() if path.exists() else []
    return [json.loads(line)["iteration"] for line in lines]


def _train_and_interrupt(skill: Skill) -> tuple[int, str, list[int]]:
    """Start training, wait for two iterations, press Ctrl-C."""
    before = len(_iterations(skill))
    words = [sys.executable, "-m", "lagoon.cli", "train", "stand still", "skills_dir=skills", *SMALL]
    process = subprocess.Popen(words, cwd=skill.folder.parents[1], stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 60
    while len(_iterations(skill)) < before + 2:
        assert process.poll() is None and time.monotonic() < deadline
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=30)
    return process.returncode, err, _iterations(skill)[before:]


@pytest.mark.slow
def test_ctrl_c_saves_and_the_same_line_goes_on(skill: Skill) -> None:
    code, err, first = _train_and_interrupt(skill)
    assert code == 130
    assert err.startswith("Stopped. Finished stages and checkpoints are kept; go on with: lagoon train 'stand still'")
    assert err.count("\n") == 1
    assert Skill.open(skill.folder).stages["train"].state == "running"
    assert not (skill.folder / ".lock").exists()
    (saved,) = (skill.train_folder / "checkpoints").glob("*.json")
    assert re.search(r"\d+", saved.name) and first[0] == 1
    code, _, second = _train_and_interrupt(skill)
    assert code == 130 and second[0] == first[-1] + 1
    assert not skill.folder.joinpath("train-previous").exists()
