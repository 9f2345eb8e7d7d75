"""Another frame rate without aliases.

What enters: (T, J, 3) paths at one rate. What leaves: the same seconds at another rate.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import convolve1d

from lagoon.motion.interpolate import interpolate

Array = NDArray[np.float64]
PASS = 0.85
"""Edge of the low-pass filter as a share of half the new rate: 8.5 Hz for 20 fps, faster than people move."""
SECONDS = 1.0
"""Length of the filter [s]; with its window it falls from 1 to below 0.01 within 3 Hz around the edge."""


def resample(pos: Array, fps: float, target: float) -> Array:
    """Return (T', ...) paths at ``target`` Hz that cover the same (T - 1) / fps seconds, rounded down to a frame.

    Downward a symmetric low-pass goes first, so that what is faster than half the new rate does not come
    back as a slow wobble; the ends are continued by point reflection, which keeps the first and the last pose.
    Between frames: cubic splines, straight lines for fewer than four frames.
    """
    pos = np.asarray(pos, float)
    if fps > 1.02 * target and len(pos) > 3:
        pos = low_pass(pos, fps, PASS * target / 2.0)
    known = np.arange(len(pos)) / fps
    count = int(np.floor(known[-1] * target + 1e-6)) + 1
    times = np.minimum(np.arange(count) / target, known[-1])
    if abs(fps - target) < 1e-9:
        return pos
    return interpolate(pos, known, times)


def low_pass(pos: Array, fps: float, edge: float) -> Array:
    """Filter (T, ...) along time with a symmetric window filter that lets through what is below ``edge`` [Hz]."""
    half = int(np.ceil(SECONDS * fps / 2.0))
    taps = np.sinc(2.0 * edge / fps * np.arange(-half, half + 1)) * np.kaiser(2 * half + 1, 5.0)
    taps /= taps.sum()
    padding = [(half, half)] + [(0, 0)] * (pos.ndim - 1)
    padded = np.pad(pos, padding, mode="reflect", reflect_type="odd")
    return convolve1d(padded, taps, axis=0)[half : half + len(pos)]
