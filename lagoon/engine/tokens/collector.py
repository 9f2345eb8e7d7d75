"""Between rollout workers, judges and the trainer: who may begin a sequence, who judges it, which batch it joins.

What enters: finished sequences in slots. What leaves: batches of judged ones. A sequence counts as running from its
permit to its reward, so that the bound on staleness holds however long either takes.
"""

from __future__ import annotations

from collections import deque

import numpy as np

from lagoon.engine.batches import Batches
from lagoon.engine.board import Board
from lagoon.engine.shared_memory import Doorbell
from lagoon.engine.staleness import StalenessController
from lagoon.engine.streams.shm import ShmSampleStream
from lagoon.engine.tokens.rewards import Judged, RewardPool
from lagoon.engine.tokens.schema import Sequence
from lagoon.engine.trajectory import TrajectorySchema


class Collector(Batches):
    """The trainer's sample stream of sequences, in the order in which they were judged."""

    def __init__(
        self,
        stream: ShmSampleStream,
        pool: RewardPool,
        board: Board,
        bell: Doorbell,
        staleness: StalenessController,
        version: int,
        lanes: int,
        ahead: int = 2,
    ) -> None:
        """Allocate the batches and start the thread.

        Args:
            stream: slots of one sequence each; a seat is a rollout worker.
            pool: judges.
            board: permits are written there.
            bell: rung when a sequence was finished or judged.
            staleness: decides how many sequences may begin, and how many make a batch.
            version: of the parameters that the first batch is for.
            lanes: permits that a rollout worker may have in hand.
            ahead: batches in memory, the trainer's own included.
        """
        schema = stream.schema
        super().__init__(TrajectorySchema(schema.horizon, staleness.batch, schema.fields), bell, ahead)
        self._stream, self._pool, self._board = stream, pool, board
        self.staleness, self._lanes = staleness, lanes
        self._target = version
        self._outstanding = [0] * stream.seats
        self._judged: deque[Judged] = deque()
        self.scored = self.failed = self.failed_in_a_row = 0
        self._begin()

    def bury_rollouts(self, worker: int) -> None:
        """Take back what a rollout worker that died was drawing; other sequences may begin in its place."""
        with self._lock:
            self._stream.abandon(worker)
            board = self._board
            left = int(board.granted[worker] - board.started[worker]) + self._stream.waiting(worker)
            self.staleness.reject(self._outstanding[worker] - left)
            self._outstanding[worker] = left
            self._bell.ring()

    def bury_rewards(self, worker: int, hopeless: bool) -> Sequence | None:
        """Note that a reward worker died; see ``RewardPool.bury``."""
        with self._lock:
            self._bell.ring()
            return self._pool.bury(worker, hopeless)

    @property
    def begun(self) -> int:
        """Sequences that were permitted so far, at most, over all workers: greater numbers are unused."""
        return int(self._board.granted.max()) * self._stream.seats

    def _step(self) -> bool:
        self._grant()
        moved = False
        while (judged := self._pool.judged()) is not None:
            self._judged.append(judged)
            moved = True
        while self._pool.room() and (slot := self._stream.take()) is not None:
            self._outstanding[self._stream.seat_of(slot)] -= 1
            self._pool.submit(slot)
            moved = True
        return self._place() or moved

    def _place(self) -> bool:
        """Put the next judged sequence into the batch that is being filled."""
        if not self._judged or self._begun() is None:
            return False
        slot, failed = self._judged.popleft()
        self.scored += 1
        self.failed += failed
        self.failed_in_a_row = self.failed_in_a_row + 1 if failed else 0
        oldest = int(slot["version"][: int(slot["length"])].min())
        if failed or self.staleness.too_old(oldest, self._target):
            self.staleness.reject()
        else:
            self.staleness.accept()
            self._target += self._add(slot, self.staleness.batch)
        self._stream.release(slot)
        return True

    def _grant(self) -> None:
        board = self._board
        in_hand = board.granted - board.started
        while self.staleness.capacity(board.version) > 0 and in_hand.min() < self._lanes:
            worker = int(np.lexsort((np.array(self._outstanding), in_hand))[0])
            self.staleness.begin()
            self._outstanding[worker] += 1
            in_hand[worker] += 1
            board.granted[worker] += 1
            self._stream.wake(worker)
