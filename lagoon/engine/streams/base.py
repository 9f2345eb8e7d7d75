"""What every edge between workers can do, whatever carries it.

What enters: observations of actors, trajectories of actors. What leaves: actions, trajectories for trainers.
Three carriers keep these promises: ``inline`` (one process, references), ``shm`` (one machine, shared memory) and
``zmq`` (several machines). A slot belongs to one side at a time, and an answer may come later than its question.
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
    """From actors to policies and back; the actor's end."""

    def request(self, key: int, obs: Tensor) -> None:
        """Ask for actions.

        Args:
            key: which of the actor's environments asks; one question may be open per key.
            obs: (N, O) raw actor observations; unchanged until the answer was taken.
        """
        ...

    def response(self, key: int) -> Actions | None:
        """Return the answer, or None when it is not there yet.

        The tensors are valid until the next request with this key.
        """
        ...


class Question(NamedTuple):
    """One open question, as a policy worker sees it."""

    seat: int
    """Which environment of the whole run asks; the answer goes back to it."""
    obs: Tensor
    """(N, O), valid until it is answered."""
    version: int
    """Parameter version that must answer; -1 takes the newest."""
    number: int = 0
    """Counts the seat's questions, so that an answer to one that a dead actor asked is not taken for another's."""


class InferenceService(Protocol):
    """The policy worker's end of an inference stream."""

    def questions(self) -> list[Question]:
        """Return all open questions, in the order of their seats."""
        ...

    def answer(self, question: Question, actions: Actions) -> None:
        """Send actions for one question."""
        ...


class SampleStream(Protocol):
    """From actors to trainers: slots go round.

    Both sides may write into a slot while it is theirs: a trainer can normalise in place. Slots are allocated once.
    """

    def acquire(self, key: int = 0) -> Trajectory | None:
        """Actor: return a slot to write into, or None when all are in use.

        Args:
            key: which of the actor's environments will write.
        """
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
