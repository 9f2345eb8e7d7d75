"""Frame rates and clocks: what is believed, how a rounded rate is read, how uneven frames are put right.

What enters: a rate or times from a file. What leaves: a Fact [Hz], or an error.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lagoon.errors import BadInputError
from lagoon.importers.config import FASTEST, LONGEST, SLOWEST
from lagoon.importers.raw import Fact
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


def believable(name: str, fps: Fact) -> None:
    """Refuse a rate that no recorder has.

    Raises:
        BadInputError: it lies outside of what is believed.
    """
    value = float(fps.value)
    if not SLOWEST <= value <= FASTEST:
        raise BadInputError(
            f"{name} has {value:.4g} frames per second ({fps.why}); expected {SLOWEST:g} to {FASTEST:g}. If that is "
            "wrong in the file, type import.fps=30 (or what it is)."
        )


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
