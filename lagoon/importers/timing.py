"""Frame rates and clocks: what is believed, how a rounded rate is read, how uneven frames are put right.

What enters: a rate or times from a file. What leaves: a Fact [Hz], the stretch to read, or an error.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lagoon.errors import BadInputError
from lagoon.importers.config import FASTEST, LONGEST, SLOWEST, ImportConfig
from lagoon.importers.raw import Decision, Fact
from lagoon.motion.interpolate import interpolate

Array = NDArray[np.float64]

COMMON = (
    10.0,
    12.0,
    12.5,
    15.0,
    20.0,
    24.0,
    25.0,
    30.0,
    48.0,
    50.0,
    60.0,
    72.0,
    75.0,
    90.0,
    100.0,
    120.0,
    144.0,
    150.0,
    180.0,
    200.0,
    240.0,
    250.0,
    300.0,
    360.0,
    480.0,
    500.0,
    1000.0,
)
"""Rates that recorders use [Hz]."""
LONG = 20.0
"""Clips longer than this [s] take long to train."""
NTSC = (24.0 / 1.001, 30.0 / 1.001, 60.0 / 1.001, 120.0 / 1.001)
"""Rates of television [Hz], close to a round one but not the same."""


def snapped(fps: float, why: str) -> Fact:
    """Read a rounded frame time: 0.0083 s means 120 Hz; 29.97 and its kin stay.

    Within 0.5 % a common rate is taken; over ten seconds that is 0.05 s.
    """
    nearest = min((*COMMON, *NTSC), key=lambda rate: abs(rate - fps) / rate)
    if abs(nearest - fps) <= 0.005 * nearest:
        return Fact(nearest, why)
    return Fact(fps, why)


def frame_rate(told: Fact | None, config: ImportConfig, file: str) -> tuple[float, Decision]:
    """Frame rate [Hz] to use, and why.

    Args:
        told: as the file or its format has it.
        config: may give the rate.
        file: for messages.

    Raises:
        BadInputError: nothing tells the rate, or it is one that no recorder has.
    """
    change = "import.fps=60"
    if config.fps is not None:
        return config.fps, Decision("frame rate", f"{config.fps:g} Hz", "import.fps was given", change)
    if told is None:
        raise BadInputError(
            f"{file} does not say its frame rate; expected one in the file. Type import.fps=30 (or what it is)."
        )
    value = float(told.value)
    if not SLOWEST <= value <= FASTEST:
        raise BadInputError(
            f"{file} has {value:.4g} frames per second ({told.why}); expected {SLOWEST:g} to {FASTEST:g}. If that is "
            "wrong in the file, type import.fps=30 (or what it is)."
        )
    return value, Decision("frame rate", f"{value:.5g} Hz", told.why, change)


def cut(count: int, fps: float, config: ImportConfig, file: str) -> slice:
    """Frames of the stretch that was asked for.

    Args:
        count: frames that there are.
        fps: [Hz].
        config: may give start and end.
        file: for messages.

    Raises:
        BadInputError: too few frames are left, or too many.
    """
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
    return slice(begin, end)


def long_clip(seconds: float) -> list[str]:
    """A sentence of warning for a clip [s] on which training takes long; none for others."""
    if seconds <= LONG:
        return []
    return [f"The clip lasts {seconds:.0f} s; training on it takes long. Cut it with import.start= and import.end=."]


def rate_of(durations: Array, where: str) -> tuple[Fact, Array | None]:
    """Frame rate out of the time that each frame lasts (T,) [s], and the times (T,) of frames if they are uneven.

    The last frame's own duration says nothing and may be anything.

    Raises:
        BadInputError: a duration is no positive number.
    """
    lasting = durations[:-1] if len(durations) > 1 else durations
    bad = np.flatnonzero(~(np.isfinite(lasting) & (lasting > 0.0)))
    if len(bad):
        raise BadInputError(
            f"Frame {bad[0]} lasts {lasting[bad[0]]:g} s, by {where}; expected a positive number. Correct the file."
        )
    middle = float(np.median(lasting))
    fps = snapped(1.0 / middle, where)
    if np.abs(lasting - middle).max() <= 0.02 * middle:
        return fps, None
    return fps, np.concatenate([[0.0], np.cumsum(lasting)])[: len(durations)]


def even(pos: Array, times: Array, fps: float) -> Array:
    """Put (T, ...) at ascending times (T,) [s] on an even clock by linear interpolation.

    Raises:
        BadInputError: the clip gets longer than is taken.
    """
    seconds = float(times[-1] - times[0])
    if seconds > LONGEST:
        raise BadInputError(
            f"The frames' times span {seconds:.4g} s; lagoon takes at most {LONGEST:g} s. Correct the times."
        )
    clock = times[0] + np.arange(int(np.floor(seconds * fps + 1e-6)) + 1) / fps
    return interpolate(pos, times, clock, straight=True)
