"""Climbs the ladder of remedies when a skill fails, and keeps the best policy.

What enters: a skill, settings, and what makes stages of them. What leaves: the skill's folder with the best policy that
was found, and ladder.json (attempts.py): what was tried, and how it ended. Every rung begins with the best so far and
changes one thing (remedies.py). While a rung runs, the best so far lies whole in best/, and ladder.json is written
before and after each rung, so that the same line typed again goes on where Ctrl-C stopped it.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from typing import Any

from lagoon.cli.attempts import NAME, Attempt, Ladder
from lagoon.cli.help import show
from lagoon.cli.lock import locked
from lagoon.cli.pipeline import Row, Screen, Stage, run_stages
from lagoon.cli.remedies import Remedy, next_remedy
from lagoon.cli.schema import build, to_plain
from lagoon.errors import BadInputError, LagoonError
from lagoon.record import hash_of
from lagoon.skill import Skill

BEST = "best"
STAGES = ("retarget", "train", "export", "evaluate")
"""What a rung may change; their files are kept in best/."""
FILES = ("robot.npz", "retarget.json", "train", "bundle", "evaluation.json")
WITHOUT_EFFECT = ("remedies", "skills_dir", "evaluate", "preview")
"""Settings of ``lagoon make`` that do not decide what is learned."""


def climb(
    skill: Skill,
    config: Any,
    rungs: int,
    stages_of: Callable[[Any], Sequence[Stage]],
    screen: Screen,
    again: Sequence[str] = (),
) -> list[Row]:
    """Run stages to a verdict; after a FAIL one rung after another, until one passes or ``rungs`` were tried.

    Args:
        skill: new or opened.
        config: what was asked for, a dataclass with the sections ``retarget`` and ``train``.
        rungs: most rungs; 0 runs the stages once, or takes the best of what was tried before.
        stages_of: the stages for some settings, up to the verdict.
        screen: where to tell about it.
        again: names of stages to run even if they are unchanged; the ladder then begins anew.

    Returns:
        One row per stage, of the policy that is kept.

    Raises:
        LagoonError: a stage could not do its work.
        KeyboardInterrupt: the user stopped it; the same call goes on from there.
    """
    ladder = _begin(skill, settings_of(config), rungs, bool(again))
    rows = run_stages(skill, stages_of(changed(config, ladder.changes)), screen, again)
    by_stage = {row.stage: row for row in rows}
    while True:
        with locked(skill.folder):
            remedy = _judge(skill, ladder, rungs)
        if remedy is None:
            break
        number, best = len(ladder.tried) + 1, ladder.best.survival
        typed = " ".join(f"{key}={show(value)}" for key, value in remedy.changes.items())
        screen.say(f"Remedy {number} of at most {rungs}: {remedy.words} ({typed})")
        screen.say(f"  Ctrl-C stops; the same line with remedies=0 then takes the best so far ({best:.1%} survive)")
        stages = [stage for stage in stages_of(changed(config, ladder.changes)) if stage.name in STAGES]
        try:
            by_stage |= {row.stage: row for row in run_stages(skill, stages, screen)}
        except (
            BadInputError
        ) as error:  # A motion that the rung makes impossible is the end of the rung, not of the skill.
            screen.say(f"  {error}")
            ladder.refuse(str(error))
            ladder.save(skill.folder)
    for line in ladder.lines():
        screen.say(line)
    return [_of_record(row, skill) for row in by_stage.values()]


def changed(config: Any, changes: dict[str, Any]) -> Any:
    """Return settings with some of them, by dotted name, changed."""
    plain = to_plain(config)
    for key, value in changes.items():
        *parents, last = key.split(".")
        inner = plain
        for parent in parents:
            inner = inner[parent]
        inner[last] = value
    return build(type(config), plain) if changes else config


def settings_of(config: Any) -> str:
    """Return the sha256 of the settings that decide what is learned; how it is looked at does not count."""
    return hash_of({name: value for name, value in to_plain(config).items() if name not in WITHOUT_EFFECT})


def _begin(skill: Skill, settings: str, rungs: int, again: bool) -> Ladder:
    """Open the ladder of these settings, and bring the folder to where it stands."""
    ladder = Ladder(settings) if again else Ladder.open(skill.folder, settings)
    if not ladder.attempts:
        shutil.rmtree(skill.folder / BEST, ignore_errors=True)
        (skill.folder / NAME).unlink(missing_ok=True)  # Of other wishes: what was tried then says nothing now.
        return ladder
    with locked(skill.folder):
        if ladder.current is not None and len(ladder.tried) >= rungs:
            ladder.current = None
        if ladder.current is None:
            _restore(skill, ladder)
            ladder.save(skill.folder)
    return ladder


def _judge(skill: Skill, ladder: Ladder, rungs: int) -> Remedy | None:
    """Take in the verdict on what the folder holds; return the next rung, with the best so far safe in best/."""
    skill.stages = Skill.open(skill.folder).stages
    if ladder.current is None:
        _restore(skill, ladder)
    ladder.note(Attempt.of(skill))
    if ladder.tried:
        ladder.save(skill.folder)  # Before files move: a rung that ended must not run again.
    _restore(skill, ladder)
    left = len(ladder.tried) < rungs and not ladder.best.passed
    remedy = next_remedy(skill, ladder.tried) if left else None
    if remedy is None:
        ladder.stored = None
        if ladder.tried:
            ladder.save(skill.folder)
        shutil.rmtree(skill.folder / BEST, ignore_errors=True)
        return None
    _store(skill)
    ladder.begin(remedy.name, remedy.words, remedy.changes)
    ladder.save(skill.folder)
    return remedy


def _store(skill: Skill) -> None:
    """Copy what the folder holds to best/, whole or not at all."""
    target, fresh = skill.folder / BEST, skill.folder / f"{BEST}.new"
    try:
        shutil.rmtree(fresh, ignore_errors=True)
        fresh.mkdir()
        for name in (*FILES, "skill.yaml"):
            _copy(skill.folder / name, fresh / name)
        shutil.rmtree(target, ignore_errors=True)
        fresh.rename(target)
    except OSError as error:
        shutil.rmtree(fresh, ignore_errors=True)
        raise LagoonError(
            f"Could not keep the best policy in {target}: {error.strerror or error}. Make room and type the same line "
            "again, or add remedies=0 to try no remedies."
        ) from error


def _restore(skill: Skill, ladder: Ladder) -> None:
    """Bring back files and record of the best attempt, if best/ holds it and the folder does not; may be done twice."""
    source = skill.folder / BEST
    if ladder.stored is None or ladder.stored != ladder.kept or ladder.holds_best:
        return
    for name in FILES:
        fresh = skill.folder / f"{name}.new"
        if not (source / name).exists():
            continue
        shutil.rmtree(fresh, ignore_errors=True)
        _copy(source / name, fresh)
        shutil.rmtree(skill.folder / name, ignore_errors=True)
        fresh.replace(skill.folder / name)
    records = Skill.open(source).stages
    skill.stages = Skill.open(skill.folder).stages | {name: records[name] for name in STAGES}
    skill.save()
    ladder.holds_best = True


def _copy(source: Any, target: Any) -> None:
    if source.is_dir():
        shutil.copytree(source, target)
    elif source.exists():
        shutil.copy2(source, target)


def _of_record(row: Row, skill: Skill) -> Row:
    """The row of a stage whose last run was not the best one is told from the record of the best."""
    record = skill.stages[row.stage]
    if record.result == row.result:
        return row
    return Row(row.stage, record.seconds, True, record.result, row.file)
