"""Between actors and the trainer: grants permits for rollouts and has the next batch ready before it is wanted.

What enters: slots of many seats. What leaves: batches of all environments. A thread copies complete slots side by side
into one of two batches while the trainer learns from the other, and gives the slots back at once.
"""

from __future__ import annotations

from collections.abc import Sequence

from lagoon.engine.batches import Batches
from lagoon.engine.board import Board
from lagoon.engine.shared_memory import Doorbell
from lagoon.engine.staleness import StalenessController
from lagoon.engine.streams.shm import ShmSampleStream
from lagoon.engine.trajectory import TrajectorySchema


class Batcher(Batches):
    """The trainer's sample stream where a batch is one rollout of as many seats as there are."""

    def __init__(
        self,
        stream: ShmSampleStream,
        board: Board,
        bell: Doorbell,
        staleness: StalenessController,
        version: int,
        lockstep: bool,
        ahead: int = 2,
        guests: range = range(0),
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
            guests: seats, the last of the stream, that come and go: nobody has them until ``open``, and batches are as
                large as without them.
        """
        schema = stream.schema
        self._width, self._shut = stream.seats - len(guests), set(guests)
        super().__init__(TrajectorySchema(schema.horizon, schema.batch * self._width, schema.fields), bell, ahead)
        self._stream, self._board = stream, board
        self.staleness, self._lockstep, self._ahead = staleness, lockstep, ahead
        self._first = self._target = version
        self._outstanding = [0] * stream.seats
        self._begin()

    def fill(self) -> float:
        """Return the share, in [0, 1], of the places for complete rollouts that hold one nobody has learned from."""
        stream = self._stream
        places = (stream.seats - len(self._shut)) * stream.slots + self._width * self._ahead
        return (stream.waiting() + self._filled * (self._filling is not None) + self.ready * self._width) / places

    def open(self, seats: Sequence[int]) -> None:
        """Let somebody have seats of guests."""
        with self._lock:
            self._shut -= set(seats)
        self._bell.ring()

    def shut(self, seats: Sequence[int]) -> None:
        """Take seats of guests back, with what was being written and the permits; called by whom the seats obey."""
        with self._lock:
            self._shut |= set(seats)
            for seat in seats:
                self._board.granted[seat] = self._board.started[seat]
        self.bury(seats)

    def bury(self, seats: Sequence[int]) -> None:
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

    def _step(self) -> bool:
        self._grant()
        if self._begun() is None:
            return False
        slot = self._stream.take(self._filled if self._lockstep else None)
        if slot is None:
            return False
        seat = self._stream.seat_of(slot)
        self._outstanding[seat] -= 1
        if self.staleness.too_old(int(slot["version"].min()), self._target):
            self.staleness.reject()
        else:
            self.staleness.accept()
            self._target += self._add(slot, self._width)
        self._stream.release(slot)
        return True

    def _grant(self) -> None:
        board, version = self._board, self._board.version
        for seat in sorted(range(self._stream.seats), key=self._outstanding.__getitem__):
            if seat in self._shut:
                continue
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
