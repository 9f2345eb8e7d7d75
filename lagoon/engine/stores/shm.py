"""Parameters in shared memory: one writer, any number of readers, no locks.

What enters: named tensors of one process. What leaves: consistent copies in others. See ``params.ParameterStore``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor

from lagoon.engine.params import LATEST, check_newer, missing
from lagoon.engine.shared_memory import Layout, SharedBlock, fence
from lagoon.engine.trajectory import Field, Trajectory, TrajectorySchema

_BEGUN, _ENDED, _VERSION = range(3)
_NAME_BYTES = 56
_TAGS = 8


class ShmParameterStore:
    """A ring of versions. The process that made it pushes; whoever gets it pickled reads.

    A slot is written between two counters. A reader copies it and looks at both again: if the writer has come round
    meanwhile, it reads anew. A killed writer or reader thus blocks nobody.
    """

    def __init__(self, template: Mapping[str, Tensor], keep: int = 4) -> None:
        """Allocate.

        Args:
            template: tensors with the names, shapes and types of all pushes.
            keep: newest versions to keep beside the tagged ones.
        """
        fields = {name: Field(tuple(t.shape), t.dtype, per_step=False) for name, t in template.items()}
        # A leading axis of one lets trajectories' layout serve here.
        self._schema = TrajectorySchema(1, 1, fields)
        self._keep, self._slots = keep, keep + _TAGS + 1
        layout, (_, size) = Layout(), self._schema.offsets()
        self._parts = [layout.reserve(8), layout.reserve(24 * self._slots), layout.reserve(64 * _TAGS)]
        self._places = [layout.reserve(size) for _ in range(self._slots)]
        self._block = SharedBlock(layout.size)
        self._map()
        self._newest[0] = -1
        self._words[:, _VERSION] = -1

    def _map(self) -> None:
        memory = self._block.memory
        newest, words, tags = self._parts
        self._newest = memory[newest].view(torch.int64).numpy()
        self._words = memory[words].view(torch.int64).view(-1, 3).numpy()
        self._tags: np.ndarray = memory[tags].numpy().view([("name", f"S{_NAME_BYTES}"), ("version", "<i8")])

    def __getstate__(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in ("_schema", "_keep", "_slots", "_parts", "_places", "_block")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._map()

    @property
    def version(self) -> int:
        """The newest version; -1 before the first push."""
        slot = int(self._newest[0])
        return -1 if slot < 0 else int(self._words[slot, _VERSION])

    def push(self, tensors: Mapping[str, Tensor], version: int) -> None:
        """Copy the tensors into the oldest slot that is neither tagged nor among the newest."""
        check_newer(version, self.version)
        tagged = {int(row["version"]) for row in self._tags if row["name"]}
        versions = self._words[:, _VERSION]
        recent = set(np.sort(versions)[-self._keep + 1 :].tolist()) if self._keep > 1 else set()
        free = [i for i, v in enumerate(versions.tolist()) if v not in tagged and (v < 0 or v not in recent)]
        slot = min(free, key=lambda i: versions[i])
        words = self._words[slot]
        words[_BEGUN] += 1
        fence()
        words[_VERSION] = version
        target = self._view(self._block.memory[self._places[slot]])
        for name, tensor in tensors.items():
            target[name].copy_(tensor)
        fence()
        words[_ENDED] = words[_BEGUN]
        fence()
        self._newest[0] = slot

    def _view(self, memory: Tensor) -> dict[str, Tensor]:
        slot = Trajectory(self._schema, memory)
        return {name: slot[name][0] for name in self._schema.fields}

    def get(self, which: int | str = LATEST) -> tuple[int, Mapping[str, Tensor]]:
        """Return a version and a copy of its parameters."""
        while True:
            slot = self._find(which)
            words = self._words[slot]
            before = int(words[_ENDED])
            fence()
            version, copy = int(words[_VERSION]), self._block.memory[self._places[slot]].clone()
            fence()
            whole = words[_BEGUN] == before and words[_ENDED] == before
            if whole and (isinstance(which, str) or which == version):
                return version, self._view(copy)

    def _find(self, which: int | str) -> int:
        if which == LATEST and self._newest[0] >= 0:
            return int(self._newest[0])
        if isinstance(which, str):
            which_bytes = which.encode()
            versions = [int(row["version"]) for row in self._tags if row["name"] == which_bytes]
        else:
            versions = [which]
        found = np.flatnonzero(np.isin(self._words[:, _VERSION], versions)) if self._newest[0] >= 0 else []
        if not len(found) or versions[0] < 0:
            raise missing(which, self.version)
        return int(found[0])

    def tag(self, name: str, which: int | str = LATEST) -> None:
        """Keep a version under a name of at most 56 bytes; there is room for eight names.

        Raises:
            ValueError: the name is too long or "latest", or all names are taken.
        """
        if name == LATEST or not 0 < len(name.encode()) <= _NAME_BYTES:
            raise ValueError(f"The tag {name!r} must have 1 to {_NAME_BYTES} bytes and may not be {LATEST!r}.")
        version = int(self._words[self._find(which), _VERSION])
        names = [row["name"] for row in self._tags]
        place = names.index(name.encode()) if name.encode() in names else names.index(b"") if b"" in names else -1
        if place < 0:
            raise ValueError(f"All {_TAGS} tags are in use ({b', '.join(names).decode()}); give one of them anew.")
        self._tags[place] = (name.encode(), version)
