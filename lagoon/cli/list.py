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
    skills = all_skills(skills_dir)
    screen = Terminal()
    if not skills:
        screen.say(f'There are no skills in {skills_dir}/ yet. Make one: lagoon make "wave hello"')
        return 0
    table = Table(header_style="bold")
    for column in ("command", "robot", "finished up to", "verdict", "folder"):
        table.add_column(column, overflow="fold")
    for skill in skills:
        verdict = skill.stages["evaluate"].result
        table.add_row(plain(shown(skill.command)), skill.robot, _reached(skill), verdict, plain(str(skill.folder)))
    screen.console.print(table)
    return 0


def _reached(skill: Skill) -> str:
    """Name the last finished stage, and what is wrong with the one after it."""
    done = [name for name in STAGES if skill.stages[name].state == "done"]
    failed = [name for name in STAGES if skill.stages[name].state == "failed"]
    text = done[-1] if done else "nothing"
    return f"{text} ({failed[0]} failed)" if failed else text


VERB = Verb(
    name="list",
    purpose="list the skills in a folder and how far each is",
    text="none",
    config=ListVerb,
    run=run,
    examples=(("lagoon list", "those in skills/"), ("lagoon list skills_dir=out", "those in another folder")),
    main_options=("skills_dir",),
)
