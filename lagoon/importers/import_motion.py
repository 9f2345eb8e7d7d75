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
from lagoon.importers.config import FPS, LONGEST, ImportConfig
from lagoon.importers.person import Person, person_of
from lagoon.importers.raw import Decision, RawMotion
from lagoon.importers.repair import repair
from lagoon.importers.resample import resample
from lagoon.importers.timing import believable
from lagoon.motion.bones import bone_lengths, with_bones
from lagoon.motion.human_motion import HumanMotion
from lagoon.motion.skeleton import JOINT_NAMES
from lagoon.paths import sha256_of
from lagoon.progress import Progress, silent

Array = NDArray[np.float64]
LOOSE = 0.01
"""Change of a bone's length [m] that is worth a sentence: markers move on the skin, estimates from video more so."""
LONG = 20.0
"""Clips longer than this [s] take long to train."""


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
    fps, rate = _frame_rate(raw, config, path.name)
    tell(0.5, f"{len(raw.pos)} frames of {len(raw.names)} joints")
    raw, first = _cut(raw, fps, config, path.name)
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
    seconds = (len(out) - 1) / FPS
    if seconds > LONG:
        repairs.append(
            f"The clip lasts {seconds:.0f} s; training on it takes long. Cut it with import.start= and import.end=."
        )
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


def _frame_rate(raw: RawMotion, config: ImportConfig, file: str) -> tuple[float, Decision]:
    change = "import.fps=60"
    if config.fps is not None:
        return config.fps, Decision("frame rate", f"{config.fps:g} Hz", "import.fps was given", change)
    if raw.fps is None:
        raise BadInputError(
            f"{file} does not say its frame rate; expected one in the file. Type import.fps=30 (or what it is)."
        )
    believable(file, raw.fps)
    return float(raw.fps.value), Decision("frame rate", f"{float(raw.fps.value):.5g} Hz", raw.fps.why, change)


def _cut(raw: RawMotion, fps: float, config: ImportConfig, file: str) -> tuple[RawMotion, int]:
    """Keep the stretch that was asked for; also returns the number of its first frame."""
    count = len(raw.pos)
    if count < 2:
        raise BadInputError(
            f"{file} holds {count} frame{'' if count == 1 else 's'}; a motion needs at least 2. A single pose cannot "
            "be imported."
        )
    seconds = (count - 1) / fps
    begin = int(np.ceil(config.start * fps - 1e-6))
    end = count if config.end is None else min(count, int(np.floor(config.end * fps + 1e-6)) + 1)
    if end - begin < 2:
        raise BadInputError(
            f"{file} lasts {seconds:.2f} s; import.start={config.start:g} and import.end={config.end} leave "
            f"{max(end - begin, 0)} frames of it. Choose times within it, in seconds."
        )
    if (end - begin - 1) / fps > LONGEST:
        raise BadInputError(
            f"{file} lasts {seconds / 60:.0f} min at {fps:g} Hz; lagoon takes at most {LONGEST / 60:.0f} min. Type "
            "import.end=60 for the first minute, or the right import.fps=."
        )
    return replace(raw, pos=raw.pos[begin:end]), begin


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
