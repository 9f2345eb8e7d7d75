"""Binds the import of a motion file to a skill folder: it takes the place of the stage generate.

What enters: a file and its settings. What leaves: a Stage that writes human.npz (of an animal quadruped.npz),
import.json and a picture, and the one that keeps an earlier import.
"""

from __future__ import annotations

import io
import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from lagoon.cli.pipeline import Outcome, Stage, Task
from lagoon.cli.schema import to_plain
from lagoon.errors import BadInputError, MissingExtraError
from lagoon.importers.config import ImportConfig
from lagoon.paths import sha256_of, write_text
from lagoon.record import Plan
from lagoon.skill import Skill

REPORT, PICTURE = "import.json", "import.png"


def caption_of(file: str | Path) -> str:
    """The text of a motion that has none: its file's name in words, ``07_01_walk.bvh`` is ``07 01 walk``."""
    name = Path(file).resolve().name
    stem = Path(name).stem if Path(name).stem else name
    return " ".join(re.sub(r"[_\-.\s]+", " ", stem).split()) or name


def import_stage(file: Path, config: ImportConfig, seed: int) -> Stage:
    """A motion file to human.npz, or quadruped.npz, import.json and import.png."""

    def plan(skill: Skill) -> Plan:
        from lagoon.importers.formats import files_of

        # By name and content, not by path: a moved file is the same motion.
        inputs = {path.name: sha256_of(path) for path in files_of(file, config)} | {"command": skill.command}
        return Plan({"import": to_plain(config)}, seed, inputs)

    def run(task: Task) -> Outcome:
        from lagoon.importers.formats import is_quadruped
        from lagoon.importers.import_motion import import_motion
        from lagoon.importers.quadruped import import_quadruped

        skill, animal = task.skill, is_quadruped(file, config)
        read: Callable[..., Any] = import_quadruped if animal else import_motion
        motion, report = read(file, config, skill.command, task.progress)
        here, other = (skill.quadruped_path, skill.human_path)[:: 1 if animal else -1]
        motion.save(here)
        other.unlink(missing_ok=True)  # An earlier import, or motion from the words, that this one replaces.
        write_text(skill.folder / REPORT, json.dumps(report.to_dict(), indent=2, ensure_ascii=False) + "\n")
        for line in _table(report.decisions):
            task.say(line)
        for repair in report.repairs:
            task.say(f"  ! {repair}")
        outputs = [here, skill.folder / REPORT]
        try:
            from lagoon.studio.contact_sheet import write_contact_sheet

            write_contact_sheet(skill.folder / PICTURE, motion)
            outputs.append(skill.folder / PICTURE)
            task.say(f"  Look at it before you train: {skill.folder / PICTURE} (left is blue, right is red)")
        except MissingExtraError as error:
            task.say(f"  No picture: {error}")
        return Outcome(tuple(outputs), f"{motion.duration:.1f} s from {file.name}")

    return Stage("generate", f"import of {file.name}", plan, run)


def kept_import(skill: Skill) -> Stage | None:
    """A stage that keeps what was imported earlier; None if the skill's motion was not imported.

    The file itself may be gone by now; human.npz or quadruped.npz holds the motion.

    Raises:
        BadInputError: the import was not finished, or its motion is gone.
    """
    record = skill.stages["generate"]
    if "import" not in record.config:
        return None
    if record.state != "done" or not skill.source_path.is_file():
        raise BadInputError(
            f"The motion of {skill.folder} came from a file, and its import is not finished or "
            f"{skill.source_path.name} is gone. Name the file again with motion=FILE, or make the motion from the "
            "words: lagoon generate COMMAND"
        )
    plan, result = Plan(record.config, record.seed, record.inputs), record.result
    outputs = tuple(path for name in record.outputs if (path := skill.folder / name).is_file())

    def keep(task: Task) -> Outcome:
        task.say("  The motion came from a file that is not named now; it is kept. motion=FILE reads it again.")
        return Outcome(outputs, result)

    return Stage("generate", "keep the import", lambda _: plan, keep)


def _table(decisions: Any) -> list[str]:
    """The decisions as lines of a table as wide as the terminal."""
    from rich.console import Console
    from rich.table import Table

    from lagoon.cli.console import plain

    table = Table(header_style="bold")
    for column in ("what", "found", "because", "to change it"):
        table.add_column(column, overflow="fold")
    for decision in decisions:
        table.add_row(*(plain(text) for text in (decision.what, decision.value, decision.why, decision.change)))
    width = max(72, min(shutil.get_terminal_size((110, 24)).columns, 140))
    buffer = io.StringIO()
    Console(file=buffer, width=width, highlight=False, color_system=None).print(table)
    return buffer.getvalue().rstrip("\n").split("\n")
