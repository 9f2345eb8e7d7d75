from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from lagoon.cli import __main__ as cli
from lagoon.motion.human_motion import HumanMotion
from lagoon.motion.skeleton import JOINT_NAMES
from lagoon.skill import Skill


@pytest.fixture
def skill(tmp_path: Path) -> Skill:
    skill = Skill.new(tmp_path / "skills", "wave hello", "go2")
    skill.save()
    height = np.linspace(0.0, 1.7, len(JOINT_NAMES))
    joints = np.stack([0.01 * np.arange(22), np.zeros(22), height], axis=1)
    HumanMotion(20.0, JOINT_NAMES, np.repeat(joints[None], 9, axis=0), "wave hello").save(skill.human_path)
    return skill


def _convert(capsys: pytest.CaptureFixture[str], skill: Skill, *words: str) -> tuple[int, str, str]:
    code = cli.main(["convert", "wave hello", f"skills_dir={skill.folder.parent}", *words])
    out = capsys.readouterr()
    return code, " ".join(out.out.split()), out.err


def test_bvh_goes_into_the_skill_unless_a_name_is_given(
    capsys: pytest.CaptureFixture[str], skill: Skill, tmp_path: Path
) -> None:
    code, out, err = _convert(capsys, skill)
    assert (code, err) == (0, "") and "9 frames at 20 fps" in out
    assert (skill.folder / "human.bvh").read_text().startswith("HIERARCHY\nROOT pelvis\n")
    assert _convert(capsys, skill, f"to={tmp_path / 'new' / 'a.BVH'}")[0] == 0
    assert (tmp_path / "new" / "a.BVH").read_bytes() == (skill.folder / "human.bvh").read_bytes()


@pytest.mark.parametrize(
    ("to", "words"),
    [
        ("a.fbx", "the ending '.fbx' names no format. Expected .bvh"),
        ("a", "the ending 'of the name' names no format"),
        ("a.npz", "needs an SMPL body model, which lagoon may not bring"),
    ],
)
def test_what_cannot_be_written_is_said(
    capsys: pytest.CaptureFixture[str], skill: Skill, tmp_path: Path, to: str, words: str
) -> None:
    code, _, err = _convert(capsys, skill, f"to={tmp_path / to}")
    assert code == 2 and words in err and not (tmp_path / to).exists()


def test_the_skills_own_files_are_safe(capsys: pytest.CaptureFixture[str], skill: Skill) -> None:
    before = skill.human_path.read_bytes()
    code, _, err = _convert(capsys, skill, f"to={skill.human_path}", "body=SMPL.npz")
    assert code == 2 and "would overwrite a file of the skill itself" in err
    assert skill.human_path.read_bytes() == before
    skill.human_path.unlink()
    code, _, err = _convert(capsys, skill)
    assert code == 2 and "has no human motion yet. Run: lagoon generate 'wave hello'" in err
