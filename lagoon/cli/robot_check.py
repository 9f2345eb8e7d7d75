"""``lagoon robot check``: is a robot's description fit for use."""

from __future__ import annotations

from lagoon.cli.config import RobotCheckVerb
from lagoon.cli.console import Terminal, plain
from lagoon.cli.verb import Call, Verb
from lagoon.robot import load_robot


def run(call: Call) -> int:
    """Print one line per question; 1 if an answer is no."""
    from rich.table import Table

    from lagoon.sim.description.check import check_robot

    robot = load_robot(call.text)
    findings = check_robot(robot)
    table = Table(header_style="bold")
    for column in ("question", "", "answer"):
        table.add_column(column, overflow="fold")
    for finding in findings:
        mark = "[green]ok[/green]" if finding.ok else "[red]no[/red]"
        table.add_row(finding.name, mark, plain(finding.text))
    screen = Terminal()
    screen.console.print(table)
    wrong = [finding.name for finding in findings if not finding.ok]
    if wrong:
        screen.say(f"Not fit for use: {', '.join(wrong)}. The files are in {robot.model_path.parent}")
        return 1
    screen.say(f'Fit for use: lagoon make "wave hello" robot={robot.name}')
    return 0


VERB = Verb(
    name="robot check",
    purpose="check a robot's description: names, geometry, limits, motors, and whether it stands",
    text="robot",
    config=RobotCheckVerb,
    run=run,
    examples=(("lagoon robot check go2", "one that comes with lagoon"),),
    main_options=(),
    details="Exit code 1 means that an answer is no; the line says what to change.",
)
