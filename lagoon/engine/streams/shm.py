"""Edges between processes of one machine: slots and cells in shared memory.

What enters and leaves: see ``streams.base``. A stream is built by the process that starts the others and is pickled
into their arguments. Nothing is allocated, pickled or locked while it runs: every word of the bookkeeping has one
writer at a time, so that a process killed at any moment blocks nobody.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from lagoon.engine.shared_memory import Doorbell, Layout, SharedBlock, fence
from lagoon.engine.streams.base import Actions, Question
from lagoon.engine.trajectory import Trajectory, TrajectorySchema

FREE, WRITING, READY, READING = range(4)
_STATE, _STAMP = range(2)
_ASKED, _ANSWERED, _WANTED, _VERSION = range(4)


def _words(memory: Tensor, part: slice, columns: int) -> np.ndarray:
    # numpy reads and writes single numbers ten times as fast as torch.
    return memory[part].view(torch.int64).view(-1, columns).numpy()


class ShmSampleStream:
    """Slots that belong to seats: one seat is one environment of the whole run."""

    def __init__(
        self,
        schema: TrajectorySchema,
        seats: int = 1,
        slots: int = 2,
        consumer: Doorbell | None = None,
        producers: Sequence[Doorbell] = (),
    ) -> None:
        """Allocate all slots.

        Args:
            schema: layout of a slot.
            seats: environments that write.
            slots: per seat; with two, one is written while the other is read.
            consumer: rung when a slot is complete.
            producers: for each seat, what is rung when one of its slots is free again.
        """
        self.schema, self.seats, self.slots = schema, seats, slots
        self._consumer, self._producers = consumer, tuple(producers)
        self._first = 0
        layout = Layout()
        self._plan(layout)
        self._block = SharedBlock(layout.size)
        self._map()

    def _plan(self, layout: Layout) -> None:
        count, (_, size) = self.seats * self.slots, self.schema.offsets()
        self._table = layout.reserve(16 * count)
        self._places = [layout.reserve(size) for _ in range(count)]

    def _map(self) -> None:
        memory = self._block.memory
        self._words = _words(memory, self._table, 2)
        self._trajectories = [Trajectory(self.schema, memory[place]) for place in self._places]
        self._index = {id(trajectory): i for i, trajectory in enumerate(self._trajectories)}

    def __getstate__(self) -> dict[str, Any]:
        kept = ("schema", "seats", "slots", "_consumer", "_producers", "_first", "_block", "_table", "_places")
        return {name: getattr(self, name) for name in kept}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._map()

    def of_actor(self, first: int) -> ShmSampleStream:
        """Return this stream as an actor sees it whose environments sit from seat ``first`` on."""
        view = object.__new__(ShmSampleStream)
        view.__dict__.update(self.__dict__)
        view._first = first
        return view

    def acquire(self, key: int = 0) -> Trajectory | None:
        """Return a free slot of a seat, or None."""
        start = (self._first + key) * self.slots
        for i in range(start, start + self.slots):
            if self._words[i, _STATE] == FREE:
                self._words[i, _STATE] = WRITING
                fence()
                return self._trajectories[i]
        return None

    def post(self, trajectory: Trajectory) -> None:
        """Hand over a complete slot."""
        i = self._index[id(trajectory)]
        self._words[i, _STAMP] = time.monotonic_ns()
        fence()
        self._words[i, _STATE] = READY
        if self._consumer is not None:
            self._consumer.ring()

    def take(self, seat: int | None = None) -> Trajectory | None:
        """Return the oldest complete slot of all seats, or of one, or None."""
        words = self._words if seat is None else self._words[seat * self.slots : (seat + 1) * self.slots]
        ready = np.flatnonzero(words[:, _STATE] == READY)
        if not len(ready):
            return None
        i = int(ready[words[ready, _STAMP].argmin()]) + (0 if seat is None else seat * self.slots)
        self._words[i, _STATE] = READING
        fence()
        return self._trajectories[i]

    def release(self, trajectory: Trajectory) -> None:
        """Free a slot."""
        i = self._index[id(trajectory)]
        fence()
        self._words[i, _STATE] = FREE
        self.wake(i // self.slots)

    def wake(self, seat: int) -> None:
        """Ring for a seat's actor."""
        if self._producers:
            self._producers[seat].ring()

    def seat_of(self, trajectory: Trajectory) -> int:
        """Return whose slot a trajectory is."""
        return self._index[id(trajectory)] // self.slots

    def place(self, trajectory: Trajectory) -> int:
        """Return which slot a trajectory is, for ``slot``."""
        return self._index[id(trajectory)]

    def slot(self, place: int) -> Trajectory:
        """Return a slot by its place, in any process."""
        return self._trajectories[place]

    def waiting(self, seat: int | None = None) -> int:
        """Return how many complete slots nobody has taken yet."""
        words = self._words if seat is None else self._words[seat * self.slots : (seat + 1) * self.slots]
        return int((words[:, _STATE] == READY).sum())

    def abandon(self, seat: int) -> None:
        """Free what a dead actor was writing; what it had posted stays."""
        words = self._words[seat * self.slots : (seat + 1) * self.slots]
        words[words[:, _STATE] == WRITING, _STATE] = FREE


class ShmInferenceStream:
    """One cell per seat that holds a question, then its answer. Both ends are this one object."""

    def __init__(
        self,
        seats: int,
        rows: int,
        obs_dim: int,
        action_dim: int,
        servers: Sequence[Doorbell] = (),
        clients: Sequence[Doorbell] = (),
    ) -> None:
        """Allocate all cells.

        Args:
            seats: environments of the whole run, each of ``rows`` robots.
            rows: N.
            obs_dim: O.
            action_dim: A.
            servers: what is rung for a question; seat s is served by number s modulo their count.
            clients: for each seat, what is rung for its answer.
        """
        self._sizes = (seats, rows, obs_dim, action_dim)
        self._servers, self._clients = tuple(servers), tuple(clients)
        self._first, self._share = 0, (0, 1)
        layout = Layout()
        self._parts = [
            layout.reserve(n) for n in (32 * seats, *(4 * seats * rows * d for d in (obs_dim, action_dim, 1)))
        ]
        self._block = SharedBlock(layout.size)
        self._map()

    def _map(self) -> None:
        seats, rows, obs_dim, action_dim = self._sizes
        memory = self._block.memory
        self._words = _words(memory, self._parts[0], 4)
        obs, action, logp = (memory[part].view(torch.float32) for part in self._parts[1:])
        self._obs = obs.view(seats, rows, obs_dim)
        self._action, self._logp = action.view(seats, rows, action_dim), logp.view(seats, rows)
        self._open: set[int] = set()
        self._pinned: dict[int, int] = {}

    def __getstate__(self) -> dict[str, Any]:
        kept = ("_sizes", "_servers", "_clients", "_first", "_share", "_parts", "_block")
        return {name: getattr(self, name) for name in kept}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._map()

    def of_actor(self, first: int) -> ShmInferenceStream:
        """Return this stream as an actor sees it whose environments sit from seat ``first`` on."""
        return self._view(_first=first)

    def of_server(self, number: int, count: int) -> ShmInferenceStream:
        """Return this stream as policy worker ``number`` of ``count`` sees it."""
        return self._view(_share=(number, count))

    def _view(self, **changes: Any) -> ShmInferenceStream:
        view = object.__new__(ShmInferenceStream)
        view.__dict__.update(self.__dict__ | {"_open": set(), "_pinned": {}} | changes)
        return view

    def pin(self, key: int, version: int) -> None:
        """Let all later questions of a key be answered by one version; -1 takes the newest."""
        self._pinned[key] = version

    def request(self, key: int, obs: Tensor) -> None:
        """Write the question into the seat's cell."""
        seat = self._first + key
        self._obs[seat].copy_(obs)
        words = self._words[seat]
        words[_WANTED] = self._pinned.get(key, -1)
        fence()
        words[_ASKED] += 1
        self._open.add(key)
        if self._servers:
            self._servers[seat % len(self._servers)].ring()

    def response(self, key: int) -> Actions | None:
        """Return views of the seat's cell once it holds the answer."""
        seat = self._first + key
        words = self._words[seat]
        if key not in self._open or words[_ANSWERED] != words[_ASKED]:
            return None
        self._open.discard(key)
        fence()
        return Actions(self._action[seat], self._logp[seat], int(words[_VERSION]))

    def questions(self) -> list[Question]:
        """Return the open questions of this server's seats."""
        number, count = self._share
        asked = self._words[:, _ASKED].copy()
        open_ = np.flatnonzero(asked > self._words[:, _ANSWERED])
        fence()
        return [
            Question(int(s), self._obs[s], int(self._words[s, _WANTED]), int(asked[s]))
            for s in open_
            if s % count == number
        ]

    def answer(self, question: Question, actions: Actions) -> None:
        """Write the answer into the seat's cell."""
        seat = question.seat
        self._action[seat].copy_(actions.action)
        self._logp[seat].copy_(actions.logp)
        self._words[seat, _VERSION] = actions.version
        fence()
        self._words[seat, _ANSWERED] = question.number
        if self._clients:
            self._clients[seat].ring()
