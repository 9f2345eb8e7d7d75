"""What every edge between workers can do, whatever carries it.

What enters: observations of actors, trajectories of actors. What leaves: actions, trajectories for trainers.
Both protocols are written so that a stream through shared memory or a socket fits behind them: a slot belongs
to one side at a time, and an answer may come later than its question.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

from torch import Tensor

from lagoon.engine.trajectory import Trajectory


class Actions(NamedTuple):
    """The answer of a policy."""

    action: Tensor
    """(N, A)."""
    logp: Tensor
    """(N,) log-probability of the action under the policy that chose it."""
    version: int
    """Parameter version of that policy."""


class InferenceStream(Protocol):
    """From actors to policies and back."""

    def request(self, key: int, obs: Tensor) -> None:
        """Ask for actions.

        Args:
            key: which of the actor's environments asks; one question may be open per key.
            obs: (N, O) raw actor observations; unchanged until the answer was taken.
        """
        ...

    def response(self, key: int) -> Actions | None:
        """Return the answer, or None when it is not there yet."""
        ...


class SampleStream(Protocol):
    """From actors to trainers: slots go round."""

    def acquire(self) -> Trajectory | None:
        """Actor: return a slot to write into, or None when all are in use."""
        ...

    def post(self, trajectory: Trajectory) -> None:
        """Actor: hand over a complete slot."""
        ...

    def take(self) -> Trajectory | None:
        """Trainer: return the oldest complete slot, or None when there is none."""
        ...

    def release(self, trajectory: Trajectory) -> None:
        """Trainer: give a slot back to be written again."""
        ...
