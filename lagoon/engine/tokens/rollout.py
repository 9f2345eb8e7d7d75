"""The rollout worker: draws sequences token step by token step, and takes new parameters over between two steps.

What enters: permits, parameters. What leaves: finished sequences in slots, with the version and the log-probability of
every token. Free lanes are filled at once, so that a long sequence holds nobody up.
Source: Fu et al. 2025, "AReaL", section 4.1, interruptible rollout workers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import torch

from lagoon.engine.board import Board
from lagoon.engine.metrics import Stopwatch
from lagoon.engine.nodes import live
from lagoon.engine.params import ParameterStore
from lagoon.engine.scheduler.local import Reporter
from lagoon.engine.shared_memory import Doorbell
from lagoon.engine.streams.base import SampleStream
from lagoon.engine.tokens.schema import Sampler, Sequence, Task, sequence_of
from lagoon.engine.trajectory import Trajectory
from lagoon.engine.worker import PollResult, Worker


class Permits(Protocol):
    """Says which sequences may begin."""

    def take(self) -> int | None:
        """Return the number of a sequence that may begin now, or None."""
        ...


@dataclass
class BoardPermits:
    """Permits of one of several workers, from the board: its n-th sequence is number first + n workers + worker."""

    board: Board
    worker: int
    workers: int
    first: int

    def take(self) -> int | None:
        """Use a permit up."""
        done = int(self.board.started[self.worker])
        if done >= self.board.granted[self.worker]:
            return None
        self.board.started[self.worker] = done + 1
        return self.first + done * self.workers + self.worker


@dataclass
class RolloutSpec:
    """What a rollout worker is connected to."""

    sampler: Sampler
    lanes: int
    samples: SampleStream
    store: ParameterStore
    permits: Permits
    sequence: Callable[[int], Sequence]
    """Number -> what to draw."""
    seed: int
    watch: Stopwatch
    """Counts the time as "generation" and "take_over"."""
    interruptible: bool = True


@dataclass
class _Open:
    """A sequence that is being drawn, and where it is written."""

    sequence: Sequence
    slot: Trajectory
    time: int = 0


class RolloutWorker(Worker[RolloutSpec]):
    """Draws one token step of all its sequences per poll."""

    def _configure(self, spec: RolloutSpec) -> None:
        self._spec = spec
        self._open: dict[int, _Open] = {}
        self._spare: Trajectory | None = None
        self.version = -1
        self.interruptions = self.tokens = self.steps = 0

    def _start(self) -> None:
        pass

    @property
    def waits_for(self) -> str:
        """What a rollout worker that draws nothing is waiting for."""
        return "permit" if self._spare is not None else "slot"

    def _poll(self) -> PollResult:
        self._take_over()
        self._begin()
        if not self._open:
            return PollResult()
        with self._spec.watch("generation"):
            drawn = self._draw()
        done = [number for number, item in self._open.items() if item.time == item.sequence.length]
        for number in done:
            self._spec.samples.post(self._open.pop(number).slot)
            self._spec.sampler.drop(number)
        return PollResult(samples=drawn, batches=len(done))

    def _take_over(self) -> None:
        """Take the newest parameters, unless running sequences have to end first."""
        spec = self._spec
        if spec.store.version == self.version or (self._open and not spec.interruptible):
            return
        with spec.watch("take_over"):
            self.version, tensors = spec.store.get()
            spec.sampler.take(tensors)
        self.interruptions += bool(self._open)

    def _begin(self) -> None:
        spec = self._spec
        if not spec.interruptible and spec.store.version != self.version:
            return
        while len(self._open) < spec.lanes:
            # The slot first: a permit that is used up counts as a sequence that runs.
            self._spare = self._spare or spec.samples.acquire()
            number = None if self._spare is None else spec.permits.take()
            if self._spare is None or number is None:
                return
            sequence, slot = spec.sequence(number), self._spare
            self._spare = None
            for name, value in (("number", number), ("prompt", sequence.prompt), ("length", sequence.length)):
                slot[name].fill_(value)
            spec.sampler.begin(sequence, spec.seed)
            self._open[number] = _Open(sequence, slot)

    def _draw(self) -> int:
        """Draw and write down one step; returns of how many sequences."""
        running = self._spec.sampler.running
        drawn = self._spec.sampler.step()
        for row, number in enumerate(running):
            item = self._open[number]
            item.slot["code"][item.time, 0] = drawn.codes[row]
            item.slot["logp"][item.time, 0] = drawn.logp[row]
            item.slot["version"][item.time, 0] = self.version
            item.time += 1
        self.steps += 1
        self.tokens += len(running)
        return len(running)


@dataclass(frozen=True)
class RolloutNode:
    """The process of one rollout worker."""

    task: Task
    lanes: int
    seed: int
    interruptible: bool
    samples: SampleStream
    store: ParameterStore
    permits: BoardPermits
    bell: Doorbell

    def __call__(self, report: Reporter) -> None:
        """Generate until the board says stop."""
        watch, worker = Stopwatch(), RolloutWorker()
        spec = RolloutSpec(
            self.task.sampler(self.lanes),
            self.lanes,
            self.samples,
            self.store,
            self.permits,
            lambda number: sequence_of(self.task, self.seed, number),
            self.seed,
            watch,
            self.interruptible,
        )
        worker.configure(spec)

        def facts() -> dict[str, dict[str, float]]:
            if not worker.steps:
                return {}
            found = {"rollout/lanes": worker.tokens / worker.steps, "rollout/interruptions": worker.interruptions}
            worker.tokens = worker.steps = worker.interruptions = 0
            return {"numbers": found}

        with torch.no_grad():
            live(worker, self.permits.board, self.bell, watch, report, facts)
