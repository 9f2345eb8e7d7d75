"""The suite runs what is there, says what is missing, and goes on where it was stopped."""

import json
from pathlib import Path

import pytest

from lagoon.bundle.playback import write_playback
from lagoon.cli import __main__ as cli
from lagoon.cli import suite
from lagoon.errors import BadInputError
from lagoon.robot import load_robot
from lagoon.skill import Skill
from tests.robot_motions import still


@pytest.fixture
def bench(tmp_path: Path) -> Path:
    """Two seeds of a robot that stands; nothing else."""
    robot = load_robot("go2")
    motion = still(robot, 40, segment_names=("stand", "motion"), segment_starts=(0, 20))
    for seed in (0, 1):
        skill = Skill.new(tmp_path / f"seed{seed}", "stand still", "go2")
        skill.save()
        motion.save(skill.robot_path)
        write_playback(skill.bundle_folder, robot, motion, "stand still")
        (skill.folder / "preview.mp4").write_bytes(b"no video, but a file")
    return tmp_path


def _run(bench: Path, commands: str) -> int:
    return cli.main(["suite", f"skills_dir={bench}", f"commands={commands}", "seeds=[0,1]", "trials=3"])


def test_it_reports_what_is_there_and_goes_on(
    bench: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert _run(bench, "[stand still]") == 0
    out = capsys.readouterr().out
    assert "stand still, other physics: 100.0%" in out and "2 of 2 seeds pass" in out
    rows = json.loads((bench / "suite" / "results.json").read_text())["results"]
    assert len(rows) == 6 and {row["trials"] for row in rows} == {3} and all(row["numbers"]["power"] for row in rows)
    page = (bench / "suite" / "report.html").read_text()
    assert page.count("preview.mp4") == 2 and (bench / "suite" / "../seed0").resolve().is_dir()

    def again(*_: object) -> None:
        raise AssertionError("what is known is not evaluated again")

    monkeypatch.setattr("lagoon.deploy.evaluate.evaluate", again)
    assert _run(bench, "[stand still]") == 0


def test_what_is_missing_is_told_with_the_line_that_makes_it(bench: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert _run(bench, "[do a backflip]") == 1
    out = " ".join(capsys.readouterr().out.split())
    assert "do a backflip, seed 1: there is no policy. Make it with: lagoon make 'do a backflip' seed=1" in out
    assert "backflip" in (bench / "suite" / "report.html").read_text()


def test_make_runs_the_verb_and_an_interrupt_ends_the_suite(bench: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    typed: list[list[str]] = []
    answers = [3, cli.INTERRUPTED]
    monkeypatch.setattr(cli, "main", lambda words: typed.append(words) or answers[len(typed) - 1])
    call = cli.Call("", suite.SuiteVerb(("jump",), (0, 1), 3, True, "go2", str(bench)), frozenset())
    with pytest.raises(KeyboardInterrupt):
        suite.run(call)
    assert typed[1] == ["make", "--", "jump", "seed=1", "robot=go2", f"skills_dir={bench / 'seed1'}"]


@pytest.mark.parametrize("words", [{"commands": ()}, {"seeds": (-1,)}, {"trials": 0}])
def test_settings_that_cannot_work_are_refused(words: dict) -> None:
    with pytest.raises(BadInputError, match=r"Type|seed"):
        suite.SuiteVerb(**words)
