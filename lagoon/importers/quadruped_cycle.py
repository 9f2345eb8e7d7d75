"""A gait's cycle done several times in a row.

What enters: the points of one cycle. What leaves: those of several, each from where the last one ended.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from lagoon.importers.config import ImportConfig
from lagoon.importers.raw import Decision
from lagoon.motion.quadruped_motion import trunk_frames
from lagoon.motion.rotations import yaw_to_matrix

Array = NDArray[np.float64]
CYCLE = 0.12
"""Largest distance of a point from where the cycle began, as a share of the leg, with which a clip can be repeated."""
ENOUGH = 3.0
"""A cycle is repeated until it lasts as long [s]."""


def repeat_cycle(
    pos: Array, leg: float, fps: float, cycle: bool, turns: bool, config: ImportConfig
) -> tuple[Array, Decision]:
    """Do a cycle several times in a row, each time from where the last one ended."""
    change = "import.repeat=4"
    seconds = (len(pos) - 1) / fps
    turn, shift = _from_first_to_last(pos, turns)
    gap = float(np.linalg.norm(pos[-1] - (pos[0] @ turn.T + shift), axis=-1).max())
    times = config.repeat
    if times is None:
        if not cycle:
            return pos, Decision("cycle", "once", "the file does not say that it is a cycle", change)
        if seconds >= ENOUGH:
            return pos, Decision("cycle", "once", f"a cycle of {seconds:.1f} s is long enough", change)
        if gap > CYCLE * leg:
            why = f"the file says that it is a cycle, but its ends are {100 * gap:.0f} cm apart"
            return pos, Decision("cycle", "once", why, change)
        times = int(np.ceil(ENOUGH / seconds))
    pieces = [pos]
    for _ in range(times - 1):
        pieces.append(pieces[-1] @ turn.T + shift)
    # The last frame of a piece and the first of the next are the same moment; what they differ by is shared out.
    ramp = np.linspace(0.0, 1.0, len(pos))[:, None, None]
    for i, (before, after) in enumerate(pairwise(pieces)):
        pieces[i] = before + 0.5 * np.clip(2.0 * ramp - 1.0, 0.0, 1.0) * (after[0] - before[-1])
        pieces[i + 1] = after + 0.5 * np.clip(1.0 - 2.0 * ramp, 0.0, 1.0) * (before[-1] - after[0])
    joined = np.concatenate([pieces[0], *(piece[1:] for piece in pieces[1:])])
    why = "import.repeat was given" if config.repeat is not None else "the file says that it is a cycle"
    return joined, Decision("cycle", f"{times} times", f"{why} of {seconds:.2f} s", change)


def _from_first_to_last(pos: Array, turns: bool) -> tuple[Array, Array]:
    """Turn about the vertical (if any) and shift over the floor that take the first frame's trunk to the last one's."""
    ends = pos[[0, -1]].reshape(2, 4, 3, 3)[:, :, 0]
    yaw = [float(np.arctan2(ahead[1], ahead[0])) for ahead in trunk_frames(ends)[:, :, 0]]
    turn = yaw_to_matrix(yaw[1] - yaw[0] if turns else 0.0)
    middle = ends.mean(axis=1)
    shift = middle[1] - turn @ middle[0]
    shift[2] = 0.0
    return turn, shift
