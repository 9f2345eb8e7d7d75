"""Between actors and the trainer: grants permits for rollouts and has the next batch ready before it is wanted.

What enters: slots of many seats. What leaves: batches of all environments. A thread copies complete slots side by side
into one of two batches while the trainer learns from the other, and gives the slots back at once.
"""

from __future__ import annotations

import threading
from collections import deque

from lagoon.engine.board import Board
from lagoon.engine.shared_memory import Doorbell
from lagoon.engine.staleness import StalenessController
from lagoon.engine.streams.shm import ShmSampleStream
from lagoon.engine.trajectory import Trajectory, TrajectorySchema
from lagoon.spans import span

_IDLE_SECONDS = 0.2


class Batcher:
    """The trainer's sample stream in a graph of processes: ``take`` and ``release`` are for the trainer worker."""

    def __init__(
        self,
        stream: ShmSampleStream,
        board: Board,
        bell: Doorbell,
        staleness: StalenessController,
        version: int,
        lockstep: bool,
        ahead: int = 2,
    ) -> None:
        """Allocate the batches and start the thread.

        Args:
            stream: slots of all seats; one of each seat's size makes a batch.
            board: permits are written there.
            bell: rung by actors that have completed a rollout.
            staleness: decides how many rollouts may begin.
            version: of the parameters that the first batch is for.
            lockstep: take one rollout of every seat in turn, instead of those that are complete first.
            ahead: batches in memory, the trainer's own included.
        """
        self._stream, self._board, self._bell = stream, board, bell
        self.staleness, self._lockstep = staleness, lockstep
        schema = stream.schema
        whole = TrajectorySchema(schema.horizon, schema.batch * stream.seats, schema.fields)
        self._ahead = ahead
        self._free = deque(Trajectory(whole) for _ in range(ahead))
        self._ready: deque[Trajectory] = deque()
        self._filling: Trajectory | None = None
        self._filled = 0
        self._first = self._target = version
        self._outstanding = [0] * stream.seats
        self._lock, self._arrived = threading.Lock(), threading.Event()
        self._closing = False
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="lagoon-batcher", daemon=True)
        self._thread.start()

    @property
    def ready(self) -> int:
        """Batches that the trainer may take."""
        return len(self._ready)

    def fill(self) -> float:
        """Return the share, in [0, 1], of the places for complete rollouts that hold one nobody has learned from."""
        stream = self._stream
        places = stream.seats * (stream.slots + self._ahead)
        return (stream.waiting() + self._filled * (self._filling is not None) + self.ready * stream.seats) / places

    def wait(self, seconds: float) -> bool:
        """Wait until a batch is ready; False after ``seconds``."""
        if not self._ready:
            self._arrived.wait(seconds)
            self._arrived.clear()
        if self._failure is not None:
            raise self._failure
        return bool(self._ready)

    def acquire(self, key: int = 0) -> Trajectory | None:
        """Refuse: actors write into the slots of the stream behind this one."""
        raise NotImplementedError("A batcher is the trainer's end.")

    def post(self, trajectory: Trajectory) -> None:
        """Refuse: see ``acquire``."""
        raise NotImplementedError("A batcher is the trainer's end.")

    def take(self) -> Trajectory | None:
        """Return the next batch, or None."""
        return self._ready.popleft() if self._ready else None

    def release(self, trajectory: Trajectory) -> None:
        """Give a batch back to be filled again."""
        self._free.append(trajectory)
        self._bell.ring()

    def published(self) -> None:
        """Look at once whether a new version lets more rollouts begin."""
        self._bell.ring()

    def bury(self, seats: range) -> None:
        """Take back what an actor that died was writing."""
        with self._lock:
            for seat in seats:
                self._stream.abandon(seat)
                left = int(self._board.granted[seat] - self._board.started[seat]) + self._stream.waiting(seat)
                lost = self._outstanding[seat] - left
                if self._lockstep:
                    # This seat's rollouts are numbered, and a lost one has to be done again.
                    self._board.started[seat] -= lost
                else:
                    self._outstanding[seat] = left
                    self.staleness.reject(lost)

    def _run(self) -> None:
        try:
            while not self._closing:
                with self._lock:
                    moved = self._step()
                if not moved:
                    with span("wait: rollouts"):
                        self._bell.wait(_IDLE_SECONDS)
        except BaseException as error:
            self._failure = error
            self._arrived.set()

    def _step(self) -> bool:
        self._grant()
        if self._filling is None:
            if not self._free:
                return False
            self._filling, self._filled = self._free.popleft(), 0
        slot = self._stream.take(self._filled if self._lockstep else None)
        if slot is None:
            return False
        seat = self._stream.seat_of(slot)
        self._outstanding[seat] -= 1
        if self.staleness.too_old(int(slot["version"].min()), self._target):
            self.staleness.reject()
        else:
            with span("copy samples"):
                self._copy(slot, self._filling)
            self.staleness.accept()
        self._stream.release(slot)
        if self._filled == self._stream.seats:
            self._ready.append(self._filling)
            self._filling = None
            self._target += 1
            self._arrived.set()
        return True

    def _copy(self, slot: Trajectory, batch: Trajectory) -> None:
        width = slot.schema.batch
        columns = slice(self._filled * width, (self._filled + 1) * width)
        for name, item in slot.schema.fields.items():
            (batch[name][:, columns] if item.per_step else batch[name][columns]).copy_(slot[name])
        self._filled += 1

    def _grant(self) -> None:
        board, version = self._board, self._board.version
        for seat in sorted(range(self._stream.seats), key=self._outstanding.__getitem__):
            if self._lockstep:
                limit = version - self._first + self.staleness.max_staleness + 1
                more = limit - int(board.granted[seat])
            else:
                # One permit in hand lets an actor go on without asking; more would let slow ones hoard them.
                waiting = board.granted[seat] > board.started[seat]
                more = 0 if waiting or self.staleness.capacity(version) <= 0 else 1
            for _ in range(more):
                self.staleness.begin()
                self._outstanding[seat] += 1
            if more > 0:
                board.granted[seat] += more
                self._stream.wake(seat)

    def close(self) -> None:
        """End the thread."""
        self._closing = True
        self._bell.ring()
        self._thread.join()
