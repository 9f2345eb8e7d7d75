"""Checks shared by the motion dataclasses: shapes, finiteness, unit norm.

What enters: field values. What leaves: float64 read-only arrays, or an error that names the field,
what it holds and what was expected.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from lagoon.errors import BadInputError


def checked_array(owner: str, name: str, value: object, shape: Sequence[int | None]) -> NDArray[np.float64]:
    """Return ``value`` as a read-only float64 array of the given shape (``None``: any length).

    Raises:
        BadInputError: wrong shape, or a value that is not finite.
    """
    array = np.array(value, dtype=np.float64)
    wanted = tuple("any" if size is None else size for size in shape)
    if array.ndim != len(shape) or any(s is not None and s != a for s, a in zip(shape, array.shape, strict=True)):
        raise BadInputError(f"{owner}.{name} has shape {array.shape}; expected {wanted}.")
    if not np.isfinite(array).all():
        frame = int(np.argwhere(~np.isfinite(array))[0][0]) if array.ndim else 0
        raise BadInputError(
            f"{owner}.{name} holds a value that is not finite, first in frame {frame}. Every value must be a number."
        )
    array.setflags(write=False)
    return array


def checked_quaternions(owner: str, name: str, value: object, shape: Sequence[int | None]) -> NDArray[np.float64]:
    """As checked_array, and of unit norm within 1e-3; the result is normalised exactly."""
    array = checked_array(owner, name, value, shape)
    error = np.abs(np.linalg.norm(array, axis=-1) - 1.0)
    if error.size and error.max() > 1e-3:
        raise BadInputError(
            f"{owner}.{name} holds a quaternion whose norm is off by {error.max():.3g}; "
            "expected unit quaternions ordered w, x, y, z."
        )
    array = array / np.linalg.norm(array, axis=-1, keepdims=True)
    array.setflags(write=False)
    return array


def checked_fps(owner: str, value: object) -> float:
    """Return the frame rate [Hz] as a float in (0, 1000]."""
    fps = float(value)  # type: ignore[arg-type]
    if not 0.0 < fps <= 1000.0:
        raise BadInputError(f"{owner}.fps is {fps}; expected a frame rate in (0, 1000] Hz.")
    return fps
