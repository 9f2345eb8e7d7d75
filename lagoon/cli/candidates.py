"""The candidates of a skill's motion: what was sampled, how it scored, and a page to compare them.

What enters: candidates from the generator. What leaves: candidates.json with every score, candidates.npz with the
motions, and candidates.html on demand.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from lagoon.errors import BadInputError, CorruptFileError
from lagoon.paths import atomic_path, write_text
from lagoon.skill import Skill

if TYPE_CHECKING:
    from lagoon.text2motion.selection import Candidate


def save(skill: Skill, kept: Sequence[tuple[str, Sequence[Candidate]]]) -> tuple[Path, Path]:
    """Write the scores and the motions of every step's candidates, best first.

    Args:
        skill: whose folder to write in.
        kept: words and candidates of each text that was sampled.
    """
    rows = [
        {"words": words, "chosen": found[0].number, "candidates": [candidate.row() for candidate in found]}
        for words, found in kept
        if found
    ]
    write_text(skill.candidates_path, json.dumps({"steps": rows}, indent=2) + "\n")
    motions = skill.candidates_path.with_suffix(".npz")
    arrays: dict[str, Any] = {
        f"{step}_{rank}": candidate.joint_pos_w.astype(np.float32)
        for step, (_, found) in enumerate(kept)
        for rank, candidate in enumerate(found)
    }
    with atomic_path(motions) as temporary, temporary.open("wb") as file:
        np.savez_compressed(file, allow_pickle=False, **arrays)
    return skill.candidates_path, motions


def show(skill: Skill) -> Path:
    """Write the page of a skill's candidates.

    Raises:
        BadInputError: the skill has none; a generator of one's own may not tell any.
        CorruptFileError: a file is damaged.
    """
    from lagoon.motion.human_motion import HumanMotion
    from lagoon.motion.skeleton import JOINT_NAMES
    from lagoon.studio.candidate_page import Entry, write_candidate_page
    from lagoon.text2motion.config import FPS

    path = skill.candidates_path
    if not path.is_file():
        raise BadInputError(
            f"{skill.folder} has no candidates.json: its motion was imported, made by an older lagoon, or by a "
            "generator that tells no candidates. Generate it with the built-in one and --again."
        )
    try:
        steps = json.loads(path.read_text(encoding="utf-8"))["steps"]
        with np.load(path.with_suffix(".npz"), allow_pickle=False) as archive:
            motions = {name: archive[name].astype(float) for name in archive.files}
        entries = [
            Entry(
                _label(step["words"] if len(steps) > 1 else "", rank, row),
                _numbers(row),
                HumanMotion(FPS, JOINT_NAMES, motions[f"{index}_{rank}"]),
            )
            for index, step in enumerate(steps)
            for rank, row in enumerate(step["candidates"])
        ]
    except (ValueError, KeyError, TypeError, OSError, EOFError, zipfile.BadZipFile) as error:
        raise CorruptFileError(
            f"The candidates in {skill.folder} cannot be read ({error}). Generate them again with --again."
        ) from error
    return write_candidate_page(skill.folder / "candidates.html", skill.command, entries)


def appraiser(robot_name: str) -> Callable[[Any], float] | None:
    """A function that tells what a motion costs on a robot; None where the packages for it are not installed."""
    try:
        from lagoon.retarget.appraise import appraise
    except ModuleNotFoundError:
        return None
    from lagoon.motion.human_motion import HumanMotion
    from lagoon.motion.skeleton import JOINT_NAMES
    from lagoon.robot import load_robot
    from lagoon.text2motion.config import FPS

    robot = load_robot(robot_name)
    return lambda joint_pos_w: appraise(HumanMotion(FPS, JOINT_NAMES, joint_pos_w), robot)


def _label(words: str, rank: int, row: dict) -> str:
    place = "chosen" if rank == 0 else f"{rank + 1}."
    step = f"{words}: " if words else ""
    return f"{step}{place} (candidate {row['number']})"


def _numbers(row: dict) -> str:
    terms = ", ".join(f"{name} {value:.1f}" for name, value in row["terms"].items())
    return f"cost {row['cost']:.1f} = {terms}"
