"""Parameters: flat in memory, and numbered by version where workers exchange them.

What enters: modules to flatten, tensors to publish. What leaves: one buffer for all values and one for all
gradients (a single all-reduce, a single optimiser call), and the newest version for whoever acts.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import torch
from torch import Tensor, nn


class FlatParameters:
    """All parameters of some networks as views into one vector, their gradients into another.

    The modules keep working as before; do not move or replace their parameters afterwards.
    """

    def __init__(self, networks: Mapping[str, nn.Module], extra: int = 0) -> None:
        """Move the parameters together.

        Args:
            networks: name -> module, laid out in this order.
            extra: floats to keep behind the gradients, for numbers that are all-reduced along with them.
        """
        counts = {name: sum(p.numel() for p in module.parameters()) for name, module in networks.items()}
        size = sum(counts.values())
        self.values = nn.Parameter(torch.empty(size))
        self.reduced = torch.zeros(size + extra)
        self.gradients = self.reduced[:size]
        self.extra = self.reduced[size:]
        self.values.grad = self.gradients
        self.slices: dict[str, slice] = {}
        start = 0
        for name, module in networks.items():
            self.slices[name] = slice(start, start + counts[name])
            for parameter in module.parameters():
                stop = start + parameter.numel()
                with torch.no_grad():
                    self.values[start:stop] = parameter.detach().flatten()
                parameter.data = self.values.data[start:stop].view(parameter.shape)
                parameter.grad = self.gradients[start:stop].view(parameter.shape)
                start = stop


class ParameterStore(Protocol):
    """Where trainers publish parameters and everybody who acts finds them.

    A version is the number of updates that made the parameters; versions only grow.
    """

    @property
    def version(self) -> int:
        """The newest version; -1 before the first push."""
        ...

    def push(self, tensors: Mapping[str, Tensor], version: int) -> None:
        """Publish parameters under a version that is newer than all before."""
        ...

    def get(self) -> tuple[int, Mapping[str, Tensor]]:
        """Return the newest version and its parameters."""
        ...


class MemoryParameterStore:
    """A store for one process: it hands over references and copies nothing.

    Whoever pushes may therefore not change the tensors while somebody acts on them; ``colocated`` guarantees
    it by acting and training in turn.
    """

    def __init__(self) -> None:
        self._version = -1
        self._tensors: Mapping[str, Tensor] = {}

    @property
    def version(self) -> int:
        """The newest version; -1 before the first push."""
        return self._version

    def push(self, tensors: Mapping[str, Tensor], version: int) -> None:
        """Publish references to the tensors.

        Raises:
            ValueError: the version is not newer than the last one.
        """
        if version <= self._version:
            raise ValueError(f"Version {version} was pushed after version {self._version}; versions must grow.")
        self._version, self._tensors = version, tensors

    def get(self) -> tuple[int, Mapping[str, Tensor]]:
        """Return the newest version and its parameters.

        Raises:
            LookupError: nothing was pushed yet.
        """
        if self._version < 0:
            raise LookupError("No parameters were pushed yet.")
        return self._version, self._tensors
