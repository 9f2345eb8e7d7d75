"""Where code outside the engine looks in on a run.

What enters: facts about each iteration. What leaves: whether to stop early.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from lagoon.engine.policy import GaussianActorCritic


@dataclass(frozen=True)
class IterationInfo:
    """What is known after an iteration, on rank 0."""

    iteration: int
    """Iterations done, those before a resume included."""
    steps: int
    """Environment steps done, over all workers."""
    version: int
    """Version of the policy's parameters: the number of updates that made them."""
    fraction: float
    """Done share of the run, in [0, 1]."""
    elapsed: float
    """Seconds of wall time spent, those before a resume included [s]."""
    metrics: dict[str, float]
    """What was logged."""
    folder: Path
    """The run's folder."""
    notes: dict[str, float] = field(default_factory=dict)
    """A hook may put numbers here; they are logged with the next iteration, since this one's line is written."""
    done: float = 0.0
    """Steps since the schedules began, as a share of those over which they run; more than 1 afterwards."""
    begin: Callable[[], None] | None = None
    """While the schedules wait: lets them run. None once they do."""


class Hooks(Protocol):
    """Called on rank 0, in the process that called ``colocated.run``."""

    def on_iteration(self, info: IterationInfo, policy: GaussianActorCritic) -> bool:
        """Look at the policy, which must not be changed; return True to stop all workers now."""
        ...
