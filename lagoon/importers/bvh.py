"""Reads BVH (Biovision hierarchy): any skeleton, any channel order, three or six channels for a joint.

What enters: a text file. What leaves: a RawMotion. Angles are in degrees; a joint's rotation is the
product of its channels in the order in which they stand.

Source: the format as described in "Motion Capture File Formats Explained" (Lander 1998; Meredith and
Maddock 2001).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from lagoon.body.forward import about_axis, positions
from lagoon.errors import CorruptFileError
from lagoon.importers.config import ImportConfig
from lagoon.importers.raw import Fact, RawMotion
from lagoon.importers.text_file import Lines, read_lines, short
from lagoon.importers.timing import snapped

Array = NDArray[np.float64]
MOST_JOINTS = 1000
_CHANNEL = re.compile(r"([xyz])(position|rotation)", re.IGNORECASE)
_EXPORT = "Export the file again, or correct this line."


@dataclass
class _Joint:
    name: str
    parent: int
    offset: Array = field(default_factory=lambda: np.zeros(3))
    channels: tuple[str, ...] = ()
    """Such as ``xposition``, in order."""
    first: int = 0
    """Column of its first channel."""


def read(path: Path, config: ImportConfig) -> RawMotion:
    """Read a BVH file.

    Raises:
        BadInputError: it is missing or too large.
        CorruptFileError: it is not BVH; the line is named.
    """
    lines = read_lines(path)
    split = next((i for i, line in enumerate(lines.text) if line.strip().upper() == "MOTION"), None)
    if split is None:
        raise CorruptFileError(
            f"{path.name} has no line MOTION; expected the part with the frames after the skeleton. The file may have "
            "been cut short; export or copy it again."
        )
    joints = _hierarchy(lines, split)
    notes: list[str] = []
    told, seconds, first = _header(lines, split)
    rows = _frames(lines, first, sum(len(joint.channels) for joint in joints), notes)
    if told is not None and told != len(rows):
        notes.append(f"The header tells of {told} frames, the file holds {len(rows)}; all of them are read.")
    angles = rows[:, [j.first + i for j in joints for i, c in enumerate(j.channels) if c.endswith("rotation")]]
    largest = np.abs(angles[np.isfinite(angles)]).max(initial=0.0)
    if len(rows) > 1 and 0.0 < largest < 3.2:
        notes.append("No angle is larger than 3.2. BVH has degrees; if these are radians, the person hardly moves.")
    pos = _positions(joints, rows, config)
    fps = None if seconds is None else snapped(1.0 / seconds, f"Frame Time {seconds:.7g} s")
    return RawMotion(
        kind="BVH, by its line HIERARCHY",
        names=_distinct([joint.name for joint in joints]),
        pos=pos,
        parents=tuple(joint.parent for joint in joints),
        fps=fps,
        up=Fact("y", "the custom of BVH"),
        order=_order(joints, config),
        notes=tuple(notes),
    )


def _hierarchy(lines: Lines, end: int) -> list[_Joint]:
    """Read the skeleton; a closed form of the grammar, since exporters break lines where they like."""
    words = [(word, n + 1) for n in range(end) for word in re.findall(r"[{}]|[^\s{}]+", lines.text[n])]
    joints: list[_Joint] = []
    open_joints: list[int] = []
    at, columns = 0, 0

    def take(count: int, what: str, line: int) -> list[str]:
        nonlocal at
        found = [word for word, _ in words[at : at + count]]
        if len(found) < count:
            raise lines.error(line, f"the skeleton ends inside {what}.", _EXPORT)
        at += count
        return found

    while at < len(words):
        word, line = words[at]
        at += 1
        key = word.upper().rstrip(":")
        if key == "HIERARCHY":
            continue
        if key in ("ROOT", "JOINT", "END", "ENDSITE"):
            name: list[str] = []
            while at < len(words) and words[at][0] != "{":
                name.append(words[at][0])
                at += 1
            if at == len(words):
                raise lines.error(line, f"no {{ after {word} {short(' '.join(name[:4]))}.", _EXPORT)
            at += 1
            if key != "ROOT" and not open_joints:
                raise lines.error(line, f"{word} stands outside of any ROOT.", _EXPORT)
            parent = open_joints[-1] if open_joints else -1
            ends = key.startswith("END")
            text = f"{joints[parent].name}_end" if ends else " ".join(name).strip()
            if not text:
                raise lines.error(line, f"{word} without a name.", _EXPORT)
            if len(joints) >= MOST_JOINTS:
                raise lines.error(
                    line, f"more than {MOST_JOINTS} joints.", "Export the skeleton without hair and cloth."
                )
            open_joints.append(len(joints))
            joints.append(_Joint(text, parent, first=columns))
        elif key == "}":
            if not open_joints:
                raise lines.error(line, "a } without its {.", _EXPORT)
            open_joints.pop()
        elif key == "OFFSET" and open_joints:
            joints[open_joints[-1]].offset = lines.numbers(take(3, word, line), line, "three lengths after OFFSET")
        elif key == "CHANNELS" and open_joints:
            joint = joints[open_joints[-1]]
            if joint.channels:
                raise lines.error(line, f"CHANNELS of {short(joint.name)} stand twice.", _EXPORT)
            joint.channels = _channels(lines, take, line)
            joint.first = columns
            columns += len(joint.channels)
        elif joints:  # Before ROOT stand titles and comments.
            raise lines.error(
                line, f"{short(word)} is not known here; expected OFFSET, CHANNELS, JOINT or }}.", _EXPORT
            )
    if open_joints:
        raise lines.error(end + 1, f"{len(open_joints)} {{ are not closed before MOTION.", _EXPORT)
    if not joints or not columns:
        raise lines.error(
            end + 1, "no joint with channels before MOTION.", "Expected a skeleton; export the file again."
        )
    for joint in joints:
        if not np.isfinite(joint.offset).all():
            raise CorruptFileError(
                f"{lines.path.name}: the OFFSET of {short(joint.name)} is not finite; expected three lengths. {_EXPORT}"
            )
    return joints


def _channels(lines: Lines, take: Callable[[int, str, int], list[str]], line: int) -> tuple[str, ...]:
    count = take(1, "CHANNELS", line)[0]
    if count not in tuple("0123456"):
        raise lines.error(line, f"CHANNELS {short(count)}; expected a number from 0 to 6.", _EXPORT)
    names = tuple(name.lower() for name in take(int(count), "CHANNELS", line))
    for name in names:
        if not _CHANNEL.fullmatch(name):
            raise lines.error(
                line, f"the channel {short(name)} is not known; expected Xposition, Zrotation and the like.", _EXPORT
            )
    if len(set(names)) != len(names):
        raise lines.error(line, f"a channel stands twice in {' '.join(names)}.", _EXPORT)
    return names


def _header(lines: Lines, at: int) -> tuple[int | None, float | None, int]:
    """Number of frames told, time of a frame [s], index of the first line of numbers."""
    frames: int | None = None
    seconds: float | None = None
    for n in range(at + 1, min(at + 12, len(lines.text))):
        line = lines.text[n].strip()
        found = re.match(r"(frames|frame\s*time)\s*:?\s*(\S*)", line, re.IGNORECASE)
        if found is None:
            if line:
                return frames, seconds, n
            continue
        value = lines.numbers([found[2].replace(",", ".")], n + 1, f"a number after {found[1]}")[0]
        if found[1].lower() == "frames":
            frames = int(value) if np.isfinite(value) and abs(value) < 1e9 else None
        else:
            if not np.isfinite(value) or value < 0:
                raise lines.error(n + 1, f"Frame Time {short(found[2])}; expected seconds, such as 0.033333.", _EXPORT)
            seconds = float(value) or None
    return frames, seconds, min(at + 12, len(lines.text))


def _frames(lines: Lines, first: int, columns: int, notes: list[str]) -> Array:
    """(T, C) the numbers of the frames; a frame may be broken over lines, and the last one may be cut."""
    found = [(n, line.split()) for n, line in enumerate(lines.text[first:], first + 1) if line.strip()]
    if not found:
        raise lines.error(len(lines.text), "no frames after MOTION.", "Expected a line of numbers for each frame.")
    if len(found) > 1 and len(found[-1][1]) < columns == len(found[0][1]):
        notes.append(f"Line {found[-1][0]}, the last one, is cut short; this frame is left out.")
        found.pop()
    if all(len(words) < columns for _, words in found):
        count = sum(len(words) for _, words in found)
        if count % columns == 0:
            rows = [lines.numbers(words, n, "numbers") for n, words in found]
            return np.concatenate(rows).reshape(-1, columns)
    rows = np.empty((len(found), columns))
    for row, (n, words) in zip(rows, found, strict=True):
        if len(words) != columns:
            raise lines.error(
                n,
                f"{len(words)} numbers; the skeleton has {columns} channels.",
                "Expected as many numbers in each line.",
            )
        row[:] = lines.numbers(words, n, "numbers only")
    return rows


def _positions(joints: list[_Joint], rows: Array, config: ImportConfig) -> Array:
    offsets = np.array([joint.offset for joint in joints])
    moves = [_moves(joint, rows) for joint in joints]
    order = "" if config.order == "auto" else config.order.lower()

    def local(part: slice) -> tuple[Array, Array]:
        block = rows[part]
        shift = np.broadcast_to(offsets, (len(block), *offsets.shape)).copy()
        turn = np.broadcast_to(np.eye(3), (len(block), len(joints), 3, 3)).copy()
        for j, joint in enumerate(joints):
            axes: list[tuple[str, int]] = []
            for i, channel in enumerate(joint.channels):
                column = joint.first + i
                if channel.endswith("position"):
                    axis = "xyz".index(channel[0])
                    shift[:, j, axis] = block[:, column] + (joint.offset[axis] if moves[j] else 0.0)
                else:
                    axes.append((channel[0], column))
            if order and len(axes) == 3:
                axes.sort(key=lambda pair: order.index(pair[0]))
            for axis, column in axes:
                turn[:, j] = turn[:, j] @ about_axis(axis, np.radians(block[:, column]))
        return shift, turn

    with np.errstate(invalid="ignore", over="ignore"):
        return positions([joint.parent for joint in joints], len(rows), local)


def _moves(joint: _Joint, rows: Array) -> bool:
    """Whether position channels are added to the offset instead of replacing it; both are found in the wild."""
    columns = [joint.first + i for i, c in enumerate(joint.channels) if c.endswith("position")]
    if not columns or joint.parent < 0:
        return False
    axes = ["xyz".index(joint.channels[c - joint.first][0]) for c in columns]
    given = rows[:, columns]
    given = given[np.isfinite(given).all(axis=1)]
    if not len(given):
        return False
    middle = np.median(given, axis=0)
    return bool(np.linalg.norm(middle) < np.linalg.norm(middle - joint.offset[axes]))


def _order(joints: list[_Joint], config: ImportConfig) -> str:
    found: dict[str, int] = {}
    for joint in joints:
        axes = "".join(c[0].upper() for c in joint.channels if c.endswith("rotation"))
        if axes:
            found[axes] = found.get(axes, 0) + 1
    if config.order != "auto":
        return config.order.upper()
    return ", ".join(f"{axes} ({n} joints)" if len(found) > 1 else axes for axes, n in found.items())


def _distinct(names: list[str]) -> tuple[str, ...]:
    """Make names distinct: the second 'Hand' becomes 'Hand#2'."""
    seen: dict[str, int] = {}
    out = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        out.append(name if seen[name] == 1 else f"{name}#{seen[name]}")
    return tuple(out)
