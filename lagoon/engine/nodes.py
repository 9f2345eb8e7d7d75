"""What the processes of a graph do, as objects that can be pickled into them.

What enters: streams, stores and bells that were made by the trainer's process. What leaves: rollouts, answers, reports.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch

from lagoon.engine.acting import ActingPolicy, OwnInferenceStream
from lagoon.engine.board import Board
from lagoon.engine.environment import VecEnv
from lagoon.engine.metrics import Stopwatch
from lagoon.engine.params import ParameterStore
from lagoon.engine.scheduler.local import Reporter
from lagoon.engine.shared_memory import Doorbell
from lagoon.engine.streams.base import InferenceStream, SampleStream
from lagoon.engine.streams.shm import ShmInferenceStream
from lagoon.engine.trajectory import Trajectory
from lagoon.engine.worker import Worker
from lagoon.engine.workers.actor import ActorSpec, ActorWorker
from lagoon.engine.workers.policy import PolicySpec, PolicyWorker
from lagoon.spans import recording, span

MakeEnv = Callable[[int, int, int], VecEnv]
_REPORT_SECONDS = 0.5
_IDLE_SECONDS = 0.2


def identity_of(make_env: MakeEnv) -> str:
    """Return what tells an environment from others: what it says of itself, or its name."""
    said = getattr(make_env, "identity", None)
    return str(said()) if callable(said) else f"{make_env.__module__}.{getattr(make_env, '__qualname__', '')}"


def parcel_of(make_env: MakeEnv) -> bytes:
    """Return what another machine can build the environment from; empty where an environment offers nothing."""
    said: Callable[[], bytes] | None = getattr(make_env, "parcel", None)
    return b"" if said is None else said()


class PinnedStream(InferenceStream, Protocol):
    """An inference stream whose keys can be held to a version."""

    def pin(self, key: int, version: int) -> None:
        """Let all later questions of a key be answered by one version; -1 takes the newest."""
        ...


def seat_seeds(seed: int, seats: int, seat: int, version: int, starts: int) -> tuple[int, int]:
    """Return seeds of a seat's environment and of its noise.

    They differ by seat, by the version that a run resumed at and by how often the process was started, so that no
    stream of random numbers is used twice.
    """
    words = np.random.SeedSequence([seed, seats, seat, version, starts]).generate_state(2, np.uint32)
    return int(words[0]), int(words[1])


@dataclass(frozen=True)
class Pace:
    """When a rollout may begin, and by which parameters it is acted."""

    first: int
    """Version that the run began with."""
    max_staleness: int
    lockstep: bool
    interruptible: bool

    def version_of(self, rollout: int, newest: int) -> tuple[int, int]:
        """Return what to pin a seat's rollout number ``rollout`` to (-1: nothing), and whose schedules hold for it."""
        if self.lockstep:
            exact = self.first + max(0, rollout - self.max_staleness)
            return exact, exact
        return (-1 if self.interruptible else newest), newest


class PermittedSamples:
    """An actor's sample stream that gives out a slot only with a permit, and sets schedules when a rollout begins."""

    def __init__(
        self,
        inner: SampleStream,
        board: Board,
        pace: Pace,
        seats: range,
        environments: Sequence[VecEnv],
        inference: PinnedStream,
    ) -> None:
        self._inner, self._board, self._pace, self._seats = inner, board, pace, seats
        self._environments, self._inference = environments, inference

    def acquire(self, key: int = 0) -> Trajectory | None:
        """Return a slot, or None without a permit or a free one."""
        board, seat = self._board, self._seats[key]
        if board.started[seat] >= board.granted[seat]:
            return None
        slot = self._inner.acquire(key)
        if slot is None:
            return None
        pinned, version = self._pace.version_of(int(board.started[seat]), board.version)
        board.started[seat] += 1
        self._inference.pin(key, pinned)
        self._environments[key].set_progress(board.fraction(version))
        return slot

    def post(self, trajectory: Trajectory) -> None:
        """Hand over a complete slot."""
        self._inner.post(trajectory)

    def take(self) -> Trajectory | None:
        """See ``SampleStream.take``."""
        return self._inner.take()

    def release(self, trajectory: Trajectory) -> None:
        """See ``SampleStream.release``."""
        self._inner.release(trajectory)


@dataclass(frozen=True)
class PolicyCopy:
    """Makes an acting policy in another process."""

    facts: dict[str, Any]
    store: ParameterStore

    def __call__(self) -> ActingPolicy:
        """Build it."""
        return ActingPolicy(self.facts, self.store)


@dataclass(frozen=True)
class ActorNode:
    """The process of one actor."""

    make_env: MakeEnv
    seats: range
    rows: int
    seeds: list[tuple[int, int]]
    """Of the environment and the noise of each seat."""
    board: Board
    samples: SampleStream
    inference: ShmInferenceStream | PolicyCopy
    """Who answers: policy workers, or the actor itself."""
    pace: Pace
    bell: Doorbell
    profile: Path | None = None
    """Where to record what this process does."""
    name: str = "actor"

    def __call__(self, report: Reporter) -> None:
        """Act until the board says stop."""
        with recording(self.profile, self.name):
            self._act(report)

    def _act(self, report: Reporter) -> None:
        watch = Stopwatch()
        with span("start"):
            environments = [
                self.make_env(seat, self.rows, seed) for seat, (seed, _) in zip(self.seats, self.seeds, strict=True)
            ]
        inference: PinnedStream
        if isinstance(self.inference, PolicyCopy):
            noise = [torch.Generator().manual_seed(seed) for _, seed in self.seeds]
            inference = OwnInferenceStream(self.inference(), noise, watch)
        else:
            inference = self.inference
        samples = PermittedSamples(self.samples, self.board, self.pace, self.seats, environments, inference)
        actor = ActorWorker()
        actor.configure(ActorSpec(environments, inference, samples, watch))
        live(actor, self.board, self.bell, watch, report, lambda: {"env": actor.averages()})


@dataclass(frozen=True)
class PolicyNode:
    """The process of one policy worker."""

    policy: PolicyCopy
    service: ShmInferenceStream
    seeds: dict[int, int]
    """Seat -> seed of its noise."""
    together: bool
    board: Board
    bell: Doorbell
    profile: Path | None = None
    """Where to record what this process does."""
    name: str = "policy"

    def __call__(self, report: Reporter) -> None:
        """Answer until the board says stop."""
        with recording(self.profile, self.name):
            self._answer(report)

    def _answer(self, report: Reporter) -> None:
        watch = Stopwatch()
        worker = PolicyWorker()
        noise = {seat: torch.Generator().manual_seed(seed) for seat, seed in self.seeds.items()}
        worker.configure(PolicySpec(self.policy(), self.service, noise, watch, self.together))

        def facts() -> dict[str, Any]:
            if worker.batches == 0:
                return {}
            size = worker.answers / worker.batches
            worker.answers = worker.batches = 0
            return {"queue": {"inference_batch": size}}

        live(worker, self.board, self.bell, watch, report, facts)


def live(
    worker: Worker[Any],
    board: Board,
    bell: Doorbell,
    watch: Stopwatch,
    report: Reporter,
    facts: Callable[[], dict[str, Any]],
) -> None:
    """Poll a worker until the run ends, and report now and then."""
    with span("start"):
        worker.start()
    samples, reported = 0, time.monotonic()
    try:
        while not board.stopped:
            done = worker.poll().samples
            samples += done
            if not done:
                with span(f"wait: {worker.waits_for}"):
                    bell.wait(_IDLE_SECONDS)
            if time.monotonic() - reported > _REPORT_SECONDS:
                report(cpu=watch.take(), samples=samples, **facts())
                samples, reported = 0, time.monotonic()
    finally:
        worker.stop()
