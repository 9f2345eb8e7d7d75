"""Between lagoon's axes and those of files known to have Y up; axes that have to be guessed are importers/axes.py's.

What enters: vectors (..., 3). What leaves: the same in the other axes. A file's person faces +Z and has X to the left;
a cyclic swap keeps the hand of the axes, so left stays left.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def to_z_up(y_up: NDArray[Any]) -> Array:
    """Vectors (..., 3) of a Y-up file that faces +Z, in lagoon's axes: X = z, Y = x, Z = y."""
    return np.asarray(y_up, float)[..., [2, 0, 1]]


def to_y_up(z_up: NDArray[Any]) -> Array:
    """Vectors (..., 3) of lagoon in the axes of a Y-up file that faces +Z; the inverse of ``to_z_up``."""
    return np.asarray(z_up, float)[..., [1, 2, 0]]
