"""Motion file to HumanMotion: the main path, top to bottom.

What enters: a file of another program and ImportConfig. What leaves: 22 joints at 20 fps, Z-up, facing +X over
the origin, bones of constant length; and an ImportReport that says what was guessed, why, and what was mended.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lagoon.errors import BadInputError
from lagoon.importers import axes, formats, units
from lagoon.importers.config import FPS, ImportConfig
from lagoon.importers.person import Person, person_of
from lagoon.importers.raw import Decision
from lagoon.importers.repair import repair
from lagoon.importers.resample import resample
from lagoon.importers.timing import cut, frame_rate, long_clip
from lagoon.motion.bones import bone_lengths, with_bones
from lagoon.motion.human_motion import HumanMotion
from lagoon.motion.skeleton import JOINT_NAMES
from lagoon.paths import sha256_of
from lagoon.progress import Progress, silent

Array = NDArray[np.float64]
LOOSE = 0.01
"""Change of a bone's length [m] that is worth a sentence: markers move on the skin, estimates from video more so."""


@dataclass(frozen=True)
class ImportReport:
    """What was decided on the way, for people."""

    decisions: tuple[Decision, ...]
    repairs: tuple[str, ...]
    """What was wrong in the file and what was done about it, each a sentence."""

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {"decisions": [asdict(decision) for decision in self.decisions], "repairs": list(self.repairs)}


def import_motion(
    path: Path, config: ImportConfig, text: str = "", progress: Progress | None = None
) -> tuple[HumanMotion, ImportReport]:
    """Read a motion file.

    Args:
        path: the file.
        config: replaces guesses.
        text: caption of the motion.
        progress: told what is being done.

    Returns:
        The motion of a person at 20 fps and what was decided.

    Raises:
        BadInputError: the file cannot be used, or a guess is too unsure; the text says what to type.
        CorruptFileError: the file is damaged; the line or the frame is named.
    """
    with np.errstate(over="ignore", invalid="ignore"):  # Numbers too large for anybody become bad frames.
        return _import(path, config, text, progress or silent)


def _import(path: Path, config: ImportConfig, text: str, tell: Progress) -> tuple[HumanMotion, ImportReport]:
    tell(0.0, f"reading {path.name}")
    raw = formats.read(path, config)
    fps, rate = frame_rate(raw.fps, config, path.name)
    tell(0.5, f"{len(raw.pos)} frames of {len(raw.names)} joints")
    part = cut(len(raw.pos), fps, config, path.name)
    raw, first = replace(raw, pos=raw.pos[part]), part.start
    person = person_of(raw, config.map, path.name)
    pos, repairs = repair(person.pos, fps, config.repair, path.name, first)
    if len(pos) < 2:
        raise BadInputError(f"{path.name}: {len(pos)} good frame is left; a motion needs at least 2.")
    person, sides = axes.keep_sides(replace(person, pos=pos), config, path.name)
    metres, unit = units.decide(person.pos, raw.unit, config, path.name)
    up, upward = axes.up_axis(person.pos, raw.up, config)
    tell(0.7, "turning and resampling")
    source = metres * person.pos @ axes.TURNS[up].T
    lengths = np.median(bone_lengths(source), axis=0)
    repairs += _loose_bones(source, lengths)
    out, placing = axes.place(with_bones(resample(source, fps, FPS), lengths), up, config)
    decisions = [
        Decision("format", raw.kind, f"{len(raw.pos)} frames of {len(raw.names)} joints", "import.format=NAME"),
        rate,
        *(
            [Decision("rotations", raw.order, "degrees, multiplied in this order", "import.order=ZXY")]
            if raw.order
            else []
        ),
        _joints(person),
        sides,
        unit,
        upward,
        *placing,
    ]
    repairs += long_clip((len(out) - 1) / FPS)
    motion = HumanMotion(
        fps=FPS,
        joint_names=JOINT_NAMES,
        joint_pos_w=out,
        text=text,
        source={
            "file": path.name,
            "file_sha256": sha256_of(path),
            **{decision.what.replace(" ", "_"): decision.value for decision in decisions},
        },
    )
    tell(1.0, "imported")
    return motion, ImportReport(tuple(decisions), (*raw.notes, *repairs))


def _joints(person: Person) -> Decision:
    value = f"{person.found} of {len(JOINT_NAMES)} by name"
    why = f"names as in {person.style}"
    if person.made:
        why += f"; put in: {', '.join(person.made)}"
    return Decision("joints", value, why, "import.map=FILE.yaml")


def _loose_bones(pos: Array, lengths: Array) -> list[str]:
    off = np.percentile(np.abs(bone_lengths(pos) - lengths), 99, axis=0)
    worst = int(np.argmax(off))
    if off[worst] <= LOOSE:
        return []
    return [
        f"Bones change their length, the one to {JOINT_NAMES[worst + 1]} by {100 * off[worst]:.1f} cm; each now has "
        "its median length."
    ]
