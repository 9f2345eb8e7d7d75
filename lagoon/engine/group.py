"""Data-parallel workers as one: sums, broadcasts and gathers, or nothing at all for a single worker.

What enters: tensors and small objects of each rank. What leaves: what all ranks agree on. Rank 0 leads.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import torch.distributed as dist
from torch import Tensor

from lagoon.engine.shared_sum import SharedSum
from lagoon.spans import span

_LONG = 1024  # Elements from which shared memory is worth its set-up.


class Group(Protocol):
    """The workers that share gradients."""

    rank: int
    size: int

    def sum_(self, tensor: Tensor) -> Tensor:
        """Add the tensors of all ranks, in place, with the same bits on every rank; returns the tensor."""
        ...

    def lead_(self, tensor: Tensor) -> Tensor:
        """Overwrite the tensor with that of rank 0; returns the tensor."""
        ...

    def gather(self, item: Any) -> list[Any]:
        """Return the items of all ranks, in their order, on rank 0 and an empty list elsewhere.

        Control plane only: the items are pickled, between processes of one run.
        """
        ...

    def asked_to_stop(self) -> bool:
        """Tell whether somebody wants this rank to stop; rank 0 decides for all."""
        ...


class Solo:
    """A single worker."""

    rank = 0
    size = 1

    def sum_(self, tensor: Tensor) -> Tensor:
        """Return the tensor as it is."""
        return tensor

    def lead_(self, tensor: Tensor) -> Tensor:
        """Return the tensor as it is."""
        return tensor

    def gather(self, item: Any) -> list[Any]:
        """Return the one item."""
        return [item]

    def asked_to_stop(self) -> bool:
        """Return False: rank 0 sees signals itself."""
        return False


class Distributed:
    """The default process group of torch.distributed, which must be initialised."""

    def __init__(self, shared_sum: SharedSum | None = None, asked: Callable[[], bool] = lambda: False) -> None:
        """Join.

        Args:
            shared_sum: sums long float32 vectors where all ranks are on one machine; None leaves all sums to
                torch.distributed.
            asked: tells whether somebody wants this rank to stop.
        """
        self.asked_to_stop = asked
        self.rank = dist.get_rank()
        self.size = dist.get_world_size()
        self._shared_sum = shared_sum

    def sum_(self, tensor: Tensor) -> Tensor:
        """Add the tensors of all ranks, in place."""
        long = tensor.numel() >= _LONG
        with span("wait: other workers"):  # The sum itself is short.
            if long and self._shared_sum is not None and self._shared_sum.fits(tensor):
                return self._shared_sum(tensor)
            dist.all_reduce(tensor)
        return tensor

    def lead_(self, tensor: Tensor) -> Tensor:
        """Overwrite the tensor with that of rank 0."""
        with span("wait: other workers"):
            dist.broadcast(tensor, src=0)
        return tensor

    def gather(self, item: Any) -> list[Any]:
        """Return the items of all ranks on rank 0."""
        items: list[Any] | None = [None] * self.size if self.rank == 0 else None
        with span("wait: other workers"):
            dist.gather_object(item, items, dst=0)
        return items or []
