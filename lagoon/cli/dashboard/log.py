"""Reads the files of a training while they are written.

What enters: a folder with ``metrics.jsonl`` and ``checks.jsonl``, perhaps not there yet. What leaves: the history of
each number. The files are the only source, so that whoever looks sees what TensorBoard and the record have.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

_MANY = 4096
"""Rows that are kept; from there on every other one of the older half goes."""
Row = dict[str, Any]


class Tail:
    """Whole lines of JSON that were appended to a file since the last look."""

    def __init__(self, path: Path) -> None:
        self._path, self._file, self._offset = path, (0, 0), 0

    def read(self) -> tuple[list[Row], bool]:
        """Return new rows, and whether the file was written anew, so that all earlier rows are void."""
        try:
            stat = self._path.stat()
        except OSError:
            return [], False
        # A resumed run rewrites the file without the lines of work that was lost.
        anew = (stat.st_dev, stat.st_ino) != self._file or stat.st_size < self._offset
        if anew:
            self._file, self._offset = (stat.st_dev, stat.st_ino), 0
        if stat.st_size == self._offset:
            return [], anew
        try:
            with self._path.open("rb") as file:
                file.seek(self._offset)
                whole, _, _ = file.read().rpartition(b"\n")
        except OSError:
            return [], anew
        self._offset += len(whole) + 1 if whole else 0
        return [row for line in whole.splitlines() if (row := _parsed(line)) is not None], anew


def _parsed(line: bytes) -> Row | None:
    try:
        row = json.loads(line)
    except ValueError:
        return None
    return row if isinstance(row, dict) else None


class TrainingLog:
    """The numbers of a training so far."""

    def __init__(self, folder: Path) -> None:
        self._metrics, self._checks = Tail(folder / "metrics.jsonl"), Tail(folder / "checks.jsonl")
        self.rows: list[Row] = []
        """One per iteration, oldest first; thinned out where there are very many."""
        self.checks: list[Row] = []
        """One per check by the policy without noise, oldest first."""

    def read(self) -> None:
        """Take in what has been written since the last time."""
        for tail, rows in ((self._metrics, self.rows), (self._checks, self.checks)):
            new, anew = tail.read()
            if anew:
                rows.clear()
            rows.extend(new)
        if len(self.rows) > _MANY:
            self.rows[: _MANY // 2] = self.rows[: _MANY // 2 : 2]

    @property
    def last(self) -> Row:
        """The newest row; empty before the first."""
        return self.rows[-1] if self.rows else {}

    def value(self, name: str) -> float | None:
        """Return the newest value of a number; None where it never was logged, or was not finite."""
        for row in reversed(self.rows[-64:]):
            if name in row:
                return _number(row[name])
        return None

    def history(self, name: str) -> list[float | None]:
        """Return all values of a number, with None for gaps."""
        return [_number(row.get(name)) for row in self.rows]

    def recent(self, name: str, count: int = 20) -> float | None:
        """Return the mean of a number over the last iterations."""
        values = [value for value in map(_number, (row.get(name) for row in self.rows[-count:])) if value is not None]
        return sum(values) / len(values) if values else None


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
