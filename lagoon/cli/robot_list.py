"""``lagoon robot list``: the robots there are, with their main numbers."""

from __future__ import annotations

from lagoon.cli.config import RobotListVerb
from lagoon.cli.console import Terminal, plain
from lagoon.cli.verb import Call, Verb
from lagoon.errors import BadInputError
from lagoon.robot import known_robots, load_robot


def run(call: Call) -> int:
    """Print one line per robot; one whose description is not finished says what it lacks."""
    from rich.table import Table

    table = Table(header_style="bold")
    for column in ("robot", "mass", "stand", "joints", "strongest joint", "folder"):
        table.add_column(column, overflow="fold")
    for name in known_robots():
        try:
            robot = load_robot(name)
        except BadInputError as error:
            table.add_row(name, "", "", "", plain(str(error)), "")
            continue
        table.add_row(
            name,
            f"{robot.mass:.1f} kg",
            f"{robot.default_root_height:.2f} m",
            str(robot.num_joints),
            f"{robot.torque_limit.max():.0f} Nm",
            plain(str(robot.model_path.parent)),
        )
    screen = Terminal()
    screen.console.print(table)
    screen.say("Another one: lagoon robot init FILE.xml (MJCF or URDF)")
    return 0


VERB = Verb(
    name="robot list",
    purpose="list the robots there are",
    text="none",
    config=RobotListVerb,
    run=run,
    examples=(("lagoon robot list", "those that come with lagoon, and those in robots/"),),
    main_options=(),
    details="Robots are looked for in $LAGOON_ROBOTS, in robots/ of the working folder, and among those of lagoon.",
)
