"""Reads the JSON that DeepMimic began and others took over: settings, and a list "Frames" of rows of numbers.

What enters: a text file. What leaves: its content, and the frames as one array.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lagoon.errors import BadInputError, CorruptFileError
from lagoon.importers.text_file import read_lines

Array = NDArray[np.float64]
QUADRUPED_WIDTHS = {
    19: "a robot's base and twelve joints",
    20: "the same after a duration",
    61: "the same before feet and velocities",
    84: "DeepMimic's dog",
}
"""Numbers of a frame in clips of quadrupeds, and whose they are."""
_FIRST = re.compile(r'"Frames"\s*:\s*\[\s*\[([^\[\]]*)(\]?)')


def width_at_a_glance(head: str) -> int | None:
    """How many numbers the first frame has, from the beginning of a file; None if it cannot be told."""
    found = _FIRST.search(head)
    return found[1].count(",") + 1 if found and found[2] else None


def read_frames(path: Path, whose: dict[int, str], other: str) -> tuple[dict[str, Any], Array]:
    """Read a file.

    Args:
        path: the file.
        whose: width of a frame to the words for what has it.
        other: what to type for a clip of another width, a sentence.

    Returns:
        The content, and the frames (T, W).

    Raises:
        BadInputError: frames of another width.
        CorruptFileError: no JSON, or no frames; the line or the frame is named.
    """
    lines, name = read_lines(path), path.name
    try:
        content = json.loads("\n".join(lines.text))
    except json.JSONDecodeError as error:
        raise lines.error(
            error.lineno, f"no JSON here ({error.msg}).", "Expected DeepMimic's txt; copy it again."
        ) from error
    except (RecursionError, ValueError) as error:
        raise CorruptFileError(f"{name} cannot be read as JSON ({error}). Copy the file again.") from error
    frames = content.get("Frames") if isinstance(content, dict) else None
    if not isinstance(frames, list) or not frames:
        raise CorruptFileError(f'{name} has no list "Frames"; expected DeepMimic\'s txt. Copy the file again.')
    expected = " or ".join(f"{width} of {words}" for width, words in whose.items())
    width = len(frames[0]) if isinstance(frames[0], list) else 0
    for i, frame in enumerate(frames):
        if not isinstance(frame, list) or not all(type(value) in (int, float) for value in frame):
            raise CorruptFileError(f"{name}: frame {i} is no list of numbers; expected {expected}.")
        if i == 0 and width not in whose:
            raise BadInputError(f"{name}: frame 0 has {width} numbers; expected {expected}. {other}")
        if len(frame) != width:
            raise CorruptFileError(
                f"{name}: frame {i} has {len(frame)} numbers, the others {width}. Copy the file again."
            )
    try:
        return content, np.array(frames, dtype=np.float64)
    except OverflowError as error:
        raise CorruptFileError(f"{name}: a number is too large ({error}). Copy the file again.") from error
