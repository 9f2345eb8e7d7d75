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
        screen.say(f"Left to fill in, {len(todo)} numbers:")
        for line in todo[:12]:
            screen.say(f"  {line}")
        if len(todo) > 12:
            screen.say(f"  ... and {len(todo) - 12} more: look for null in robot.yaml")
    screen.say(f"Then: lagoon robot check {name}")
    return 0


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
