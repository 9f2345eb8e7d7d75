"""Reads csv files of joint positions: a header, three columns for each joint, a line for each frame.

What enters: a text file. What leaves: a RawMotion. Separators comma, semicolon and tab; columns such as
``left_hip_x``, ``LeftHip.X``, ``LeftHip Y [mm]``; a column ``time`` [s] or ``time_ms`` gives the frame rate.
"""

from __future__ import annotations

import csv
import re
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from lagoon.errors import BadInputError
from lagoon.importers.config import UNITS, ImportConfig
from lagoon.importers.raw import Fact, RawMotion
from lagoon.importers.text_file import Lines, read_lines, short
from lagoon.importers.timing import even, rate_of

Array = NDArray[np.float64]
_COLUMN = re.compile(r"(.+?)[\s._:/-]*(?:pos(?:ition)?[\s._-]*)?([xyz])\s*(?:[(\[](\w+)[)\]])?", re.IGNORECASE)
_TIME = re.compile(r"(time|timestamp|t|seconds|sec)[\s_]*(?:[(\[]?(s|sec|ms)[)\]]?)?", re.IGNORECASE)
MOST_COLUMNS, LONGEST_TITLE = 3000, 200


def read(path: Path, config: ImportConfig) -> RawMotion:
    """Read a table.

    Raises:
        BadInputError: no joints in the header, or times that do not ascend.
        CorruptFileError: a line does not fit the header; it is named.
    """
    lines = read_lines(path)
    first = next((i for i, line in enumerate(lines.text) if line.strip() and not line.lstrip().startswith("#")), None)
    if first is None:
        raise lines.error(1, "no header.", "Expected columns such as left_hip_x,left_hip_y,left_hip_z.")
    header = lines.text[first].lstrip("#")
    mark = max(",;\t", key=header.count)
    titles = [title.strip() for title in _cells(lines, header, mark, first + 1)]
    if any(len(title) > LONGEST_TITLE for title in titles):
        raise lines.error(first + 1, f"a title of more than {LONGEST_TITLE} characters.", "Expected a header.")
    if len(titles) > MOST_COLUMNS:
        raise lines.error(first + 1, f"{len(titles)} columns; expected at most {MOST_COLUMNS}.", "Leave some out.")
    joints, unit = _joints(lines, titles, first + 1)
    rows = _rows(lines, first + 1, len(titles), mark)
    pos = np.stack([rows[:, columns] for columns in joints.values()], axis=1)
    fps, notes = None, []
    clock = next((i for i, title in enumerate(titles) if _TIME.fullmatch(title)), None)
    if clock is not None and len(rows) > 1:
        step = 0.001 if (_TIME.fullmatch(titles[clock]) or [""] * 3)[2] in ("ms", "MS") else 1.0
        durations = np.diff(rows[:, clock]) * step
        fps, times = rate_of(np.append(durations, durations[-1]), f"the column {short(titles[clock])}")
        if times is not None:
            pos = even(pos, times, float(fps.value))
            notes.append("The times are uneven; the frames were put on an even clock.")
    return RawMotion(
        kind="csv of joints, by its header",
        names=tuple(joints),
        pos=pos,
        fps=fps,
        unit=unit,
        notes=tuple(notes),
    )


def _cells(lines: Lines, text: str, mark: str, n: int) -> list[str]:
    if '"' not in text:
        return text.split(mark)
    try:
        return next(csv.reader([text], delimiter=mark), [])
    except csv.Error as error:
        raise lines.error(n, f"not readable as csv ({error}).", "Correct this line.") from error


def _joints(lines: Lines, titles: list[str], n: int) -> tuple[dict[str, list[int]], Fact | None]:
    """Columns of x, y and z of each joint, and the unit if the titles tell it."""
    found: dict[str, dict[str, int]] = {}
    units = set()
    for i, title in enumerate(titles):
        match = _COLUMN.fullmatch(title)
        if match and not _TIME.fullmatch(title):
            axes = found.setdefault(match[1], {})
            if match[2].lower() in axes:
                raise lines.error(n, f"the column {short(title)} stands twice.", "Give each column its own title.")
            axes[match[2].lower()] = i
            units.add((match[3] or "").lower())
    joints = {name: [axes[a] for a in "xyz"] for name, axes in found.items() if len(axes) == 3}
    if not joints:
        some = ", ".join(short(title) for title in titles[:6])
        raise BadInputError(
            f"{lines.path.name}, line {n}: no joints in the header (it has {some}); expected three columns for each "
            "joint, such as left_hip_x,left_hip_y,left_hip_z."
        )
    told = units - {""}
    unit = next(iter(told)) if len(told) == 1 else ""
    return joints, Fact(UNITS[unit], "the header") if unit in UNITS else None


def _rows(lines: Lines, first: int, columns: int, mark: str) -> Array:
    rows = []
    for n, text in enumerate(lines.text[first:], first + 1):
        if not text.strip() or text.lstrip().startswith("#"):
            continue
        cells = _cells(lines, text, mark, n)
        if len(cells) == columns + 1 and not cells[-1].strip():
            cells.pop()
        if len(cells) != columns:
            raise lines.error(n, f"{len(cells)} cells; the header has {columns}.", "Expected as many in each line.")
        if mark != ",":
            cells = [cell.replace(",", ".") for cell in cells]
        rows.append(lines.numbers([cell.strip() or "nan" for cell in cells], n, "numbers only"))
    if not rows:
        raise lines.error(len(lines.text), "no frames below the header.", "Expected a line of numbers for each frame.")
    return np.stack(rows)
