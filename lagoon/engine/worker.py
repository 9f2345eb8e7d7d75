"""The life of a worker: configure, start, poll again and again, stop.

What enters: a spec made for the kind of worker. What leaves: how much each poll did. Who polls is the
topology's business: ``colocated`` polls all workers of a process in turn.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from enum import Enum
from typing import Generic, NamedTuple, TypeVar

Spec = TypeVar("Spec")


class Stage(Enum):
    """Where a worker is in its life."""

    CREATED = "created"
    CONFIGURED = "configured"
    RUNNING = "running"
    STOPPED = "stopped"


class PollResult(NamedTuple):
    """What one poll did; zeros mean that the worker had to wait."""

    samples: int = 0
    batches: int = 0


class Worker(ABC, Generic[Spec]):
    """Base of all workers."""

    def __init__(self) -> None:
        self.stage = Stage.CREATED

    def configure(self, spec: Spec) -> None:
        """Take the spec over; allocates, but does not act yet."""
        self._enter(Stage.CONFIGURED, {Stage.CREATED})
        self._configure(spec)

    def start(self) -> None:
        """Get ready to be polled."""
        self._enter(Stage.RUNNING, {Stage.CONFIGURED})
        self._start()

    def poll(self) -> PollResult:
        """Do one short piece of work, or nothing when there is none."""
        if self.stage is not Stage.RUNNING:
            self._refuse("poll", {Stage.RUNNING})
        return self._poll()

    @property
    def waits_for(self) -> str:
        """What the worker was waiting for when its last poll did nothing, in a word."""
        return "work"

    def stop(self) -> None:
        """Free what the worker holds; stopping twice does nothing."""
        if self.stage is not Stage.STOPPED:
            self.stage = Stage.STOPPED
            self._stop()

    def _enter(self, stage: Stage, allowed: set[Stage]) -> None:
        if self.stage not in allowed:
            self._refuse(f"become {stage.value}", allowed)
        self.stage = stage

    def _refuse(self, what: str, allowed: set[Stage]) -> None:
        raise RuntimeError(
            f"{type(self).__name__} is {self.stage.value} and cannot {what}; "
            f"it must be {' or '.join(stage.value for stage in allowed)}."
        )

    @abstractmethod
    def _configure(self, spec: Spec) -> None: ...

    @abstractmethod
    def _start(self) -> None: ...

    @abstractmethod
    def _poll(self) -> PollResult: ...

    def _stop(self) -> None:
        pass
