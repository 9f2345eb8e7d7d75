"""Runs stages one after another in a skill folder, skipping what is finished and unchanged.

What enters: a skill and a list of stages. What leaves: the skill's files and record, and one Row per
stage for the summary. It knows no stage by name, so that tests run it on small ones.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from lagoon.cli.lock import locked
from lagoon.errors import BadInputError, CorruptFileError, LagoonError
from lagoon.progress import Progress
from lagoon.record import Plan, StageRecord
from lagoon.skill import Skill


@dataclass(frozen=True)
class Outcome:
    """What a stage leaves behind."""

    outputs: tuple[Path, ...]
    """Files and folders it wrote, the one to show first."""
    result: str
    """A few words for the summary; a verdict of failure begins with FAIL."""


@dataclass(frozen=True)
class Task:
    """What a stage's function gets."""

    skill: Skill
    progress: Progress
    resumes: bool
    """True when the very same plan ran before, or one that it extends, so that what it left, such as checkpoints, may
    be gone on from."""
    say: Callable[[str], None]
    """Prints a line above the progress bar."""


@dataclass(frozen=True)
class Stage:
    """One arrow of the pipeline, bound to its settings."""

    name: str
    title: str
    """What it does, for the progress line."""
    plan: Callable[[Skill], Plan]
    """Reads settings and input checksums; called after the stages before it ran."""
    run: Callable[[Task], Outcome]
    examine: Callable[[Skill], object] | None = None
    """Reads back what the stage wrote; raises LagoonError where it is damaged. Called for files that changed since."""
    training: Callable[[Skill], Path] | None = None
    """Where a stage that trains writes its numbers while it runs."""
    extends: Callable[[StageRecord, Plan], bool] | None = None
    """True where what a run with other settings left may be gone on from: they only say when to end."""
    mends: bool = False
    """True when a damaged file is made anew; False refuses, since the file may be the user's own."""


@dataclass(frozen=True)
class Row:
    """One line of the summary."""

    stage: str
    seconds: float
    kept: bool
    result: str
    file: str

    @property
    def failed(self) -> bool:
        """True when the stage ended with a verdict of failure."""
        return self.result.startswith("FAIL")


class Screen(Protocol):
    """Where a run tells about itself."""

    def say(self, text: str) -> None:
        """Print one line."""
        ...

    def stage(self, title: str, training: Path | None = None) -> AbstractContextManager[Progress]:
        """Show progress while the body runs; with the folder of a training, its numbers too."""
        ...


def run_stages(skill: Skill, stages: Sequence[Stage], screen: Screen, again: Iterable[str] = ()) -> list[Row]:
    """Run what has to run; hold the folder's lock meanwhile.

    Args:
        skill: new or opened.
        stages: in order; each may read what the ones before it wrote.
        screen: where to tell about it.
        again: names of stages to run even if they are finished and unchanged.

    Returns:
        One row per stage. A verdict of failure does not stop the stages after it.

    Raises:
        LagoonError: a stage could not do its work; what earlier stages wrote stays usable.
        KeyboardInterrupt: the user stopped it; the same call goes on from there.
    """
    with locked(skill.folder):
        if (skill.folder / "skill.yaml").exists():
            skill.stages = Skill.open(skill.folder).stages  # Another process may have worked here before the lock.
        return [_run_stage(skill, stage, screen, stage.name in set(again)) for stage in stages]


def _run_stage(skill: Skill, stage: Stage, screen: Screen, again: bool) -> Row:
    plan = stage.plan(skill)
    before = skill.stages[stage.name]
    reason = "asked for again" if again else skill.staleness(stage.name, plan)
    edited = skill.edited(stage.name) if reason is None else []
    if edited and (damage := _damage(skill, stage)) is not None:
        if not stage.mends:
            raise damage
        reason = f"damaged: {', '.join(edited)}"
    if reason is None:
        note = f"edited by hand, kept: {', '.join(edited)}" if edited else "unchanged, kept"
        screen.say(f"{stage.name}: {note}")
        return Row(stage.name, before.seconds, True, before.result, _first(before.outputs))
    screen.say(f"{stage.name}: {stage.title} ({reason})")
    extends = stage.extends is not None and stage.extends(before, plan)
    resumes = not again and before.state != "pending" and (plan.repeats(before) or extends)
    skill.begin(stage.name, plan)
    start = time.monotonic()
    try:
        folder = None if stage.training is None else stage.training(skill)
        with screen.stage(stage.name, folder) as progress:
            outcome = stage.run(Task(skill, progress, resumes, screen.say))
        skill.finish(stage.name, outcome.outputs, outcome.result, time.monotonic() - start)
    except KeyboardInterrupt:
        raise  # The record keeps saying "running", which with nobody holding the lock means interrupted.
    except Exception as error:
        with suppress(LagoonError):  # A full disk must not hide the first error.
            skill.fail(stage.name, " ".join(str(error).split()) or type(error).__name__, time.monotonic() - start)
        _leave_nothing_half_written(skill)
        raise
    return Row(stage.name, time.monotonic() - start, False, outcome.result, _first(skill.stages[stage.name].outputs))


def _damage(skill: Skill, stage: Stage) -> LagoonError | None:
    """Return what is wrong with the files of a stage; an edit that can be read is no damage."""
    try:
        if stage.examine is not None:
            stage.examine(skill)
    except (BadInputError, CorruptFileError) as error:
        return error
    return None


def _leave_nothing_half_written(skill: Skill) -> None:
    """Remove the record of a skill that never got a file, for example of a refused command."""
    if all(not record.outputs for record in skill.stages.values()):
        strays = [path for path in skill.folder.iterdir() if path.name not in ("skill.yaml", ".lock")]
        if not strays:
            (skill.folder / "skill.yaml").unlink(missing_ok=True)


def _first(outputs: dict[str, str]) -> str:
    """The first file; for one inside a folder, the folder."""
    first = next(iter(outputs), "")
    return first.partition("/")[0] + "/" if "/" in first else first
