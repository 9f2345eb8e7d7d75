"""The resume logic, on small stages that write small files; the real ones differ in what they write."""

import errno
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from lagoon.cli.pipeline import Outcome, Stage, Task, run_stages
from lagoon.errors import LagoonError, RefusedCommandError
from lagoon.progress import Progress
from lagoon.record import Plan
from lagoon.skill import Skill


class Lines:
    """A Screen that remembers."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.fractions: list[float] = []

    def say(self, text: str) -> None:
        self.lines.append(text)

    @contextmanager
    def stage(self, title: str, training: Path | None = None) -> Iterator[Progress]:
        yield lambda fraction, message="": self.fractions.append(fraction)


class Line:
    """Two stages in a row: generate writes letters, retarget turns them round."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.letters, self.seed, self.ran, self.resumed = folder, "abc", 0, [], []
        self.trouble: BaseException | None = None
        self.where = "retarget"

    def run(self, again: list[str] | None = None) -> tuple[Skill, Lines, list]:
        skill, screen = Skill.new(self.folder, "bow", "go2"), Lines()
        rows = run_stages(skill, [self._generate(), self._retarget()], screen, again or [])
        return skill, screen, rows

    def _generate(self) -> Stage:
        def work(task: Task) -> Outcome:
            self._note(task, "generate")
            task.skill.human_path.write_text(self.letters)
            return Outcome((task.skill.human_path,), f"{len(self.letters)} letters")

        return Stage("generate", "write", lambda skill: Plan({"letters": self.letters}, self.seed, {}), work)

    def _retarget(self) -> Stage:
        def work(task: Task) -> Outcome:
            self._note(task, "retarget")
            task.progress(0.5)
            task.skill.robot_path.write_text(task.skill.human_path.read_text().upper())
            return Outcome((task.skill.robot_path,), "PASS" if "x" not in self.letters else "FAIL in lead_in")

        return Stage("retarget", "turn", lambda skill: Plan({}, 0, skill.checksums([skill.human_path])), work)

    def _note(self, task: Task, name: str) -> None:
        self.ran.append(name)
        self.resumed.append(task.resumes)
        if self.trouble is not None and self.where == name:
            raise self.trouble


def test_all_stages_run_once_and_leave_their_files(tmp_path: Path) -> None:
    line = Line(tmp_path)
    skill, screen, rows = line.run()
    assert line.ran == ["generate", "retarget"]
    assert skill.robot_path.read_text() == "ABC"
    assert [(row.stage, row.kept, row.result, row.file) for row in rows] == [
        ("generate", False, "3 letters", "human.npz"),
        ("retarget", False, "PASS", "robot.npz"),
    ]
    assert screen.lines == ["generate: write (not run yet)", "retarget: turn (not run yet)"]
    assert screen.fractions == [0.5]
    assert sorted(path.name for path in skill.folder.iterdir()) == ["human.npz", "robot.npz", "skill.yaml"]


def test_finished_unchanged_stages_are_kept(tmp_path: Path) -> None:
    line = Line(tmp_path)
    line.run()
    _, screen, rows = line.run()
    assert line.ran == ["generate", "retarget"]
    assert screen.lines == ["generate: unchanged, kept", "retarget: unchanged, kept"]
    assert [(row.kept, row.result) for row in rows] == [(True, "3 letters"), (True, "PASS")]


def test_a_changed_setting_reruns_the_stage_and_those_after_it(tmp_path: Path) -> None:
    line = Line(tmp_path)
    line.run()
    line.letters = "abcd"
    _, screen, _ = line.run()
    assert screen.lines == ["generate: write (letters changed from abc to abcd)", "retarget: turn (human.npz changed)"]


def test_a_rerun_that_writes_the_same_leaves_later_stages_alone(tmp_path: Path) -> None:
    line = Line(tmp_path)
    line.run()
    line.seed = 1
    _, screen, _ = line.run()
    assert screen.lines == ["generate: write (seed changed from 0 to 1)", "retarget: unchanged, kept"]


def test_a_file_replaced_by_hand_is_kept_and_used(tmp_path: Path) -> None:
    line = Line(tmp_path)
    skill, _, _ = line.run()
    skill.human_path.write_text("mine")
    skill, screen, _ = line.run()
    assert screen.lines == ["generate: edited by hand, kept: human.npz", "retarget: turn (human.npz changed)"]
    assert skill.robot_path.read_text() == "MINE"


def test_a_deleted_file_is_written_again(tmp_path: Path) -> None:
    line = Line(tmp_path)
    skill, _, _ = line.run()
    skill.human_path.unlink()
    _, screen, _ = line.run()
    assert screen.lines == ["generate: write (human.npz is missing)", "retarget: unchanged, kept"]
    assert line.resumed == [False, False, True]


def test_again_runs_what_is_named(tmp_path: Path) -> None:
    line = Line(tmp_path)
    line.run()
    line.run(again=["retarget"])
    assert line.ran == ["generate", "retarget", "retarget"]
    assert line.resumed == [False, False, False]


@pytest.mark.parametrize("trouble", [KeyboardInterrupt(), LagoonError("no luck"), ValueError("a bug")])
def test_trouble_leaves_earlier_stages_usable_and_the_next_run_resumes(tmp_path: Path, trouble: BaseException) -> None:
    line = Line(tmp_path)
    line.trouble = trouble
    with pytest.raises(type(trouble)):
        line.run()
    skill = Skill.new(tmp_path, "bow", "go2")
    assert skill.stages["generate"].state == "done"
    assert skill.stages["retarget"].state == ("running" if isinstance(trouble, KeyboardInterrupt) else "failed")
    line.trouble = None
    skill, screen, _ = line.run()
    assert line.ran == ["generate", "retarget", "retarget"]
    assert line.resumed == [False, False, True]
    assert screen.lines[0] == "generate: unchanged, kept"
    assert skill.stages["retarget"].state == "done"


def test_an_interrupted_stage_with_other_settings_does_not_resume(tmp_path: Path) -> None:
    line = Line(tmp_path)
    line.trouble = KeyboardInterrupt()
    with pytest.raises(KeyboardInterrupt):
        line.run()
    line.trouble, line.letters = None, "abcd"
    line.run()
    assert line.resumed == [False, False, False, False]


def test_a_verdict_of_failure_is_kept_and_shown_again(tmp_path: Path) -> None:
    line = Line(tmp_path)
    line.letters = "x"
    assert [row.failed for row in line.run()[2]] == [False, True]
    rows = line.run()[2]
    assert [(row.kept, row.failed, row.result) for row in rows][1] == (True, True, "FAIL in lead_in")


def test_a_refused_command_leaves_no_folder(tmp_path: Path) -> None:
    line = Line(tmp_path / "out" / "skills")
    line.trouble, line.where = RefusedCommandError("unknown"), "generate"
    with pytest.raises(RefusedCommandError):
        line.run()
    assert list(tmp_path.iterdir()) == []
    line.folder.mkdir(parents=True)
    with pytest.raises(RefusedCommandError):
        line.run()
    assert line.folder.is_dir(), "a folder that was there before stays"


def test_a_refused_rerun_keeps_the_earlier_files(tmp_path: Path) -> None:
    line = Line(tmp_path)
    skill, _, _ = line.run()
    line.trouble, line.where, line.letters = RefusedCommandError("unknown"), "generate", "abcd"
    with pytest.raises(RefusedCommandError):
        line.run()
    assert skill.human_path.read_text() == "abc" and (skill.folder / "skill.yaml").exists()


def test_a_full_disk_is_reported_and_nothing_is_half_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    line = Line(tmp_path)
    line.run()
    line.letters = "abcd"

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", full)
        with pytest.raises(LagoonError, match="No space left on device"):
            line.run()
    skill = Skill.new(tmp_path, "bow", "go2")
    assert skill.stages["generate"].state == "done"
    assert sorted(path.name for path in skill.folder.iterdir()) == ["human.npz", "robot.npz", "skill.yaml"]


def test_two_runs_in_one_folder_do_not_collide(tmp_path: Path) -> None:
    line = Line(tmp_path)
    inside, leave = threading.Event(), threading.Event()
    real = line._note

    def slow(task: Task, name: str) -> None:
        inside.set()
        assert leave.wait(10)
        real(task, name)

    line._note = slow  # type: ignore[method-assign]
    thread = threading.Thread(target=line.run)
    thread.start()
    try:
        assert inside.wait(10)
        with pytest.raises(LagoonError, match=rf"Another lagoon \(process {os.getpid()}\) is working in .*kill -INT"):
            Line(tmp_path).run()
    finally:
        leave.set()
        thread.join()
    assert line.ran == ["generate", "retarget"]
