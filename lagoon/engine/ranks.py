"""Ranks that torchrun started: which one this process is. It loads no torch, so that everything else may ask.

What enters: the environment that torchrun sets. What leaves: a rank, or None.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

_NAMES = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")


@dataclass(frozen=True)
class Place:
    """Where a process stands among all that learn together."""

    rank: int
    size: int
    local_rank: int
    local_size: int
    """Processes on this machine."""


def place() -> Place | None:
    """Return this process's place, or None where torchrun started only this one or none at all."""
    if any(name not in os.environ for name in _NAMES):
        return None
    found = Place(*(int(os.environ[name]) for name in _NAMES[:4]))
    return found if found.size > 1 else None
