"""``lagoon deploy inspect``: what a policy file of any origin says, and what is missing to run it."""

from __future__ import annotations

from pathlib import Path

from lagoon.cli.config import DeployInspectVerb
from lagoon.cli.console import Terminal, plain
from lagoon.cli.extras import need
from lagoon.cli.verb import Call, Verb

SHOWN = 6
"""Entries of a long list that are printed."""


def run(call: Call) -> int:
    """Print the facts and the doubts; 1 if the file lacks something that a robot needs to run it."""
    need("deploy")
    from rich.table import Table

    from lagoon.deploy.foreign import inspect

    found, screen = inspect(Path(call.text).expanduser()), Terminal()
    robots = f", for {' or '.join(found.robots)}" if found.robots else ""
    screen.say(f"{call.text}: an ONNX policy, {found.origin}{robots}")
    facts = Table(header_style="bold")
    for column in ("what", "in the file"):
        facts.add_column(column, overflow="fold")
    facts.add_row("inputs", plain("\n".join(found.inputs)))
    facts.add_row("outputs", plain("\n".join(found.outputs)))
    for name, value in found.facts.items():
        facts.add_row(plain(name), plain(_short(value)))
    if found.unread:
        facts.add_row("other keys", plain(", ".join(found.unread)))
    screen.console.print(facts)
    if found.doubts:
        doubts = Table(header_style="bold")
        for column in ("missing or doubtful", "", "what follows"):
            doubts.add_column(column, overflow="fold")
        for doubt in found.doubts:
            doubts.add_row(plain(doubt.what), "missing" if doubt.blocks else "note", plain(doubt.follows))
        screen.console.print(doubts)
    if found.origin == "lagoon":
        screen.say("It belongs to a bundle, whose folder holds the rest; check that: lagoon deploy check FOLDER")
        return 0 if found.complete else 1
    if not found.complete:
        screen.say("It cannot be run on a robot from this file alone.")
        return 1
    screen.say(
        "What a runner needs is there. lagoon runs bundles of its own only: train the motion here with lagoon make, or "
        "use the runner that the file was made for."
    )
    return 0


def _short(value: object) -> str:
    if not isinstance(value, list):
        return str(value)
    items = [f"{item:g}" if isinstance(item, float) else str(item) for item in value]
    rest = f", and {len(items) - SHOWN} more" if len(items) > SHOWN else ""
    return f"{', '.join(items[:SHOWN])}{rest}"


VERB = Verb(
    name="deploy inspect",
    purpose="read a policy file of any origin, and say what is missing to run it",
    text="file",
    config=DeployInspectVerb,
    run=run,
    examples=(("lagoon deploy inspect policy.onnx", "one that mjlab or BeyondMimic exported, or any other"),),
    main_options=(),
    details=(
        "It reads the metadata of lagoon, mjlab and BeyondMimic, and runs nothing. Exit code 1 means that the file "
        "lacks something without which nobody can run it on a robot, such as the order of its joints."
    ),
)
