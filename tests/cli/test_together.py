"""``lagoon together`` on a real, tiny training: two motions, one policy, a bundle and a verdict for each."""

from pathlib import Path

import numpy as np
import pytest

from lagoon.bundle import load
from lagoon.cli import __main__ as cli
from lagoon.motion.human_motion import HumanMotion
from lagoon.motion.skeleton import JOINT_NAMES
from lagoon.robot import load_robot
from lagoon.skill import Skill
from tests.people import standing_pose
from tests.robot_motions import still

TINY = (
    "train.ppo.num_envs=8",
    "train.ppo.horizon=8",
    "train.ppo.hidden=[8]",
    "train.ppo.total_steps=128",
    "train.check_trials=2",
    "train.workers=1",
    "train.tensorboard=false",
    "evaluate.trials=2",
    "preview.video=false",
)


def _retargeted(skills_dir: Path, command: str, frames: int) -> Skill:
    skill = Skill.new(skills_dir, command, "go2")
    skill.save()
    pose = np.tile(standing_pose(), (frames, 1, 1))
    HumanMotion(20.0, JOINT_NAMES, pose, command).save(skill.human_path)
    still(load_robot("go2"), frames).save(skill.robot_path)
    return skill


def test_one_policy_gives_each_skill_its_bundle(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    skills_dir = tmp_path / "skills"
    for command, frames in (("stand still", 30), ("do nothing at all", 40)):
        _retargeted(skills_dir, command, frames)
    line = ["together", "stand still", "do nothing at all", f"skills_dir={skills_dir}", *TINY]
    code = cli.main(line)
    out = capsys.readouterr().out
    assert code in (0, 1) and "learning 2 skills with one policy" in out
    (group,) = (skills_dir / "together").iterdir()
    members = {path.name: path / "bundle" for path in (group / "skills").iterdir()}
    assert len(members) == 2
    robot = load_robot("go2")
    bundles = [load(path, robot) for path in members.values()]
    assert {bundle.num_steps for bundle in bundles} == {30, 40}
    assert len({bundle.policy_sha256 for bundle in bundles}) == 2, "each graph holds its own words and motion"
    assert {bundle.command for bundle in bundles} == {"stand still", "do nothing at all"}

    # The skills in another order are the same group, and everything is kept.
    swapped = [line[0], line[2], line[1], *line[3:]]
    assert cli.main(swapped) == code
    out = capsys.readouterr().out
    assert out.count("unchanged, kept") == 7
    # A motion that changes is learned anew; the other verbs do not see a skill named after the group.
    still(robot, 35).save(Skill.new(skills_dir, "stand still", "go2").robot_path)
    assert cli.main(line) in (0, 1)
    assert "robot.npz changed" in capsys.readouterr().out
    assert cli.main(["list", f"skills_dir={skills_dir}"]) == 0
    listed = capsys.readouterr().out
    assert "stand still" in listed and group.name not in listed


def test_one_skill_or_one_twice_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _retargeted(tmp_path, "stand still", 20)
    for names in (["stand still"], ["stand still", "stand still"]):
        assert cli.main(["together", *names, f"skills_dir={tmp_path}", *TINY]) == 2
        assert "Name two skills or more, each once" in capsys.readouterr().err


def test_a_skill_without_robot_motion_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _retargeted(tmp_path, "stand still", 20)
    other = Skill.new(tmp_path, "wave", "go2")
    other.save()
    assert cli.main(["together", "stand still", "wave", f"skills_dir={tmp_path}", *TINY]) == 2
    assert f"{other.folder} has no robot.npz yet. Run: lagoon retarget {other.folder}" in capsys.readouterr().err
    assert not (tmp_path / "together").exists()
