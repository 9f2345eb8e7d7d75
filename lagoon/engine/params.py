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


LATEST = "latest"
"""The identifier of the newest version; tags may have any other name."""


class ParameterStore(Protocol):
    """Where trainers publish parameters and everybody who acts finds them.

    A version is the number of updates that made the parameters; versions only grow. Stores of one process, of one
    machine (``stores.shm``) and of several machines (``stores.zmq``) keep these promises.
    """

    @property
    def version(self) -> int:
        """The newest version; -1 before the first push."""
        ...

    def push(self, tensors: Mapping[str, Tensor], version: int) -> None:
        """Publish parameters under a version that is newer than all before.

        Raises:
            ValueError: it is not newer.
        """
        ...

    def get(self, which: int | str = LATEST) -> tuple[int, Mapping[str, Tensor]]:
        """Return a version and its parameters.

        Args:
            which: "latest", a tag, or a version.

        Raises:
            LookupError: there is no such version; only the last few and those with a tag are kept.
        """
        ...

    def tag(self, name: str, which: int | str = LATEST) -> None:
        """Give a version a name under which it stays, until the name is given to another version.

        Raises:
            LookupError: there is no such version.
        """
        ...


def missing(which: int | str, newest: int) -> LookupError:
    """Return the error for a version that is not there."""
    return LookupError(
        "No parameters were pushed yet."
        if newest < 0
        else f"There are no parameters {which!r}; the newest are {newest}."
    )


def check_newer(version: int, newest: int) -> None:
    """Raise ValueError unless a version is newer than the newest one."""
    if version <= newest:
        raise ValueError(f"Version {version} was pushed after version {newest}; versions must grow.")


class MemoryParameterStore:
    """A store for one process: it hands over references and copies nothing but what gets a tag.

    Whoever pushes may therefore not change the tensors while somebody acts on them; ``colocated`` guarantees
    it by acting and training in turn.
    """

    def __init__(self) -> None:
        self._version = -1
        self._tensors: Mapping[str, Tensor] = {}
        self._tagged: dict[str, tuple[int, Mapping[str, Tensor]]] = {}

    @property
    def version(self) -> int:
        """The newest version; -1 before the first push."""
        return self._version

    def push(self, tensors: Mapping[str, Tensor], version: int) -> None:
        """Publish references to the tensors."""
        check_newer(version, self._version)
        self._version, self._tensors = version, tensors

    def get(self, which: int | str = LATEST) -> tuple[int, Mapping[str, Tensor]]:
        """Return a version and its parameters; of the untagged ones only the newest is there."""
        if self._version >= 0 and which in (LATEST, self._version):
            return self._version, self._tensors
        for name, (version, tensors) in self._tagged.items():
            if which in (name, version):
                return version, tensors
        raise missing(which, self._version)

    def tag(self, name: str, which: int | str = LATEST) -> None:
        """Keep a copy of a version under a name."""
        version, tensors = self.get(which)
        self._tagged[name] = (version, {key: tensor.clone() for key, tensor in tensors.items()})
