"""One formula for two kinds of arrays: torch tensors, which a graph is traced of, and numpy arrays, which step robots.

What enters and leaves: arrays of one kind. Small numpy operations take a third of the time of small torch ones, and an
environment is some two hundred of them per step; the exported policy needs torch. So the formulas of imitation are
written once, in what both libraries have, and these functions are where they differ.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

Array = Any
"""A float32 torch tensor or numpy array; what a function returns is of the kind that it was given."""


def library(x: Array) -> Any:
    """Return the module whose functions take ``x``: numpy or torch."""
    return np if isinstance(x, np.ndarray) else torch


def stacked(parts: Sequence[Array]) -> Array:
    """Return (..., K) of K arrays (...): what components become."""
    first = parts[0]
    if not isinstance(first, np.ndarray):
        return torch.stack(tuple(parts), dim=-1)
    out = np.empty((*first.shape, len(parts)), first.dtype)
    for k, part in enumerate(parts):
        out[..., k] = part
    return out


def joined(parts: Sequence[Array], axis: int = -1) -> Array:
    """Return the arrays one after the other along an axis."""
    if isinstance(parts[0], np.ndarray):
        return np.concatenate(parts, axis)
    return torch.cat(tuple(parts), dim=axis)


def squared(rows: Array) -> Array:
    """Return the sums (N,) of the squares of rows (N, ...)."""
    rows = rows_of(rows)
    return np.vecdot(rows, rows) if isinstance(rows, np.ndarray) else (rows**2).sum(-1)


def clipped(x: Array, low: Any, high: Any) -> Array:
    """Return ``x`` within bounds, numbers or arrays of its kind; None is no bound."""
    if not isinstance(x, np.ndarray):
        return torch.clamp(x, low, high)
    # numpy's own clip takes three times as long.
    x = x if low is None else np.maximum(x, low)
    return x if high is None else np.minimum(x, high)


def mean(values: Array) -> float:
    """Return the mean of a vector (N,)."""
    if isinstance(values, np.ndarray):
        return float(np.add.reduce(values)) / len(values)
    return float(values.mean())


def like(table: torch.Tensor, x: Array) -> Array:
    """Return a float32 tensor as the kind of array that ``x`` is, without a copy."""
    return table.numpy() if isinstance(x, np.ndarray) else table


def constant(values: Sequence[float], x: Array) -> Array:
    """Return float32 numbers as the kind of array that ``x`` is."""
    numbers = np.array(values, np.float32)
    return numbers if isinstance(x, np.ndarray) else torch.from_numpy(numbers)


def tensor(x: Array) -> torch.Tensor:
    """Return a tensor of an array, without a copy."""
    return torch.from_numpy(x) if isinstance(x, np.ndarray) else x


def floats(x: Array) -> Array:
    """Return whole numbers or truth values as float32."""
    return x.astype(np.float32) if isinstance(x, np.ndarray) else x.to(torch.float32)


def rows_of(x: Array) -> Array:
    """Return (N, M) of (N, ...): each row in one line."""
    if not isinstance(x, np.ndarray):
        return x.flatten(1)
    return x if x.ndim == 2 else x.reshape(len(x), -1)
