"""Sums over the processes of one machine, through memory that all of them map.

What enters: one vector per process. What leaves: their sum, in every process, with the same bits. It exists
because gradients are summed after every minibatch: through the loopback sockets of gloo that costs a tenth of
the training, through memory next to nothing (docs/engine.md).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from multiprocessing.synchronize import Semaphore
from pathlib import Path

import torch
import torch.distributed as dist
from torch import Tensor

_PATIENCE_SECONDS = 1.0
_MEMORY = Path("/dev/shm")


class SharedSum:
    """Adds vectors of up to a fixed length.

    There are two lanes, used in turn. A process writes its vector into its row of a lane, waits until all have,
    and adds the rows in the order of ranks. It returns to the same lane only after everybody was met once more,
    which proves that everybody has finished reading; so one meeting per sum is enough.
    """

    def __init__(
        self,
        rank: int,
        size: int,
        signals: Sequence[Sequence[Semaphore]],
        folder: Path,
        check_peers: Callable[[], None],
    ) -> None:
        """Connect a rank.

        Args:
            rank: of this process.
            size: processes in all.
            signals: ``signals[a][b]`` is raised by rank a and awaited by rank b.
            folder: of this group of ranks alone; its name is unique on the machine.
            check_peers: called now and then while waiting; raises when a peer has died.
        """
        self._rank, self._size, self._signals = rank, size, signals
        # Where the system has a folder in memory, nothing of the lanes is ever written to a disk.
        self._path = _MEMORY / f"{folder.name}-lanes" if os.access(_MEMORY, os.W_OK) else folder / "lanes"
        self._check_peers = check_peers
        self._lanes: Tensor | None = None
        self._turn = 0

    def __call__(self, tensor: Tensor) -> Tensor:
        """Add the vectors (n,) float32 of all ranks, in place; the first call decides the greatest n."""
        if self._lanes is None:
            self._lanes = self._map(tensor.numel())
        lane = self._lanes[self._turn, :, : tensor.numel()]
        self._turn = 1 - self._turn
        lane[self._rank].copy_(tensor)
        self._meet()
        return torch.sum(lane, 0, out=tensor)

    def fits(self, tensor: Tensor) -> bool:
        """Tell whether a tensor can be summed here."""
        most = self._lanes.shape[-1] if self._lanes is not None else tensor.numel()
        return tensor.dtype == torch.float32 and tensor.dim() == 1 and tensor.numel() <= most

    def _map(self, count: int) -> Tensor:
        def lanes() -> Tensor:
            memory = torch.from_file(str(self._path), shared=True, size=2 * self._size * count, dtype=torch.float32)
            return memory.view(2, self._size, count)

        try:
            if self._rank == 0:
                mapped = lanes()
            dist.barrier()
            if self._rank != 0:
                mapped = lanes()
            dist.barrier()
        finally:
            if self._rank == 0:
                # Mapped memory needs no name, and without one it cannot be left behind.
                self._path.unlink(missing_ok=True)
        return mapped

    def _meet(self) -> None:
        others = [rank for rank in range(self._size) if rank != self._rank]
        for other in others:
            self._signals[self._rank][other].release()
        for other in others:
            while not self._signals[other][self._rank].acquire(timeout=_PATIENCE_SECONDS):
                self._check_peers()
