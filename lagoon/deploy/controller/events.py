"""What the controller tells: changes of mode, trips, refusals, warnings; each as data and as a sentence.

What enters: facts at the moment they happen. What leaves: Event, ready for a log line or a JSON line.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any


class Mode(StrEnum):
    """States of the controller; see docs/deploy.md for the way between them."""

    DAMPING = "damping"
    STAND_UP = "stand_up"
    STAND = "stand"
    POLICY = "policy"
    SETTLE = "settle"
    SIT_DOWN = "sit_down"
    FAULT = "fault"


class Kind(StrEnum):
    """What an event is about."""

    MODE = "mode"
    """The controller changed its mode."""
    TRIP = "trip"
    """A guard tripped; the robot is in damping until it is reset."""
    REFUSED = "refused"
    """A request had no effect; the reason says what to do first."""
    WARNING = "warning"
    """A guard is wider than its default, or a stop waits until the robot is near level."""


@dataclass(frozen=True)
class Event:
    """Something that happened at one moment."""

    time: float
    """The caller's clock [s]."""
    kind: Kind
    mode: Mode
    """Mode after the event."""
    text: str
    """One sentence."""
    guard: str = ""
    """Which guard, for trips and warnings."""
    values: Mapping[str, Any] = field(default_factory=dict)
    """Measured value, limit, joint and the like, as plain data."""

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for one JSON line."""
        return {
            "time": self.time,
            "kind": self.kind.value,
            "mode": self.mode.value,
            "guard": self.guard,
            "text": self.text,
            "values": dict(self.values),
        }

    def __str__(self) -> str:
        guard = f" {self.guard}" if self.guard else ""
        return f"{self.time:9.3f} s  {self.kind.value}{guard}: {self.text}"
