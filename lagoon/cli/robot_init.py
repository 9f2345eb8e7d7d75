"""``lagoon robot init``: draft a robot's description from any MJCF or URDF file."""

from __future__ import annotations

import re
from pathlib import Path

from lagoon.cli.config import RobotInitVerb
from lagoon.cli.console import Terminal
from lagoon.cli.verb import Call, Verb
from lagoon.errors import BadInputError


def run(call: Call) -> int:
    """Read, write, and say what is left to do."""
    from lagoon.sim.description.draft import write_draft
    from lagoon.sim.description.source import read_source

    config: RobotInitVerb = call.config
    path = Path(call.text)
    if path.is_dir():
        raise BadInputError(f"{path} is a folder; expected an MJCF (.xml) or URDF (.urdf) file. Name the file in it.")
    name = config.name or re.sub(r"[^a-z0-9_]+", "_", path.stem.lower()).strip("_")
    if not re.fullmatch(r"[a-z][a-z0-9_]{0,39}", name):
        raise BadInputError(
            f"'{name}' cannot be a robot's name; expected small letters, digits and underscores, beginning with a "
            "letter. Choose one with name=NAME."
        )
    source = read_source(path, locked=config.lock)
    folder = Path(config.robots_dir) / name
    todo = write_draft(source, folder, config.licence)
    screen = Terminal()
    for note in source.notes:
        screen.say(f"  {note}")
    screen.say(f"Wrote {folder / 'robot.yaml'} and {folder / 'robot.xml'}.")
    if todo:
        screen.say(f"Left to fill in, in robot.yaml, {len(todo)} numbers:")
        for line in _grouped(todo):
            screen.say(f"  {line}")
    screen.say(f"Then: lagoon robot check {name}")
    return 0


def _grouped(todo: list[str]) -> list[str]:
    """One line for each kind of number, with the joints that lack it; other lines as they are."""
    joints: dict[str, list[str]] = {}
    other = []
    for line in todo:
        found = re.match(r"joints\.(\S+)\.(\w+): ", line)
        if found:
            joints.setdefault(found[2], []).append(found[1])
        else:
            other.append(line)
    lines = [
        f"{key} of {', '.join(names[:3])}{f' and {len(names) - 3} more' if len(names) > 3 else ''}: null now; the file "
        "does not tell it. Write the number and its source."
        for key, names in joints.items()
    ]
    return lines + other


VERB = Verb(
    name="robot init",
    purpose="draft a robot's description from an MJCF or URDF file",
    text="file",
    config=RobotInitVerb,
    run=run,
    examples=(
        ("lagoon robot init a1.urdf", "writes robots/a1/"),
        ("lagoon robot init spot_arm.xml name=spot2 lock=[arm_1,arm_2]", "holds the joints of an arm still"),
    ),
    main_options=("name", "robots_dir", "lock", "licence"),
    details="Legs are found by what they are: four chains of three hinges, one in each corner. What the file does not "
    "tell is written as null and has to be filled in; docs/add_a_robot.md leads through it.",
)
