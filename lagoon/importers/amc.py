"""Reads AMC (Acclaim motion capture) over its ASF skeleton, as the CMU data base has them.

What enters: two text files. What leaves: a RawMotion with a joint where each bone begins, and the ends of chains.

Source: as asf.py; the rotation of a bone is C M C^-1 with its axes C and the product M of its angles.
"""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from lagoon.body.forward import positions
from lagoon.errors import BadInputError, CorruptFileError
from lagoon.importers.asf import Skeleton, find_skeleton, plain_number, read_skeleton, turn
from lagoon.importers.config import ImportConfig
from lagoon.importers.raw import Fact, RawMotion
from lagoon.importers.text_file import read_lines, short

Array = NDArray[np.float64]
AMC_FPS = 120.0
_EXPORT = "Correct this line, or copy the file again."


def read(path: Path, config: ImportConfig) -> RawMotion:
    """Read a motion.

    Raises:
        BadInputError: there is no skeleton.
        CorruptFileError: a file is damaged; the line is named.
    """
    if path.suffix.lower() == ".asf":
        raise BadInputError(f"{path.name} is a skeleton without motion. Name the motion: lagoon import MOTION.amc")
    asf = Path(config.skeleton) if config.skeleton is not None else find_skeleton(path)
    skeleton = read_skeleton(asf)
    notes: list[str] = []
    rows, degrees = _frames(path, skeleton, notes)
    bones = skeleton.bones
    leaves = [i for i in range(len(bones)) if all(bone.parent != i for bone in bones)]
    pos = _positions(skeleton, rows, degrees, leaves)
    unit = None if skeleton.unit is None else Fact(skeleton.unit, f"the units in {asf.name}")
    return RawMotion(
        kind=f"AMC over {asf.name}",
        names=(*(bone.name for bone in bones), *(f"{bones[i].name}_end" for i in leaves)),
        pos=pos,
        parents=(*(bone.parent for bone in bones), *leaves),
        fps=Fact(AMC_FPS, "AMC does not tell; CMU records at 120, rarely at 60"),
        unit=unit,
        up=Fact("y", "the custom of AMC"),
        notes=tuple(notes),
    )


def _frames(path: Path, skeleton: Skeleton, notes: list[str]) -> tuple[Array, bool]:
    """(T, C) numbers of all bones in a row, and whether angles are in degrees."""
    lines = read_lines(path)
    first = np.cumsum([0, *(len(bone.dof) for bone in skeleton.bones)])
    at = {bone.name: (int(first[i]), len(bone.dof)) for i, bone in enumerate(skeleton.bones)}
    rows: list[Array] = []
    numbers: list[int] = []
    degrees = skeleton.degrees
    row: Array | None = None
    for n, text in enumerate(lines.text, 1):
        words = text.split()
        if not words or words[0].startswith("#"):
            continue
        if words[0].startswith(":"):
            degrees = {":DEGREES": True, ":RADIANS": False}.get(words[0].upper(), degrees)
        elif len(words) == 1 and plain_number(words[0]):
            row = np.full(int(first[-1]), np.nan)
            rows.append(row)
            numbers.append(int(words[0]))
        elif row is None:
            raise lines.error(n, f"{short(words[0])} before the number of the first frame.", "Expected a line with 1.")
        elif words[0] not in at:
            raise lines.error(n, f"the bone {short(words[0])} is not in the skeleton.", "Take the ASF of this subject.")
        else:
            begin, count = at[words[0]]
            if len(words) - 1 != count:
                raise lines.error(
                    n,
                    f"{len(words) - 1} numbers for {words[0]}; its skeleton has {count}.",
                    "Take the ASF of this subject.",
                )
            row[begin : begin + count] = lines.numbers(words[1:], n, "numbers")
    if not rows:
        raise CorruptFileError(f"{path.name} holds no frames; expected a line with each frame's number. {_EXPORT}")
    odd = next((b for a, b in pairwise(numbers) if b - a != 1), None)
    if odd is not None:
        notes.append(f"The frames' numbers are not in a row, first at {odd}; they are taken in the order of the file.")
    table = np.stack(rows)
    if len(table) > 1 and np.isnan(table[-1]).any() and not np.isnan(table[:-1]).any():
        notes.append("The last frame is cut short; it is left out.")
        table = table[:-1]
    never = [bone.name for bone in skeleton.bones if bone.dof and np.isnan(table[:, at[bone.name][0]]).all()]
    for name in never:
        if name == "root":
            raise CorruptFileError(
                f"{path.name}: no frame holds the root; expected a line 'root ...' in each. {_EXPORT}"
            )
        begin, count = at[name]
        table[:, begin : begin + count] = 0.0
    if never:
        notes.append(f"Bones without numbers were held still: {', '.join(never)}.")
    return table, degrees


def _positions(skeleton: Skeleton, rows: Array, degrees: bool, leaves: list[int]) -> Array:
    bones = skeleton.bones
    first = np.cumsum([0, *(len(bone.dof) for bone in bones)])

    def local(part: slice) -> tuple[Array, Array]:
        block = rows[part]
        count = len(bones) + len(leaves)
        shift, rotation = np.zeros((len(block), count, 3)), np.broadcast_to(np.eye(3), (len(block), count, 3, 3)).copy()
        for i, bone in enumerate(bones):
            if bone.parent >= 0:
                shift[:, i] = bones[bone.parent].vector
            columns = {word: block[:, first[i] + k] for k, word in enumerate(bone.dof)}
            for axis in "xyz":
                if f"t{axis}" in columns:
                    shift[:, i, "xyz".index(axis)] += columns[f"t{axis}"]
            axes = [word[1] for word in bone.dof if word.startswith("r")]
            if axes:
                angles = np.stack([columns[f"r{axis}"] for axis in axes], axis=-1)
                made = turn("".join(axes), np.radians(angles) if degrees else angles)
                rotation[:, i] = bone.frame @ made @ bone.frame.T
        for k, i in enumerate(leaves, len(bones)):
            shift[:, k] = bones[i].vector
        return shift, rotation

    parents = [bone.parent for bone in bones] + leaves
    with np.errstate(invalid="ignore", over="ignore"):
        return positions(parents, len(rows), local)
