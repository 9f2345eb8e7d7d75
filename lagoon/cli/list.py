"""``lagoon list``: the skills in a folder and how far each is."""

from __future__ import annotations

from pathlib import Path

from lagoon.cli.config import ListVerb
from lagoon.cli.console import Terminal, plain, shown
from lagoon.cli.lookup import all_skills
from lagoon.cli.verb import Call, Verb
from lagoon.skill import STAGES, Skill


def run(call: Call) -> int:
    """Print one line per skill."""
    from rich.table import Table

    skills_dir = Path(call.config.skills_dir)
    screen = Terminal()
    if not skills_dir.exists() and "skills_dir" not in call.given:
        screen.say(f'There are no skills in {skills_dir}/ yet. Make one: lagoon make "wave hello"')
        return 0
    skills, damaged = all_skills(skills_dir)
    if not skills and not damaged:
        screen.say(f'There are no skills in {skills_dir}/ yet. Make one: lagoon make "wave hello"')
        return 0
    table = Table(header_style="bold")
    for column in ("command", "robot", "finished up to", "verdict", "folder"):
        table.add_column(column, overflow="fold")
    for skill in skills:
        current = skill.current()
        verdict = skill.stages["evaluate"].result if "evaluate" in current else ""
        cells = (shown(skill.command), skill.robot, _reached(skill, current), verdict, str(skill.folder))
        table.add_row(*(plain(cell) for cell in cells))
    for folder in damaged:
        table.add_row("", "", "damaged, see below", "", plain(str(folder)), style="red")
    screen.console.print(table)
    for error in damaged.values():
        screen.say(str(error))
    return 0


def _reached(skill: Skill, current: list[str]) -> str:
    """Name the last finished stage, and what is wrong with the ones after it."""
    failed = [name for name in STAGES if skill.stages[name].state == "failed"]
    outdated = [name for name in STAGES if skill.stages[name].state == "done" and name not in current]
    troubles = [f"{name} failed" for name in failed[:1]] + ([f"{', '.join(outdated)} outdated"] if outdated else [])
    text = current[-1] if current else "nothing"
    return f"{text} ({'; '.join(troubles)})" if troubles else text


VERB = Verb(
    name="list",
    purpose="list the skills in a folder and how far each is",
    text="none",
    config=ListVerb,
    run=run,
    examples=(("lagoon list", "those in skills/"), ("lagoon list skills_dir=out", "those in another folder")),
    main_options=("skills_dir",),
)
