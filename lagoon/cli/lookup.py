"""Finds the skill that a user names by command text, by folder name, or by path.

What enters: what was typed and the skills folder. What leaves: an opened Skill, or an error that lists
the skills that exist.
"""

from __future__ import annotations

import shlex
from pathlib import Path

from lagoon.cli.console import shown
from lagoon.errors import BadInputError, LagoonError
from lagoon.robot import known_robots
from lagoon.skill import Skill, slug


def all_skills(skills_dir: Path) -> tuple[list[Skill], dict[Path, LagoonError]]:
    """Open every skill in a folder, by name.

    Returns:
        The skills, and the folders whose skill.yaml cannot be read with what is wrong: naming one skill must not fail
        because another one is damaged.

    Raises:
        BadInputError: there is no such folder.
    """
    if not skills_dir.is_dir():
        raise BadInputError(_no_folder(skills_dir))
    found: list[Skill] = []
    damaged: dict[Path, LagoonError] = {}
    for path in sorted(skills_dir.glob("*/skill.yaml")):
        try:
            found.append(Skill.open(path.parent))
        except LagoonError as error:
            damaged[path.parent] = error
    return found, damaged


def find_skill(text: str, skills_dir: Path, robot: str | None) -> Skill:
    """Return the skill that ``text`` names.

    The order is: the command text of a skill, its folder's name, a path to a folder.

    Raises:
        BadInputError: nothing fits, several robots fit, or ``robot`` is not the skill's robot.
        CorruptFileError: the folder named is damaged.
    """
    if not text.strip():
        raise BadInputError("The skill's name is empty. Give the command text, its folder's name or its path.")
    skills, damaged = all_skills(skills_dir) if skills_dir.is_dir() else ([], {})
    fitting = [skill for skill in skills if skill.command == text and robot in (None, skill.robot)]
    if len(fitting) > 1:
        robots = ", ".join(sorted(skill.robot for skill in fitting))
        raise BadInputError(f"The command {shown(text)!r} exists for several robots: {robots}. Choose with robot=NAME.")
    skill = fitting[0] if fitting else _by_folder(text, skills_dir)
    if skill is None:
        names = {slug(text, name) for name in ([robot] if robot else known_robots())}
        for folder, error in damaged.items():
            if folder.name in names:
                raise error
        if others := sorted(skill.robot for skill in skills if skill.command == text):
            raise BadInputError(
                f"The skill {shown(text)!r} in {skills_dir}/ is for {', '.join(others)}, not for '{robot}'. Leave "
                f"robot= out, or make one for that robot: lagoon make {shlex.quote(text)} robot={robot}"
            )
        if not skills_dir.is_dir():
            raise BadInputError(f"There is no skill {shown(text)!r}. {_no_folder(skills_dir)}")
        raise BadInputError(f"There is no skill {shown(text)!r} in {skills_dir}/. {_existing(skills_dir)}")
    if robot not in (None, skill.robot):
        raise BadInputError(
            f"The skill {skill.folder} is for robot '{skill.robot}', not '{robot}'. Leave robot= out, or make one for "
            f"that robot: lagoon make COMMAND robot={robot}"
        )
    return skill


def _by_folder(text: str, skills_dir: Path) -> Skill | None:
    candidates = [Path(text)] if "/" in text or text in (".", "..") else [skills_dir / text, Path(text)]
    try:
        for folder in candidates:
            if (folder / "skill.yaml").is_file():
                return Skill.open(folder)
    except (OSError, ValueError):
        return None  # Too long or otherwise no path at all: then it was a command text.
    return None


def _existing(skills_dir: Path) -> str:
    skills, damaged = all_skills(skills_dir)
    broken = f" Damaged there: {', '.join(folder.name for folder in damaged)}." if damaged else ""
    if not skills:
        return f'There are no skills there yet.{broken} Make one: lagoon make "wave hello"'
    names = ", ".join(f"{skill.folder.name} ({shown(skill.command, 30)!r})" for skill in skills[:8])
    more = f" and {len(skills) - 8} more; lagoon list shows all" if len(skills) > 8 else ""
    return f"Skills there: {names}{more}.{broken}"


def _no_folder(skills_dir: Path) -> str:
    fact = "is a file, not a folder" if skills_dir.exists() else "does not exist"
    return (
        f"The skills folder {skills_dir} {fact}. Name the one that you mean with skills_dir=PATH, or make a first "
        'skill: lagoon make "wave hello"'
    )
