"""What an operator may ask the controller for; buttons, services and scripts all end up here."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Action(StrEnum):
    """The words of a request."""

    NONE = "none"
    STAND_UP = "stand_up"
    START = "start"
    """Run a skill from the stand; while another one runs, after it has ended in the stand."""
    STOP = "stop"
    """Leave the skill for the stand, as soon as its reference is near level."""
    SIT_DOWN = "sit_down"
    DAMP = "damp"
    """Emergency stop: damping at once, latched until reset."""
    RESET = "reset"
    """Clear a latched fault; the robot stays in damping."""


@dataclass(frozen=True)
class Request:
    """One request for one step of the controller."""

    action: Action = Action.NONE
    skill: str = ""
    """Which skill, for START: its command text."""


NOTHING = Request()
