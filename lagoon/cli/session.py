"""Runs stages for a verb and shows the end: the summary, the verdict, where to look next.

What enters: a skill, its stages, the call. What leaves: an exit code.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

from lagoon.cli.attempts import Ladder
from lagoon.cli.console import Terminal, shown
from lagoon.cli.lines import longer_line
from lagoon.cli.lookup import find_skill
from lagoon.cli.pipeline import Row, Stage, run_stages
from lagoon.cli.remedies import next_remedy
from lagoon.cli.verb import Call
from lagoon.skill import Skill


def skill_of(call: Call) -> tuple[Skill, int]:
    """Return the skill that a call names, and the seed to use for it."""
    skill = find_skill(call.text, Path(call.config.skills_dir), call.config.robot)
    return skill, skill.seed if call.config.seed is None else call.config.seed


def run_and_show(skill: Skill, stages: Sequence[Stage], call: Call, screen: Terminal | None = None) -> int:
    """Run stages, print the summary; 1 when a stage ended with a verdict of failure."""
    screen = screen or Terminal(dashboards="--plain" not in call.flags)
    announce(skill, screen)
    rows = run_stages(skill, stages, screen, [stage.name for stage in stages] if call.again else [])
    return show_end(skill, rows, call, screen)


def announce(skill: Skill, screen: Terminal) -> None:
    """Say which skill it is about."""
    screen.say(f"Skill {shown(skill.command)!r} for {skill.robot}: {skill.folder}/")


def show_end(skill: Skill, rows: Sequence[Row], call: Call, screen: Terminal) -> int:
    """Print the summary and where to look next; 1 when a stage ended with a verdict of failure."""
    if "--profile" in call.flags and any(row.stage == "train" and row.kept for row in rows):
        screen.say("Nothing was trained, so there is no new profile; --again trains anew.")
    screen.summary(rows)
    for line in next_steps(skill, rows, call):
        screen.say(line)
    return 1 if any(row.failed for row in rows) else 0


def next_steps(skill: Skill, rows: Sequence[Row], call: Call) -> list[str]:
    """Say where to look, as lines that can be copied; what was made from other files is left out."""
    folder = shlex.quote(str(skill.folder))
    done = skill.current()
    verdict = skill.stages["evaluate"].result if "evaluate" in done else ""
    lines: list[str] = []
    if "preview" in done:
        lines.append(f"Look at it:        {skill.preview_path} (open in a browser)")
    if "export" in done:
        lines.append(f"Watch it live:     lagoon play {folder}")
    if "evaluate" in done:
        lines.append(f"The verdict:       {skill.evaluation_path}")
    if verdict.startswith("FAIL"):
        lines.append(f"Learning curves:   tensorboard --logdir {shlex.quote(str(skill.train_folder))}")
        lines.append(f"Train longer:      {longer_line(skill, call)}")
        if (remedy := next_remedy(skill, Ladder.open(skill.folder).tried)) is not None:
            lines.append(f"Or, {remedy.words}:  {remedy.line}")
    elif "evaluate" in done:
        lines.append(f"For the robot:     {skill.bundle_folder}/")
    last = rows[-1].stage if rows else ""
    following = {"generate": "retarget", "retarget": "train", "train": "export", "export": "evaluate"}
    if last in following and following[last] not in done:
        lines.append(f"Next:              lagoon {following[last]} {folder}")
    return lines
