"""RawMotion: what a reader found in a file, before anything was guessed or turned.

What enters: a reader's arrays. What leaves: joint paths in the file's own unit and axes, with what the
file or its format says about them. Decision: one guess, with its reason and the setting that replaces it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Decision:
    """One thing that was found out or guessed."""

    what: str
    """For example ``unit``."""
    value: str
    why: str
    change: str = ""
    """What to type for another value; empty when there is nothing to change."""


@dataclass(frozen=True)
class Fact:
    """A value that the file or its format gives, and where it stands."""

    value: float | str
    why: str


@dataclass(frozen=True)
class RawMotion:
    """Joint paths as the file has them."""

    kind: str
    """The format in words, with what makes it so."""
    names: tuple[str, ...]
    """(J,) as in the file; the end of a chain that has no name is called PARENT_end."""
    pos: Array
    """(T, J, 3) in the file's unit and axes; may hold values that are not finite."""
    parents: tuple[int, ...] | None = None
    """(J,) index of each joint's parent, -1 for a root; None when the file does not tell."""
    fps: Fact | None = None
    """Frame rate [Hz]."""
    unit: Fact | None = None
    """Metres in one unit."""
    up: Fact | None = None
    """Axis that points up: x, y, z, -x, -y or -z."""
    order: str = ""
    """Order of rotations, for the report; empty when there are none."""
    notes: tuple[str, ...] = ()
    """Oddities that were accepted, each a sentence."""
