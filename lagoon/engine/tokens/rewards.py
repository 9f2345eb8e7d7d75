"""Reward workers: processes that judge finished sequences, and the pool that hands the sequences out.

What enters: slots with finished sequences. What leaves: the same slots with the terms of their reward, or marked as
failed. A slot is judged where it lies in shared memory; only its place is handed on, in a short queue for each worker.
A worker that is killed is replaced and tries once more; a sequence that kills two is failed, and named.
"""

from __future__ import annotations

import time
import traceback
from collections import Counter
from collections.abc import Sequence as Several
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch

from lagoon.engine.board import Board
from lagoon.engine.metrics import Stopwatch
from lagoon.engine.nodes import live
from lagoon.engine.scheduler.local import Reporter
from lagoon.engine.shared_memory import Doorbell, Layout, SharedBlock, fence
from lagoon.engine.streams.shm import ShmSampleStream
from lagoon.engine.tokens.schema import Score, Sequence, Task
from lagoon.engine.trajectory import Trajectory
from lagoon.engine.worker import PollResult, Worker

_ASSIGNED, _DONE, _SINCE = range(3)
_TRIES = 2
_TEXT = 500  # Fits into one report, whatever its characters.


class RewardQueues:
    """For each worker a ring of places. The pool writes jobs and their count; the worker writes how many it did."""

    def __init__(self, workers: int, depth: int) -> None:
        """Allocate: workers, and jobs that each holds at once, the one that it does included."""
        self.workers, self.depth = workers, depth
        layout = Layout()
        self._parts = [layout.reserve(24 * workers), layout.reserve(8 * workers * depth)]
        self._block = SharedBlock(layout.size)
        self._map()

    def _map(self) -> None:
        words, jobs = (self._block.memory[part].view(torch.int64) for part in self._parts)
        self.words = words.view(self.workers, 3).numpy()
        self.jobs = jobs.view(self.workers, self.depth).numpy()

    def __getstate__(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in ("workers", "depth", "_parts", "_block")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._map()

    def waiting(self, worker: int) -> int:
        """Return how many jobs a worker has."""
        return int(self.words[worker, _ASSIGNED] - self.words[worker, _DONE])

    def push(self, worker: int, place: int) -> None:
        """Give a worker a job; there must be room."""
        words = self.words[worker]
        self.jobs[worker, words[_ASSIGNED] % self.depth] = place
        fence()
        words[_ASSIGNED] += 1

    def first(self, worker: int) -> int | None:
        """Return the place that a worker judges now, or None."""
        if not self.waiting(worker):
            return None
        fence()
        return int(self.jobs[worker, self.words[worker, _DONE] % self.depth])

    def begin(self, worker: int) -> None:
        """Note when a worker began its job."""
        self.words[worker, _SINCE] = time.monotonic_ns()

    def done(self, worker: int) -> None:
        """Tell that a worker's first job is done."""
        self.words[worker, _SINCE] = 0
        fence()
        self.words[worker, _DONE] += 1

    def seconds(self, worker: int) -> float:
        """Return for how long a worker has been judging one sequence [s]; 0 when it does not."""
        since = int(self.words[worker, _SINCE])
        return (time.monotonic_ns() - since) * 1e-9 if since else 0.0


def sequence_in(slot: Trajectory) -> Sequence:
    """Return the finished sequence of a slot, copied out of it."""
    length = int(slot["length"])
    codes = slot["code"][:length, 0].clone().numpy()
    return Sequence(int(slot["number"]), int(slot["prompt"]), length, codes)


class RewardWorker(Worker[tuple[int, RewardQueues, ShmSampleStream, Score, Doorbell, Stopwatch]]):
    """Judges one sequence per poll."""

    def _configure(self, spec: tuple[int, RewardQueues, ShmSampleStream, Score, Doorbell, Stopwatch]) -> None:
        self._index, self._queues, self._stream, self._score, self._bell, self._watch = spec
        self.failures: list[tuple[int, int, str]] = []
        """Number, prompt and error of what failed since somebody looked."""

    def _start(self) -> None:
        pass

    @property
    def waits_for(self) -> str:
        """What a judge that has nothing to do is waiting for."""
        return "sequences"

    def _poll(self) -> PollResult:
        place = self._queues.first(self._index)
        if place is None:
            return PollResult()
        slot = self._stream.slot(place)
        self._queues.begin(self._index)
        with self._watch("reward"):
            self._judge(slot)
        self._queues.done(self._index)
        self._bell.ring()
        return PollResult(samples=1)

    def _judge(self, slot: Trajectory) -> None:
        sequence = sequence_in(slot)
        try:
            terms = np.asarray(self._score(sequence), np.float32)
            if terms.shape != slot["terms"].shape[1:] or not np.isfinite(terms).all():
                raise ValueError(f"The reward is {terms.tolist()}; expected {slot['terms'].shape[1]} finite numbers.")
        except Exception as error:
            slot["failed"].fill_(True)
            where = traceback.extract_tb(error.__traceback__)[-1]
            text = f"{type(error).__name__}: {error} ({where.filename.rsplit('/', 1)[-1]}, line {where.lineno})"
            self.failures.append((sequence.number, sequence.prompt, text[:_TEXT]))
            return
        slot["terms"][0] = torch.from_numpy(terms)
        slot["failed"].fill_(False)


@dataclass(frozen=True)
class RewardNode:
    """The process of one reward worker."""

    task: Task
    index: int
    queues: RewardQueues
    stream: ShmSampleStream
    board: Board
    bell: Doorbell
    """Wakes this process."""
    collector: Doorbell

    def __call__(self, report: Reporter) -> None:
        """Judge until the board says stop."""
        watch, worker = Stopwatch(), RewardWorker()
        worker.configure((self.index, self.queues, self.stream, self.task.scorer(), self.collector, watch))

        def facts() -> dict[str, Any]:
            failures, worker.failures = worker.failures[:1], worker.failures[1:]
            return {"failures": failures} if failures else {}

        live(worker, self.board, self.bell, watch, report, facts)


class Judged(NamedTuple):
    """A slot that came back."""

    slot: Trajectory
    failed: bool


class RewardPool:
    """The end of the queues where sequences are handed out; all its methods are for one thread at a time."""

    def __init__(self, queues: RewardQueues, stream: ShmSampleStream, bells: Several[Doorbell]) -> None:
        """Connect: queues, where the slots lie, and what wakes each worker."""
        self.queues, self._stream, self._bells = queues, stream, tuple(bells)
        self._seen = [0] * queues.workers
        self._deaths: Counter[int] = Counter()

    def room(self) -> bool:
        """Tell whether some worker can take another sequence."""
        return any(self.queues.waiting(w) + self._unseen(w) < self.queues.depth for w in range(self.queues.workers))

    @property
    def busy(self) -> int:
        """Sequences that are waiting or being judged."""
        return sum(self.queues.waiting(w) for w in range(self.queues.workers))

    def _unseen(self, worker: int) -> int:
        return int(self.queues.words[worker, _DONE]) - self._seen[worker]

    def submit(self, slot: Trajectory) -> None:
        """Hand a finished sequence to the worker that has the fewest; there must be room."""
        worker = min(range(self.queues.workers), key=lambda w: self.queues.waiting(w) + self._unseen(w))
        self.queues.push(worker, self._stream.place(slot))
        self._bells[worker].ring()

    def judged(self) -> Judged | None:
        """Return a slot that came back, or None."""
        for worker in range(self.queues.workers):
            if self._unseen(worker):
                fence()
                place = int(self.queues.jobs[worker, self._seen[worker] % self.queues.depth])
                self._seen[worker] += 1
                slot = self._stream.slot(place)
                return Judged(slot, bool(slot["failed"]))
        return None

    def bury(self, worker: int, hopeless: bool = False) -> Sequence | None:
        """Note that a worker was killed; returns the sequence that is given up, since it killed another one before.

        What was in its queue stays there for its successor.

        Args:
            worker: which.
            hopeless: give the sequence up at once.
        """
        place = self.queues.first(worker)
        if place is None or not self.queues.words[worker, _SINCE]:
            return None
        self.queues.words[worker, _SINCE] = 0
        slot = self._stream.slot(place)
        sequence = sequence_in(slot)
        self._deaths[sequence.number] += 1
        if self._deaths[sequence.number] < _TRIES and not hopeless:
            return None
        slot["failed"].fill_(True)
        self.queues.done(worker)
        return sequence

    def overdue(self, seconds: float) -> list[int]:
        """Return the workers that have been judging one sequence for longer than ``seconds``."""
        return [w for w in range(self.queues.workers) if self.queues.seconds(w) > seconds]
