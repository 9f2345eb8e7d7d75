"""Reads ASF (Acclaim skeleton file): bones with directions, lengths and axes of rotation.

What enters: a text file. What leaves: a Skeleton for the reader of AMC.

Source: the format as described in "Motion Capture File Formats Explained" (Lander 1998).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from lagoon.body.forward import about_axis
from lagoon.errors import BadInputError
from lagoon.importers.text_file import Lines, read_lines, short

Array = NDArray[np.float64]
_EXPORT = "Correct this line, or copy the file again."
_DOF = ("tx", "ty", "tz", "rx", "ry", "rz", "l")
MOST_BONES = 500


@dataclass
class Bone:
    """One bone; its joint is where it begins."""

    name: str
    vector: Array
    """(3,) from begin to end in the world of the rest pose [file unit]."""
    frame: Array
    """(3, 3) axes in which its rotations are given."""
    dof: tuple[str, ...]
    """Numbers it has in a frame: tx, ty, tz, rx, ry, rz, l."""
    parent: int = -1


@dataclass(frozen=True)
class Skeleton:
    """The root and its bones, parents first."""

    bones: tuple[Bone, ...]
    """The root is the first, with a vector of zero."""
    unit: float | None
    """Metres in one unit; None when the file does not tell."""
    degrees: bool


def find_skeleton(motion: Path) -> Path:
    """The ASF file of an AMC file: the same name, the same subject (``07_01.amc``: ``07.asf``), or the only one there.

    Raises:
        BadInputError: there is none, or it cannot be told which.
    """
    here = sorted(path for path in motion.parent.glob("*") if path.suffix.lower() == ".asf")
    names = (motion.stem.lower(), motion.stem.rpartition("_")[0].lower())
    for name in names:
        fitting = [path for path in here if path.stem.lower() == name]
        if fitting:
            return fitting[0]
    if len(here) == 1:
        return here[0]
    found = f"several lie there ({', '.join(path.name for path in here[:5])})" if here else "none lies beside it"
    raise BadInputError(
        f"{motion.name} needs its ASF skeleton, and {found}. Name it: lagoon import SKELETON.asf {motion.name}"
    )


def read_skeleton(path: Path) -> Skeleton:
    """Read a skeleton.

    Raises:
        CorruptFileError: it is damaged; the line is named.
    """
    lines = read_lines(path)
    section, block = "", {}
    bones: dict[str, Bone] = {}
    unit, degrees = None, True
    root: dict[str, list[str]] = {}
    parents: dict[str, str] = {}
    for n, text in enumerate(lines.text, 1):
        words = text.split("#")[0].split()
        if not words:
            continue
        key = words[0].lower()
        if key.startswith(":"):
            section = key
        elif section == ":units" and key == "length" and len(words) > 1:
            value = float(lines.numbers(words[1:2], n, "a number after length")[0])
            unit = 0.0254 / value if np.isfinite(value) and value > 0 else None
        elif section == ":units" and key == "angle":
            degrees = not words[1:2] or words[1].lower().startswith("deg")
        elif section == ":root":
            root[key] = [str(n), *words[1:]]
        elif section == ":bonedata":
            if key == "begin":
                block = {}
            elif key == "end":
                bone = _bone(lines, n, block, degrees)
                if bone.name in bones or bone.name == "root":
                    raise lines.error(n, f"the bone {short(bone.name)} stands twice.", _EXPORT)
                if len(bones) >= MOST_BONES:
                    raise lines.error(n, f"more than {MOST_BONES} bones.", _EXPORT)
                bones[bone.name] = bone
            elif not key.startswith("("):
                block[key] = [str(n), *words[1:]]
        elif section == ":hierarchy" and key not in ("begin", "end"):
            for child in words[1:]:
                if child not in bones:
                    raise lines.error(n, f"the bone {short(child)} is in no bonedata.", _EXPORT)
                if child in parents:
                    raise lines.error(n, f"the bone {short(child)} has two parents.", _EXPORT)
                parents[child] = words[0]
    if not bones or not parents:
        raise lines.error(len(lines.text), "no :bonedata or no :hierarchy.", "Expected an ASF skeleton; copy it again.")
    order = tuple(word.lower() for word in root.get("order", ["", "TX", "TY", "TZ", "RX", "RY", "RZ"])[1:])
    _check_dof(lines, int(root.get("order", ["1"])[0]), order)
    frame = np.eye(3)
    if "orientation" in root:
        axis = (root.get("axis") or ["", "XYZ"])[1:] or ["XYZ"]
        frame = _axes(lines, int(root["orientation"][0]), [*root["orientation"][1:4], axis[0]], degrees)
    tree = [Bone("root", np.zeros(3), frame, order)]
    at = {"root": 0}
    waiting = dict(parents)
    while waiting:
        ready = [child for child, parent in waiting.items() if parent in at]
        if not ready:
            child = next(iter(waiting))
            raise lines.error(
                len(lines.text),
                f"the bone {short(child)} hangs on {short(waiting[child])}, which leads to no root.",
                _EXPORT,
            )
        for child in ready:
            bone = bones[child]
            bone.parent = at[waiting.pop(child)]
            at[child] = len(tree)
            tree.append(bone)
    return Skeleton(tuple(tree), unit, degrees)


def _bone(lines: Lines, n: int, block: dict[str, list[str]], degrees: bool) -> Bone:
    def row(key: str, count: int) -> Array:
        if key not in block or len(block[key]) <= count:
            raise lines.error(n, f"a bone without {key} ({count} value{'s' if count > 1 else ''}).", _EXPORT)
        return lines.numbers(block[key][1 : 1 + count], int(block[key][0]), f"numbers after {key}")

    if len(block.get("name", [])) < 2:
        raise lines.error(n, "a bone without name.", _EXPORT)
    direction, length = row("direction", 3), float(row("length", 1)[0])
    size = float(np.linalg.norm(direction))
    if not (np.isfinite(size) and np.isfinite(length)) or (size < 1e-9 and length > 0):
        raise lines.error(n, f"the bone {short(block['name'][1])} has no finite direction and length.", _EXPORT)
    frame = np.eye(3)
    if "axis" in block:
        frame = _axes(lines, int(block["axis"][0]), block["axis"][1:], degrees)
    dof = tuple(word.lower() for word in block.get("dof", [""])[1:])
    _check_dof(lines, int(block["dof"][0]) if "dof" in block else n, dof)
    return Bone(block["name"][1], direction / max(size, 1e-9) * length, frame, dof)


def _axes(lines: Lines, n: int, words: list[str], degrees: bool) -> Array:
    """Axes of a bone from three angles and their order; the first axis turns first."""
    if len(words) < 3:
        raise lines.error(n, f"{len(words)} values; expected three angles and an order such as XYZ.", _EXPORT)
    angles = lines.numbers(words[:3], n, "three angles")
    order = words[3].lower() if len(words) > 3 else "xyz"
    if sorted(order) != ["x", "y", "z"] or not np.isfinite(angles).all():
        raise lines.error(
            n, f"the axis {short(' '.join(words))}; expected three angles and an order such as XYZ.", _EXPORT
        )
    return turn(order, np.radians(angles) if degrees else angles)


def turn(order: str, angles: Array) -> Array:
    """Rotation (..., 3, 3) of angles (..., n) [rad] about axes such as ``xyz``; the first one turns first."""
    out = np.broadcast_to(np.eye(3), (*angles.shape[:-1], 3, 3))
    for i, axis in enumerate(order):
        out = about_axis(axis, angles[..., i]) @ out
    return out


def _check_dof(lines: Lines, n: int, dof: tuple[str, ...]) -> None:
    for word in dof:
        if word not in _DOF:
            raise lines.error(n, f"{short(word)} is no degree of freedom; expected {' '.join(_DOF)}.", _EXPORT)
    if len(set(dof)) != len(dof):
        raise lines.error(n, f"a degree of freedom stands twice in {' '.join(dof)}.", _EXPORT)


def plain_number(word: str) -> bool:
    """Whether a word is a whole number, as AMC numbers its frames."""
    return re.fullmatch(r"[+-]?\d{1,9}", word) is not None
