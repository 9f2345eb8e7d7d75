"""A simulation of the worker graph with as many actors as one likes, from costs that were measured on a few.

What enters: what each act costs [s], and who works where. What leaves: samples per second, how busy each resource is,
and how old samples are. Discrete events; who may begin a rollout is decided by the engine's own staleness controller.
"""

from __future__ import annotations

import math
from collections.abc import Generator
from dataclasses import dataclass
from typing import Any

import numpy as np
import simpy

from lagoon.engine.staleness import StalenessController

Events = Generator[simpy.Event, Any, Any]


@dataclass(frozen=True)
class Line:
    """A cost that grows with the number of rows: fixed + row * n [s]."""

    fixed: float
    row: float

    def __call__(self, rows: float) -> float:
        return self.fixed + self.row * rows

    @staticmethod
    def through(rows: list[float], seconds: list[float]) -> Line:
        """Fit by least squares of the relative error, so that small numbers of rows count as much as large ones."""
        x = np.stack([np.ones(len(rows)), np.asarray(rows)], 1) / np.asarray(seconds)[:, None]
        fixed, row = np.linalg.lstsq(x, np.ones(len(rows)), rcond=None)[0]
        return Line(max(float(fixed), 0.0), max(float(row), 0.0))


@dataclass(frozen=True)
class Costs:
    """What was measured, on one core."""

    env: Line
    """A control step of an environment with so many robots."""
    act: Line
    """A forward pass of the policy for so many rows."""
    update: Line
    """An update on so many samples."""
    take: float
    """Taking over a version of the parameters from shared memory."""
    publish: float
    """Publishing one."""
    copy: float
    """Copying one sample from a slot into a batch."""
    add: float
    """Adding one more process's gradient into the sum, for one gradient step."""
    meet: float
    """Waking another process, and being woken."""
    grant: float
    """Deciding whether a seat may begin a rollout; done for every seat whenever one has ended."""
    spread: float
    """Standard deviation of the duration of a rollout, as a share of its mean."""
    update_spread: float
    """The same of a gradient step."""
    sample_bytes: float
    parameter_bytes: float


@dataclass(frozen=True)
class System:
    """Who works where; the names are those of ``PPOConfig``."""

    topology: str
    """async, decoupled or colocated."""
    actors: int
    ring: int = 2
    rows: int = 64
    """Robots of each environment."""
    horizon: int = 32
    max_staleness: int = 1
    policy_workers: int = 1
    gradient_steps: int = 20
    cores: int | None = None
    """All processes share so many; None gives each its own."""
    link: float | None = None
    """Bytes per second to and from the trainer's machine; None is shared memory on one machine."""
    latency: float = 5e-5
    """Of a message over the link [s]."""
    trainer_speed: float = 1.0
    """How many times as fast as the measured core the trainer computes."""

    @property
    def seats(self) -> int:
        return self.actors * self.ring

    @property
    def batch(self) -> int:
        """Samples per update."""
        return self.seats * self.rows * self.horizon


@dataclass(frozen=True)
class Found:
    """What came out."""

    samples_per_second: float
    busy: dict[str, float]
    """Resource -> share of the time that it works."""
    staleness_mean: float
    staleness_max: int

    @property
    def cause(self) -> str:
        """The busiest resource."""
        return max(self.busy, key=lambda name: self.busy[name])


def simulate(system: System, costs: Costs, updates: int = 12, warm_up: int = 4, seed: int = 0) -> Found:
    """Run a system for some updates; the first ones do not count."""
    if system.topology == "colocated":
        return _colocated(system, costs, updates, np.random.default_rng(seed))
    return _Graph(system, costs, seed).run(updates, warm_up)


def _colocated(system: System, costs: Costs, updates: int, rng: np.random.Generator) -> Found:
    """Every process acts and learns; all meet after each gradient step, so each step takes as long as the slowest."""
    workers, rows = system.actors, system.ring * system.rows
    rollout = system.horizon * (costs.env(rows) + costs.act(rows)) * _shape(rng, (updates, workers), costs.spread)
    learn = costs.update(rows * system.horizon) / system.trainer_speed / system.gradient_steps
    learning = learn * _shape(rng, (updates, system.gradient_steps, workers), costs.update_spread)
    share = _sum(system, costs)
    if system.cores is not None and workers > system.cores:
        rollout, learning = rollout * workers / system.cores, learning * workers / system.cores
    wall = rollout.max(1).sum() + learning.max(2).sum() + updates * system.gradient_steps * share
    useful = rollout.mean(1).sum() + learning.mean(2).sum()
    busy = {"workers": useful / wall, "sums": updates * system.gradient_steps * share / wall}
    return Found(updates * system.batch / wall, busy, 0.0, 0)


def _sum(system: System, costs: Costs) -> float:
    """Time to sum one gradient over all processes."""
    n = system.actors
    if n == 1:
        return 0.0
    if system.link is None:
        return n * costs.add + (n - 1) * costs.meet
    # A ring: each process sends and receives 2 (n - 1) / n of the vector, in 2 (n - 1) messages.
    return 2 * (n - 1) / n * costs.parameter_bytes / system.link + 2 * (n - 1) * system.latency


def _shape(rng: np.random.Generator, size: tuple[int, ...], spread: float) -> np.ndarray:
    """Draw lognormal factors with mean 1 and a relative standard deviation."""
    sigma = math.sqrt(math.log1p(spread**2))
    return rng.lognormal(-(sigma**2) / 2, sigma, size)


@dataclass
class _Seat:
    permits: int = 0
    outstanding: int = 0
    time: int = -1
    """Steps done of the rollout that is under way; -1 without one."""
    pace: float = 1.0
    version: int = 0
    answered: bool = False


class _Graph:
    """Actors, policy workers and a trainer, as ``lagoon.engine.graph`` joins them."""

    def __init__(self, system: System, costs: Costs, seed: int) -> None:
        self.system, self.costs = system, costs
        self.env, self.rng = simpy.Environment(), np.random.default_rng(seed)
        self.shared = simpy.Resource(self.env, system.cores) if system.cores else None
        self.wire = simpy.Resource(self.env, 1)
        self.controller = StalenessController(system.seats, system.max_staleness)
        self.version = 0
        self.target = 0
        """Version that the batch being filled is for."""
        self.seats = [_Seat() for _ in range(system.seats)]
        self.rings = [self.env.event() for _ in range(system.actors)]
        self.holds = [0] * system.actors
        """Version that each actor has the parameters of."""
        self.questions: list[list[int]] = [[] for _ in range(system.policy_workers)]
        self.asked = [self.env.event() for _ in range(system.policy_workers)]
        self.posted: simpy.Store = simpy.Store(self.env)
        self.batches: simpy.Store = simpy.Store(self.env)
        self.free: simpy.Container = simpy.Container(self.env, 2, 2)
        resources = ("actors", "policy workers", "batcher", "trainer", "link")
        self.worked: dict[str, float] = dict.fromkeys(resources, 0.0)
        self.ages: list[tuple[float, int]] = []
        self.updated: list[float] = []
        self.marks: list[dict[str, float]] = []

    def run(self, updates: int, warm_up: int) -> Found:
        env, system = self.env, self.system
        for number in range(system.actors):
            env.process(self._actor(number))
        if system.topology == "decoupled":
            for number in range(system.policy_workers):
                env.process(self._policy_worker(number))
        env.process(self._batcher())
        done = env.process(self._trainer(updates))
        self._grant()
        env.run(done)
        wall = self.updated[-1] - self.updated[warm_up - 1]
        count = {"actors": system.actors, "policy workers": system.policy_workers}
        first, last = self.marks[warm_up - 1], self.marks[-1]
        busy = {name: (last[name] - first[name]) / wall / count.get(name, 1) for name in last}
        if system.topology != "decoupled":
            del busy["policy workers"]
        if system.link is None:
            del busy["link"]
        ages = self.ages[warm_up:]
        return Found(
            (updates - warm_up) * system.batch / wall,
            busy,
            float(np.mean([mean for mean, _ in ages])),
            max(oldest for _, oldest in ages),
        )

    def _work(self, who: str, seconds: float) -> Events:
        """Compute for a while, on a shared core where there are too few."""
        if self.shared is None:
            yield self.env.timeout(seconds)
        else:
            with self.shared.request() as core:
                yield core
                yield self.env.timeout(seconds)
        self.worked[who] += seconds

    def _send(self, size: float) -> Events:
        """Let bytes pass the trainer's network interface."""
        if self.system.link is None:
            return
        yield self.env.timeout(self.system.latency)
        with self.wire.request() as turn:
            yield turn
            yield self.env.timeout(size / self.system.link)
        self.worked["link"] += size / self.system.link

    def _grant(self) -> None:
        """Give out permits, as ``lagoon.engine.batcher.Batcher`` does."""
        order = sorted(range(len(self.seats)), key=lambda i: self.seats[i].outstanding)
        for i in order:
            seat = self.seats[i]
            if seat.permits == 0 and self.controller.capacity(self.version) > 0:
                self.controller.begin()
                seat.permits, seat.outstanding = 1, seat.outstanding + 1
                self._ring(i // self.system.ring)

    def _ring(self, actor: int) -> None:
        bell, self.rings[actor] = self.rings[actor], self.env.event()
        bell.succeed()

    def _actor(self, number: int) -> Events:
        system, costs = self.system, self.costs
        own = range(number * system.ring, (number + 1) * system.ring)
        while True:
            moved = False
            for i in own:
                seat = self.seats[i]
                if seat.time < 0 and seat.permits > 0:
                    seat.permits, seat.time = 0, 0
                    seat.pace = float(_shape(self.rng, (1,), costs.spread)[0])
                    seat.version = self.version
                    self._ask(i)
                if seat.time < 0 or not (seat.answered or system.topology == "async"):
                    continue
                yield from self._step(number, i, seat)
                moved = True
            if not moved:
                yield self.rings[number]

    def _step(self, number: int, i: int, seat: _Seat) -> Events:
        system, costs = self.system, self.costs
        seconds = costs.env(system.rows) * seat.pace
        if system.topology == "async":
            seconds += costs.act(system.rows)
            if self.holds[number] != self.version:
                self.holds[number] = self.version
                yield from self._send(costs.parameter_bytes)
                seconds += costs.take
            if seat.time == 0:
                seat.version = self.holds[number]
        seat.answered = False
        yield from self._work("actors", seconds)
        seat.time += 1
        if seat.time == system.horizon:
            seat.time = -1
            yield from self._send(costs.sample_bytes * system.rows * system.horizon)
            yield self.posted.put((i, seat.version))
        else:
            self._ask(i)

    def _ask(self, i: int) -> None:
        if self.system.topology != "decoupled":
            return
        server = i % self.system.policy_workers
        self.questions[server].append(i)
        bell, self.asked[server] = self.asked[server], self.env.event()
        bell.succeed()

    def _policy_worker(self, number: int) -> Events:
        system, costs = self.system, self.costs
        held = 0
        while True:
            if not self.questions[number]:
                yield self.asked[number]
            seats, self.questions[number] = self.questions[number], []
            extra = costs.take if held != self.version else 0.0
            held = self.version
            yield from self._work("policy workers", costs.act(system.rows * len(seats)) + extra)
            for i in seats:
                seat = self.seats[i]
                seat.answered = True
                if seat.time == 0:
                    seat.version = held
                self._ring(i // system.ring)

    def _batcher(self) -> Events:
        system = self.system
        while True:
            yield self.free.get(1)
            versions: list[int] = []
            while len(versions) < system.seats:
                i, version = yield self.posted.get()
                self.seats[i].outstanding -= 1
                seconds = self.costs.grant * system.seats
                if self.controller.too_old(version, self.target):
                    self.controller.reject()
                else:
                    seconds += self.costs.copy * system.rows * system.horizon
                    self.controller.accept()
                    versions.append(version)
                yield from self._work("batcher", seconds)
                self._grant()
            self.target += 1
            yield self.batches.put(versions)

    def _trainer(self, updates: int) -> Events:
        system, costs = self.system, self.costs
        chunk = costs.update(system.batch) / system.trainer_speed / system.gradient_steps
        for _ in range(updates):
            versions = yield self.batches.get()
            ages = [self.version - version for version in versions]
            self.ages.append((float(np.mean(ages)), max(ages)))
            for _ in range(system.gradient_steps):
                yield from self._work("trainer", chunk)
            yield from self._work("trainer", costs.publish)
            self.version += 1
            yield self.free.put(1)
            self.updated.append(self.env.now)
            self.marks.append(dict(self.worked))
            self._grant()
