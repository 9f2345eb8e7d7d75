"""The few numbers that all processes of a run look at: newest version, schedules, permits, and the word to stop.

What enters and leaves: single words of shared memory, each with one writer.
"""

from __future__ import annotations

from typing import Any

import torch

from lagoon.engine.shared_memory import Layout, SharedBlock, fence

_VERSION, _STOP = range(2)
_REMEMBERED = 256


class Board:
    """Written by the trainer, but for ``started``, which belongs to each seat's actor."""

    def __init__(self, seats: int) -> None:
        """Allocate for the environments of a run."""
        layout = Layout()
        self._parts = [layout.reserve(8 * count) for count in (2, _REMEMBERED, seats, seats)]
        self._block = SharedBlock(layout.size)
        self._map()

    def _map(self) -> None:
        facts, fractions, granted, started = (self._block.memory[part] for part in self._parts)
        self._facts = facts.view(torch.int64).numpy()
        self._fractions = fractions.view(torch.float64).numpy()
        self.granted = granted.view(torch.int64).numpy()
        """(seats,) rollouts that each seat may have begun so far."""
        self.started = started.view(torch.int64).numpy()
        """(seats,) rollouts that each seat has begun so far."""

    def __getstate__(self) -> dict[str, Any]:
        return {"_parts": self._parts, "_block": self._block}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._map()

    @property
    def version(self) -> int:
        """Version of the newest parameters."""
        return int(self._facts[_VERSION])

    def publish(self, version: int, fraction: float) -> None:
        """Announce a version, and the done share of the run while it acts."""
        self._fractions[version % _REMEMBERED] = fraction
        fence()
        self._facts[_VERSION] = version

    def fraction(self, version: int) -> float:
        """Return the done share of the run that belongs to one of the last versions."""
        return float(self._fractions[version % _REMEMBERED])

    @property
    def stopped(self) -> bool:
        """True when everybody shall leave."""
        return bool(self._facts[_STOP])

    def stop(self) -> None:
        """Tell everybody to leave."""
        self._facts[_STOP] = 1
