"""Runs of frames in which something holds.

What enters: a mask over frames. What leaves: where its runs of True begin and end, or how long the longest is.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def stretches(mask: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Half-open frame ranges (start, stop) in which a (T,) mask is True."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], mask, [False]]).astype(int)))
    return [(int(a), int(b)) for a, b in zip(edges[::2], edges[1::2], strict=True)]


def longest(mask: NDArray[np.bool_]) -> int:
    """Number of frames of the longest run of True in a (T,) mask, 0 without one."""
    return max((stop - start for start, stop in stretches(mask)), default=0)
