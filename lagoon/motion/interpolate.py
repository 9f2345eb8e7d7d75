"""Paths between their frames: smooth where there are enough frames, straight lines where there are not.

What enters: values at ascending times. What leaves: values at other times within them.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import CubicSpline

Array = NDArray[np.float64]

FEWEST = 4
"""Frames that a cubic spline needs."""


def interpolate(path: Array, known: Array, times: Array, straight: bool = False) -> Array:
    """Values (T', ...) of a path (T, ...) at other times.

    Args:
        path: (T, ...) values.
        known: (T,) ascending times of them.
        times: (T',) wanted times.
        straight: straight lines between frames instead of cubic splines; fewer than four frames take them anyway.
    """
    if not straight and len(path) >= FEWEST:
        return CubicSpline(known, path, axis=0)(times)
    flat = path.reshape(len(path), -1)
    lines = np.stack([np.interp(times, known, column) for column in flat.T], axis=1)
    return lines.reshape(len(times), *path.shape[1:])
