"""Where an interrupted, damaged or extended training goes on.

What enters: a skill's training folder. What leaves: the checkpoint to go on from, with damaged ones out of the
way, or an error that names them.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from lagoon.cli.lines import stage_line
from lagoon.errors import CorruptFileError
from lagoon.record import Plan, StageRecord
from lagoon.skill import Skill

ENDS = ("settle", "steady", "give_up")
"""Settings of a training that only say when it ends, once its schedules have run."""


def first_whole(skill: Skill, say: Callable[[str], None]) -> Any:
    """Return the newest whole Checkpoint of a skill, None where there is none; tell which one it is.

    Newer ones that are damaged are moved to ``train/damaged``.

    Raises:
        CorruptFileError: there are checkpoints, and all are damaged.
    """
    from lagoon.engine.checkpoint import checkpoint_paths, load_checkpoint

    folder = skill.train_folder / "checkpoints"
    found, damaged = None, dict[Path, Path]()
    for path in reversed(checkpoint_paths(folder)):
        try:
            found = load_checkpoint(path)
            break
        except CorruptFileError as error:
            damaged[path] = damaged_file(path, error)
    names = ", ".join(file.name for file in damaged.values())
    if damaged and found is None:
        raise CorruptFileError(
            f"All checkpoints in {folder} are damaged: {names}. There is none to go on from. Train from the start "
            f"(what is there is kept in train-previous/): {stage_line(skill, 'train')} --again"
        )
    for path in damaged:
        _set_aside(path, skill.train_folder / "damaged")
    if damaged and found is not None:
        say(f"  damaged, moved to {skill.train_folder / 'damaged'}: {names}; using {found.path.name} instead")
    if found is not None and not found.facts.get("finished"):
        say(f"  going on from step {found.facts['step']:,} ({found.path.name})")
    return found


def trains_on(before: StageRecord, plan: Plan) -> bool:
    """True where a training may go on from another one's checkpoint: all that differs is when it ends."""
    config, known = copy.deepcopy(dict(plan.config)), before.config.get("train", {})
    for key in ENDS:
        if key in known:
            config["train"][key] = known[key]
    return replace(plan, config=config).repeats(before)


def damaged_file(path: Path, error: CorruptFileError) -> Path:
    """Return which of a checkpoint's two files an error is about."""
    data = path.with_suffix(".safetensors")
    return data if str(data) in str(error) else path


def _set_aside(path: Path, folder: Path) -> None:
    folder.mkdir(exist_ok=True)
    for file in (path, path.with_suffix(".safetensors")):
        if file.exists():
            file.replace(folder / file.name)
