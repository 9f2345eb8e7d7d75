"""Bad frames: named by number, mended where that is safe, refused where it is not.

What enters: the paths of 22 joints with the file's flaws. What leaves: paths of finite numbers and a sentence
for each repair. Frames are numbered from 0, as in the file.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from lagoon.errors import BadInputError
from lagoon.importers.units import height_of
from lagoon.motion.skeleton import JOINT_NAMES

Array = NDArray[np.float64]
LONGEST_GAP = 0.3
"""Longest stretch of bad frames [s] that is bridged; people begin and end a gesture in that time."""
LONGEST_CALIBRATION = 5
"""Most frames at the start that may be a calibration pose with a jump after it."""
JUMP = 0.03
"""Mean change of pose between two frames, as a share of the body height, that may be a jump: 5 cm."""
JUMP_SPEED = 0.6
"""Speed of such a jump, mean of all joints, in body heights per second: 1 m/s between two frames, then calm."""
FASTEST_JOINT = 17.0
"""Speed of a joint in body heights per second that nobody has: 30 m/s; the hand in a fast pitch makes 20."""
MOST_LOST = 0.5
"""Share of frames that may be bad."""


def repair(pos: Array, fps: float, allowed: bool, file: str, first: int = 0) -> tuple[Array, list[str]]:
    """Mend (T, 22, 3) in the file's unit.

    Args:
        pos: paths, with NaN where the file has no number.
        fps: [Hz].
        allowed: False refuses a file with any bad frame.
        file: for messages.
        first: number of frame 0 in the file.

    Raises:
        BadInputError: too much is bad, or repair is not allowed; the frames are named.
    """
    pos, first, notes = without_gaps(pos, fps, allowed, file, first)
    size = height_of(pos)
    if len(pos) > 3 and size > 0.0:
        pos, first = _drop_calibration(pos, size, fps, allowed, file, first, notes)
        pos = mend_spikes(pos, size, fps, allowed, file, first, notes)
    return pos, notes


def without_gaps(pos: Array, fps: float, allowed: bool, file: str, first: int = 0) -> tuple[Array, int, list[str]]:
    """Leave out or bridge the frames of (T, J, 3) paths that have no finite numbers.

    Args:
        pos: paths of any points, with NaN where the file has no number.
        fps: [Hz].
        allowed: False refuses a file with any bad frame.
        file: for messages.
        first: number of frame 0 in the file.

    Returns:
        The paths, the number of their first frame, and a sentence for each repair.

    Raises:
        BadInputError: too much is bad, or repair is not allowed; the frames are named.
    """
    bad = np.asarray(~(np.isfinite(pos) & (np.abs(pos) < 1e12)).all(axis=(1, 2)))
    notes: list[str] = []
    if bad.any():
        named = f"{_frames(np.flatnonzero(bad) + first)} hold{'s' if bad.sum() == 1 else ''} no finite positions"
        if not allowed:
            raise BadInputError(f"{file}: {named}. Leave import.repair=false out to bridge short gaps.")
        if bad.mean() > MOST_LOST or (~bad).sum() < 2:
            raise BadInputError(
                f"{file}: {named}, {bad.sum()} of {len(bad)}; expected at most {MOST_LOST:.0%}. Export the file again."
            )
        good = np.flatnonzero(~bad)
        begin, end = int(good[0]), int(good[-1]) + 1
        longest = max((b - a - 1 for a, b in pairwise(good)), default=0)
        if longest > LONGEST_GAP * fps:
            raise BadInputError(
                f"{file}: {named}; {longest} in a row are {longest / fps:.2f} s, and lagoon bridges at most "
                f"{LONGEST_GAP} s. Cut the clip with import.start= and import.end=, in seconds."
            )
        cut = begin + len(bad) - end
        notes.append(f"{named}: " + _done(cut, int(bad.sum()) - cut))
        pos, first = _bridge(pos[begin:end], bad[begin:end]), first + begin
    return pos, first, notes


def _done(cut: int, bridged: int) -> str:
    parts = [f"{cut} at the ends left out"] if cut else []
    return " and ".join(parts + ([f"{bridged} bridged"] if bridged else [])) + "."


def _bridge(pos: Array, bad: NDArray[np.bool_]) -> Array:
    """Interpolate bad frames linearly between their good neighbours; bones are made constant later."""
    known = np.flatnonzero(~bad)
    flat = pos.reshape(len(pos), -1).copy()
    lost = np.flatnonzero(bad)
    for column in flat.T:
        column[lost] = np.interp(lost, known, column[known])
    return flat.reshape(pos.shape)


def _drop_calibration(
    pos: Array, size: float, fps: float, allowed: bool, file: str, first: int, notes: list[str]
) -> tuple[Array, int]:
    """Leave out a T-pose (or any pose) that jumps into the motion within the first frames.

    A jump is large, sudden against what follows, and comes after poses that hold still; in the world or relative to the
    pelvis. At a low frame rate people's own steps are large too: there only a T-pose is told from a brisk start.
    """
    start = pos[:40]
    for path in (start, start - start[:, :1]):
        steps = np.linalg.norm(np.diff(path, axis=0), axis=-1).mean(axis=-1) / size
        for k in range(min(LONGEST_CALIBRATION, len(steps) - 2)):
            rest, held = steps[k + 1 :], steps[:k]
            usual, largest = (2.0, 1.5) if _t_pose(pos[k]) else (6.0, 2.5)
            sudden = steps[k] > usual * np.median(rest) and steps[k] > largest * rest.max()
            if not sudden or steps[k] < max(JUMP, JUMP_SPEED / fps) or held.max(initial=0.0) > 0.2 * steps[k]:
                continue
            named = _frames(np.arange(k + 1) + first)
            fact = f"{named} {'is' if k == 0 else 'are'} a pose that jumps into the motion, such as a T-pose"
            if not allowed:
                raise BadInputError(f"{file}: {fact}. Leave import.repair=false out, or cut it off with import.start=.")
            notes.append(f"{fact}: left out.")
            return pos[k + 1 :], first + k + 1
    return pos, first


def _t_pose(pose: Array) -> bool:
    """Whether (22, 3) stretches both arms out to the sides, straight and square to the trunk."""
    at = {name: pose[i] for i, name in enumerate(JOINT_NAMES)}
    up = at["neck"] - at["pelvis"]
    for side, other in (("left", "right"), ("right", "left")):
        shoulder, elbow, wrist = (at[f"{side}_{part}"] for part in ("shoulder", "elbow", "wrist"))
        arm, out = wrist - shoulder, shoulder - at[f"{other}_shoulder"]
        length = np.linalg.norm(arm)
        if length < 0.97 * (np.linalg.norm(elbow - shoulder) + np.linalg.norm(wrist - elbow)):
            return False
        if abs(arm @ up) > 0.3 * length * np.linalg.norm(up) or arm @ out < 0.9 * length * np.linalg.norm(out):
            return False
    return True


def mend_spikes(pos: Array, size: float, fps: float, allowed: bool, file: str, first: int, notes: list[str]) -> Array:
    """Bridge single frames of (T, J, 3) in which a point flies off and returns; name the jumps that stay.

    Args:
        pos: paths of any points.
        size: height of the body in the unit of ``pos``.
        fps: [Hz].
        allowed: False refuses a file with such frames.
        file: for messages.
        first: number of frame 0 in the file.
        notes: gets a sentence for each repair.

    Raises:
        BadInputError: too many frames jump, or repair is not allowed.
    """
    limit = FASTEST_JOINT * size / fps
    step = np.linalg.norm(np.diff(pos, axis=0), axis=-1).max(axis=-1)
    across = np.linalg.norm(pos[2:] - pos[:-2], axis=-1).max(axis=-1)
    alone = np.zeros(len(pos), bool)
    alone[1:-1] = (step[:-1] > limit) & (step[1:] > limit) & (across < 0.5 * np.minimum(step[:-1], step[1:]))
    if len(pos) > 3:
        alone[0] = step[0] > limit and step[1:4].max() < 0.3 * step[0]
        alone[-1] = step[-1] > limit and step[-4:-1].max() < 0.3 * step[-1]
    if alone.any():
        fact = f"{_frames(np.flatnonzero(alone) + first)} fl{'ies' if alone.sum() == 1 else 'y'} off for one frame"
        if not allowed:
            raise BadInputError(f"{file}: {fact}. Leave import.repair=false out to bridge it.")
        if alone.mean() > 0.2:
            raise BadInputError(
                f"{file}: {fact}, {alone.sum()} of {len(pos)}: the numbers are damaged, or the unit or the order of "
                "the rotations is not the file's. Export it again, or try import.order=."
            )
        notes.append(f"{fact}: bridged.")
        ends = slice(int(alone[0]), len(pos) - int(alone[-1]))  # At an end there is nothing to bridge to.
        pos, first = _bridge(pos[ends], alone[ends]), first + int(alone[0])
    step = np.linalg.norm(np.diff(pos, axis=0), axis=-1).max(axis=-1)
    jumps = np.flatnonzero(step > limit) + 1
    if len(jumps) > max(3, 0.02 * len(pos)):
        raise BadInputError(
            f"{file}: joints jump faster than a person can ({step.max() / size * fps:.0f} body heights per second) in "
            f"{_frames(jumps + first)}, {len(jumps)} of {len(pos)}. The numbers are damaged, or the frame rate "
            f"({fps:g} Hz) is not the file's: type import.fps=."
        )
    if len(jumps):
        notes.append(f"{_frames(jumps + first)}: a joint jumps faster than a person can; kept. Look at the picture.")
    return pos


def _frames(numbers: Sequence[int] | NDArray[np.int64]) -> str:
    """Name frames as ranges: ``frames 0, 7-9``; long lists are cut."""
    numbers = [int(n) for n in numbers]
    runs: list[list[int]] = []
    for n in numbers:
        if runs and n == runs[-1][1] + 1:
            runs[-1][1] = n
        else:
            runs.append([n, n])
    text = ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in runs[:8]) + (", ..." if len(runs) > 8 else "")
    return f"Frame {text}" if len(numbers) == 1 else f"Frames {text}"
