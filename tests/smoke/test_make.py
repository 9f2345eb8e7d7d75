"""From words to a judged bundle, with the shipped text model and a training far too short to pass."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import yaml

from lagoon import bundle
from lagoon.robot import load_robot

pytestmark = pytest.mark.slow
WORDS = ("make", "wave hello", "train.total_steps=8000", "train.workers=1", "evaluate.trials=8", "skills_dir=out")


def _lagoon(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    script = [sys.executable, "-m", "lagoon.cli", *words]
    return subprocess.run(script, cwd=folder, env=environment, capture_output=True, text=True, timeout=600)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, subprocess.CompletedProcess[str]]:
    folder = tmp_path_factory.mktemp("made")
    return folder, _lagoon(folder, *WORDS)


def test_every_stage_leaves_its_file_and_the_verdict_is_honest(made: tuple) -> None:
    folder, done = made
    assert done.returncode == 1 and done.stderr == "", done.stderr
    assert "\x1b" not in done.stdout and "FAIL: " in done.stdout and "Falls in " in done.stdout
    (skill,) = (folder / "out").iterdir()
    assert [path.name for path in folder.iterdir()] == ["out"]
    files = {path.name for path in skill.iterdir()}
    wanted = {"skill.yaml", "human.npz", "robot.npz", "retarget.json", "train", "bundle", "evaluation.json"}
    assert wanted | {"preview.html"} <= files and ".lock" not in files
    with np.load(skill / "human.npz", allow_pickle=False) as human:
        assert human["joint_pos_w"].shape[1:] == (22, 3) and human["fps"] == 20
    with np.load(skill / "robot.npz", allow_pickle=False) as robot:
        stand = load_robot("go2").default_joint_pos
        assert np.allclose(robot["joint_pos"][[0, -1]], stand, atol=1e-6)
        w, x, y, z = robot["root_quat_w"].T
        nose_up = 2 * (x * z - w * y)  # Height of the base's X axis: -sin of the pitch.
        assert np.abs(nose_up).max() > 0.9, "the robot should stand on its hind legs while it waves"
    assert bundle.load(skill / "bundle", load_robot("go2")).command == "wave hello"
    assert json.loads((skill / "evaluation.json").read_text())["passed"] is False
    record = yaml.safe_load((skill / "skill.yaml").read_text())
    assert {stage["state"] for stage in record["stages"].values()} == {"done"}


def test_the_same_line_again_keeps_everything(made: tuple) -> None:
    folder, _ = made
    done = _lagoon(folder, *WORDS)
    assert done.returncode == 1 and done.stdout.count("unchanged, kept") == 6


def test_another_seed_makes_another_motion_and_redoes_the_rest(made: tuple) -> None:
    folder, _ = made
    (path,) = (folder / "out").glob("*/human.npz")
    with np.load(path) as before:
        first = before["joint_pos_w"]
    assert _lagoon(folder, "generate", "wave hello", "skills_dir=out", "seed=1").returncode == 0
    with np.load(path) as after:
        second = after["joint_pos_w"]
    assert first.shape != second.shape or not np.allclose(first, second)
    done = _lagoon(folder, "retarget", "wave hello", "skills_dir=out")
    assert done.returncode == 0 and "changed" in done.stdout


def test_a_command_far_from_everything_is_refused_and_leaves_nothing(tmp_path: Path) -> None:
    done = _lagoon(tmp_path, "make", "file my tax return", "skills_dir=out")
    assert done.returncode == 3 and "Nearest known commands: " in done.stderr and done.stderr.count("\n") == 1
    assert not list(tmp_path.rglob("*.*"))
