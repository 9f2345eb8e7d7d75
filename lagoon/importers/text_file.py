"""Reads text files of other programs: any encoding and line end, a limit in size, errors with line numbers.

What enters: a path. What leaves: Lines, from which the readers take numbers.
"""

from __future__ import annotations

import codecs
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from lagoon.errors import BadInputError, CorruptFileError

MOST_BYTES = 512 * 2**20
"""Largest file that is read: reading takes a few times its size in memory. Ten minutes of 70 joints at 120 Hz as BVH
are about 150 MiB."""
_MARKS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))


@dataclass(frozen=True)
class Lines:
    """The lines of a file; line n of an editor is ``text[n - 1]``."""

    path: Path
    text: list[str]

    def error(self, line: int, fact: str, advice: str) -> CorruptFileError:
        """Build the error of a line, numbered from 1."""
        return CorruptFileError(f"{self.path.name}, line {line}: {fact} {advice}")

    def numbers(self, words: Sequence[str], line: int, what: str) -> NDArray[np.float64]:
        """Return words as numbers; NaN, Inf and their C spellings are let through, to be named by frame later.

        Raises:
            CorruptFileError: a word is no number.
        """
        try:
            return np.array(words, dtype=np.float64)
        except ValueError:
            return np.array([self._number(word, line, what) for word in words])

    def _number(self, word: str, line: int, what: str) -> float:
        low = word.lower()
        if "#" in low or "nan" in low or low.lstrip("+-") in ("ind", "inf", "infinity"):
            return float("nan")  # Spellings of C libraries: -nan(ind), 1.#QNAN, -1.#IND.
        try:
            return float(word)
        except ValueError:
            raise self.error(
                line,
                f"{short(word)} is no number; expected {what}.",
                "Correct it, or export the file again with a point as decimal sign.",
            ) from None


def short(word: str) -> str:
    """A word from a file, quoted and cut, safe to print."""
    return repr(word if len(word) <= 24 else word[:23] + "…")


def check_size(path: Path, most: int = MOST_BYTES) -> int:
    """Return the size of a file [byte].

    Raises:
        BadInputError: there is no such file, it is empty, or it is larger than is sensible.
    """
    try:
        if path.is_dir():
            raise BadInputError(f"{path} is a folder; expected a motion file. Name the file in it.")
        size = path.stat().st_size
        if path.is_file():
            path.open("rb").close()
    except PermissionError as error:
        raise BadInputError(f"{path} may not be read ({error.strerror}). Type: chmod u+r {path}") from error
    except (OSError, ValueError) as error:
        raise BadInputError(
            f"There is no file {path}. Check the path; lagoon import --help lists the formats."
        ) from error
    if size == 0:
        raise CorruptFileError(f"{path.name} is empty (0 bytes); expected a motion. Export or copy it again.")
    if size > most:
        raise BadInputError(
            f"{path.name} is {size / 2**20:,.0f} MiB; lagoon reads at most {most / 2**20:,.0f} MiB, since reading "
            "takes a few times that in memory. Cut the clip or lower its frame rate in the program it comes from."
        )
    return size


def read_lines(path: Path) -> Lines:
    """Read a text file whole.

    Raises:
        BadInputError: missing or too large.
        CorruptFileError: empty, or not text.
    """
    check_size(path)
    data = path.read_bytes()
    encoding = next((name for mark, name in _MARKS if data.startswith(mark)), "utf-8")
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError:
        text = data.decode("latin-1")
    if "\x00" in text:
        at = text.count("\n", 0, text.index("\x00")) + 1
        raise CorruptFileError(
            f"{path.name}, line {at}: a zero byte, so this is no text file. Expected text; export or copy it again."
        )
    return Lines(path, text.replace("\r\n", "\n").replace("\r", "\n").split("\n"))
