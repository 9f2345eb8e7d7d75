"""Several skills at once: what is started, what is shown, how it ends."""

import io
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from rich.console import Console

from lagoon.cli import __main__ as cli
from lagoon.cli.console import Terminal
from lagoon.cli.many import exit_code
from lagoon.cli.many_table import ManyTable
from lagoon.engine.cores import available_cores
from lagoon.engine.scheduler.jobs import Job, Update
from lagoon.engine.scheduler.queue import JobRow
from lagoon.record import Plan
from lagoon.robot import load_robot
from lagoon.skill import Skill
from tests.engine.orphans import orphaned_memory
from tests.robot_motions import still


class Recorder:
    """Starts nothing: ends every job at once, with a code for each."""

    def __init__(self, codes=(), cores=4):
        self.codes, self.cores, self.started, self.running = dict(codes), cores, [], []

    def __call__(self):
        return self

    def capacity(self):
        return self.cores

    def largest(self):
        return self.cores

    def start(self, job):
        self.started.append(job)
        self.running.append(job)
        return True

    def poll(self, seconds):
        running, self.running = self.running, []
        ends = [Update(job.name, code=self.codes.get(job.name.rpartition("-")[0], 0)) for job in running]
        return [Update(job.name, "train", 0.5, "[red]half[/]") for job in running] + ends

    def interrupt(self):
        pass

    def close(self):
        pass


@pytest.fixture
def skills(tmp_path, monkeypatch) -> Path:
    for command in ("wave hello", "bow", "clap"):
        skill = Skill.new(tmp_path / "skills", command, "go2")
        skill.begin("train", Plan({}, 0, {}))
        skill.stages["train"].result = f"{command} is learned"
        skill.save()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    return tmp_path / "skills"


@pytest.fixture
def recorder(monkeypatch) -> Recorder:
    recorder = Recorder()
    monkeypatch.setattr("lagoon.cli.many.LocalJobs", recorder)
    return recorder


def test_each_skill_gets_a_process_with_the_settings_that_were_typed(skills, recorder, capsys):
    assert cli.main(["train", "wave hello", "bow", "seed=3", "train.minutes=5", "jobs=1", "--again"]) == 0
    wave, bow = (Skill.new(skills, command, "go2").folder.resolve() for command in ("wave hello", "bow"))
    words = [job.command[1:] for job in recorder.started]
    rest = ("seed=3", "train.minutes=5")
    assert words == [("-m", "lagoon.cli", "train", "--again", str(folder), *rest) for folder in (wave, bow)]
    assert [job.cores for job in recorder.started] == [4, 4]
    assert [job.log for job in recorder.started] == [Path(f"skills/logs/train-{f.name}.log") for f in (wave, bow)]
    out = capsys.readouterr().out
    assert "train: 2 skills, 1 side by side on 4 cores each; logs in skills/logs/" in out
    assert "wave hello is learned" in out and f"lagoon export skills/{bow.name}" in out


def test_a_skill_that_is_named_twice_is_trained_once(skills, recorder):
    folder = Skill.new(skills, "bow", "go2").folder
    assert cli.main(["train", "bow", "wave hello", str(folder), folder.name]) == 0
    assert len(recorder.started) == 2


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["wave", "hello"], "There is no skill 'wave', but there is one named 'wave hello'. Put it in quotes: lagoon"),
        (["bow", "wafe hello"], "There is no skill 'wafe hello'"),
        (["bow", "clap", "jobs=-1"], "jobs=-1: expected 0 (as many as there are cores) or more"),
    ],
)
def test_what_cannot_work_is_refused_before_anything_starts(skills, recorder, capsys, words, message):
    assert cli.main(["train", *words]) == 2
    assert message in capsys.readouterr().err
    assert recorder.started == []


def test_one_that_fails_is_told_with_its_log_and_the_others_are_done(skills, recorder, capsys):
    recorder.codes = {"bow": 2}
    log = skills / "logs" / f"train-{Skill.new(skills, 'bow', 'go2').folder.name}.log"
    log.parent.mkdir()
    log.write_text("--- earlier\nError: long ago\n--- now\nError: [the] floor is missing\n")
    assert cli.main(["train", "wave hello", "bow", "clap"]) == 2
    out = capsys.readouterr().out
    assert "[the] floor is missing" in out and "long ago" not in out and "clap is learned" in out
    assert f"What went wrong:   skills/logs/{log.name}" in out


def test_make_takes_several_commands_only_when_told_to(recorder, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert cli.main(["make", "wave", "hello"]) == 2
    assert 'If it is another command: lagoon make --each "wave" "hello"' in capsys.readouterr().err
    recorder.codes = {"clap-your-hands": 2, "wave": 2}
    assert cli.main(["make", "clap your hands", "--each", "wave", "train.minutes=1"]) == 2
    assert [job.command[3:] for job in recorder.started] == [
        ("make", "--", "clap your hands", "train.minutes=1"),
        ("make", "--", "wave", "train.minutes=1"),
    ]
    assert [job.cores for job in recorder.started] == [2, 2]
    assert cli.main(["make", "--each", "bow", "wave", "motion=walk.bvh"]) == 2
    assert "One motion file cannot be the motion of several commands" in capsys.readouterr().err


def row(state, code):
    return JobRow(Job("a", (), Path("a")), state, code=code)


def test_exit_codes():
    good, verdict, error, refused = row("done", 0), row("failed", 1), row("failed", 2), row("failed", 3)
    assert exit_code([good, good]) == 0
    assert exit_code([good, verdict]) == 1
    assert exit_code([good, verdict, error]) == 2
    assert exit_code([refused, refused]) == 3
    assert exit_code([good, row("failed", -9)]) == 2
    assert exit_code([good, row("failed", None)]) == 2


def test_the_table_holds_what_moves_when_there_are_more_skills_than_lines():
    file = io.StringIO()
    console = Console(file=file, force_terminal=True, width=100, height=12, _environ={})
    rows = [JobRow(Job(f"job-{i}", (), Path("x")), "done" if i < 20 else "running") for i in range(23)]
    rows[21].stage, rows[21].fraction, rows[21].message = "train", 0.25, "[bold]7 steps"
    with ManyTable(Terminal(console), {f"job-{i}": f"skill {i}" for i in range(23)}) as table:
        table.show(rows, stopping=False)
    text = file.getvalue()
    assert all(f"skill {i} " in text for i in (20, 21, 22)) and "skill 19 " not in text
    assert "25%" in text and "[bold]7 steps" in text and "3 running, 20 done. Ctrl-C saves all" in text


TINY = (
    "train.ppo.num_envs=8",
    "train.ppo.horizon=8",
    "train.ppo.hidden=[8]",
    "train.check_trials=2",
    "train.tensorboard=false",
    "train.easy_share=1",
    "train.settle=0",
)


def children_of(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def wait_for_memory(before: set[str]) -> None:
    """Wait until nothing is left but what was there before; other programs may be about to map theirs."""
    deadline = time.monotonic() + 30
    while not orphaned_memory() <= before:
        assert time.monotonic() < deadline, orphaned_memory() - before
        time.sleep(0.1)


def iterations(skill: Skill) -> list[int]:
    path = skill.train_folder / "metrics.jsonl"
    lines = path.read_text().splitlines() if path.exists() else []
    return [json.loads(line)["iteration"] for line in lines if line.endswith("}")]


class Run:
    """Several trainings as a user starts and stops them."""

    def __init__(self, folder: Path, *words: str) -> None:
        words = (sys.executable, "-m", "lagoon.cli", "train", *words, *TINY)
        self.program = subprocess.Popen(words, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def wait_until(self, condition) -> None:
        deadline = time.monotonic() + 120
        while not condition():
            assert self.program.poll() is None, self.program.communicate()
            assert time.monotonic() < deadline
            time.sleep(0.05)

    def job_of(self, skill: Skill) -> int | None:
        for pid in children_of(self.program.pid):
            if str(skill.folder) in Path(f"/proc/{pid}/cmdline").read_text().split("\0"):
                return pid
        return None

    def ctrl_c(self) -> tuple[str, str]:
        left, start = children_of(self.program.pid), time.monotonic()
        self.program.send_signal(signal.SIGINT)
        out, err = self.program.communicate(timeout=60)
        # Five seconds are the promise on a machine that is not overloaded.
        assert time.monotonic() - start < 5 * max(1.0, os.getloadavg()[0] / len(available_cores()))
        assert left and not any(Path(f"/proc/{pid}").exists() for pid in left)
        return " ".join(out.split()), err


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="It looks into /proc.")
def test_real_trainings_survive_a_kill_and_ctrl_c_and_go_on(tmp_path):
    skills = [Skill.new(tmp_path / "skills", f"stand {how}", "go2") for how in ("still", "firm", "nowhere")]
    for skill in skills:
        skill.save()
    first, second, _ = skills
    for skill in (first, second):
        still(load_robot("go2"), 40).save(skill.robot_path)
    before = orphaned_memory()
    run = Run(tmp_path, "stand nowhere", "stand still", "stand firm", "train.checkpoint_seconds=0")
    run.wait_until(lambda: len(iterations(first)) > 3 and len(iterations(second)) > 3)
    victim = run.job_of(first)
    assert victim is not None
    at = len(iterations(first))
    os.kill(victim, signal.SIGKILL)
    run.wait_until(lambda: run.job_of(first) not in (None, victim) and len(iterations(first)) > at + 3)
    out, err = run.ctrl_c()
    assert run.program.returncode == 130 and "go on with: lagoon train 'stand nowhere' 'stand still'" in err
    assert "was killed (signal 9)" in out and "What went wrong: skills/logs/train-stand-nowhere" in out
    stopped = [len(iterations(skill)) for skill in (first, second)]

    again = Run(tmp_path, "stand still", "stand firm", "train.checkpoint_seconds=0")
    again.wait_until(lambda: all(len(iterations(s)) > n + 2 for s, n in zip((first, second), stopped, strict=True)))
    again.ctrl_c()
    for skill in (first, second):
        assert iterations(skill) == list(range(1, len(iterations(skill)) + 1))
        assert not skill.folder.joinpath("train-previous").exists()
    wait_for_memory(before)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="Parent-death signals as Linux has them.")
def test_a_killed_controller_leaves_no_training_and_loses_nothing(tmp_path):
    skill = Skill.new(tmp_path / "skills", "stand still", "go2")
    skill.save()
    still(load_robot("go2"), 40).save(skill.robot_path)
    other = Skill.new(tmp_path / "skills", "stand nowhere", "go2")
    other.save()
    before = orphaned_memory()
    run = Run(tmp_path, "stand nowhere", "stand still", "train.workers=2", "train.checkpoint_seconds=3600")
    run.wait_until(lambda: len(iterations(skill)) > 3)
    job = run.job_of(skill)
    assert job is not None
    family = [job, *children_of(job)]
    assert len(family) > 1  # Its second worker.
    run.program.kill()
    run.program.communicate(timeout=20)
    deadline = time.monotonic() + 30
    while any(Path(f"/proc/{pid}").exists() for pid in family):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    (checkpoint,) = (skill.train_folder / "checkpoints").glob("*.json")
    facts = json.loads(checkpoint.read_text())
    assert facts["iteration"] == facts["version"] == len(iterations(skill))
    wait_for_memory(before)
