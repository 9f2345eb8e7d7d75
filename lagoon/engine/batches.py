"""Batches that are ready before they are wanted: the trainer's end of a graph of processes, whatever fills them.

What enters: free batches and a bell. What leaves: full ones. A thread fills one while the trainer learns from another.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections import deque

from lagoon.engine.shared_memory import Doorbell
from lagoon.engine.trajectory import Trajectory, TrajectorySchema
from lagoon.spans import span

_IDLE_SECONDS = 0.2


class Batches(ABC):
    """A sample stream of which the trainer has one end: ``take`` and ``release`` are for the trainer worker."""

    def __init__(self, schema: TrajectorySchema, bell: Doorbell, ahead: int) -> None:
        """Allocate the batches; ``_begin`` starts the thread.

        Args:
            schema: of a whole batch.
            bell: rung when there may be something to do.
            ahead: batches in memory, the trainer's own included.
        """
        self._bell = bell
        self._free = deque(Trajectory(schema) for _ in range(ahead))
        self._ready: deque[Trajectory] = deque()
        self._lock, self._arrived = threading.Lock(), threading.Event()
        self._filling: Trajectory | None = None
        self._filled = 0
        """Slots in the batch that is being filled."""
        self._closing = False
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="lagoon-batcher", daemon=True)

    def _begin(self) -> None:
        self._thread.start()

    @property
    def ready(self) -> int:
        """Batches that the trainer may take."""
        return len(self._ready)

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

    def _begun(self) -> Trajectory | None:
        """Return the batch that is being filled, begun if there is memory for one, else None."""
        if self._filling is None and self._free:
            self._filling, self._filled = self._free.popleft(), 0
        return self._filling

    def _add(self, slot: Trajectory, size: int) -> bool:
        """Copy a slot into the batch that is being filled; True when that makes it ready, with ``size`` slots."""
        assert self._filling is not None
        with span("copy samples"):
            copy_columns(slot, self._filling, self._filled * slot.schema.batch)
        self._filled += 1
        if self._filled < size:
            return False
        self._ready.append(self._filling)
        self._filling = None
        self._arrived.set()
        return True

    @abstractmethod
    def _step(self) -> bool:
        """Do one short piece of work; False when there is none."""

    def close(self) -> None:
        """End the thread."""
        self._closing = True
        self._bell.ring()
        self._thread.join()


def copy_columns(slot: Trajectory, batch: Trajectory, first: int) -> None:
    """Copy a slot's environments into a batch, from column ``first`` on."""
    columns = slice(first, first + slot.schema.batch)
    for name, item in slot.schema.fields.items():
        (batch[name][:, columns] if item.per_step else batch[name][columns]).copy_(slot[name])
