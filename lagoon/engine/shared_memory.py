"""Memory that several processes see, and a bell that wakes one of them.

What enters: a size. What leaves: bytes that every process which is given the block can read and write. On Linux
the memory has no name in any file system: the kernel frees it with the last process that maps it, so that even
``kill -9`` of everything leaves none behind, and the size of /dev/shm (64 MB in most containers) is no limit.
"""

from __future__ import annotations

import mmap
import multiprocessing
import os
import select
import tempfile
import threading
from contextlib import suppress
from typing import Any

import torch
from torch import Tensor

_ALIGN = 64  # A cache line, so that no two processes write into one.
_lock = threading.Lock()


def fence() -> None:
    """Order what was read and written before against what is read and written after, for other processes too.

    Processors other than x86 may show a flag before the data that it speaks of. Python has no barrier, but its locks
    are made of them: a release followed by an acquire is a full one.
    """
    with _lock:
        pass
    with _lock:
        pass


class SharedBlock:
    """A block of zeros. Pickle it into the arguments of a process to share it while its owner lives."""

    def __init__(self, size: int) -> None:
        """Allocate.

        Args:
            size: bytes; pages are taken from the system only when they are first touched.
        """
        self._size = max(size, 1)
        if hasattr(os, "memfd_create"):
            self._file: Any = os.fdopen(os.memfd_create("lagoon"), "r+b", buffering=0)
            # Every process of this user may open what another one has open.
            self._path = f"/proc/{os.getpid()}/fd/{self._file.fileno()}"
        else:
            self._file = tempfile.NamedTemporaryFile(prefix="lagoon-", buffering=0)  # noqa: SIM115
            self._path = self._file.name
        os.ftruncate(self._file.fileno(), self._size)
        self._map()

    def _map(self) -> None:
        self.memory: Tensor = torch.frombuffer(mmap.mmap(self._file.fileno(), self._size), dtype=torch.uint8)

    def __getstate__(self) -> dict[str, Any]:
        return {"size": self._size, "path": self._path}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._size, self._path = state["size"], state["path"]
        with open(self._path, "r+b", buffering=0) as self._file:
            self._map()


class Layout:
    """Hands out aligned parts of a block, in the same order to everybody who asks in the same order."""

    def __init__(self) -> None:
        self.size = 0

    def reserve(self, count: int) -> slice:
        """Return the next ``count`` bytes."""
        start = self.size
        self.size += (count + _ALIGN - 1) // _ALIGN * _ALIGN
        return slice(start, start + count)


class Doorbell:
    """Wakes one process that waits for something in shared memory; rings that nobody has heard yet count as one."""

    def __init__(self) -> None:
        self._reader, self._writer = multiprocessing.Pipe(duplex=False)
        os.set_blocking(self._reader.fileno(), False)
        os.set_blocking(self._writer.fileno(), False)

    def ring(self) -> None:
        """Wake the process; never blocks."""
        with suppress(BlockingIOError):  # The pipe is full of rings already.
            os.write(self._writer.fileno(), b"!")

    def wait(self, seconds: float) -> bool:
        """Return True as soon as somebody rings, False after ``seconds``."""
        poll = select.poll()
        poll.register(self._reader.fileno(), select.POLLIN)
        if not poll.poll(1e3 * seconds):
            return False
        try:
            os.read(self._reader.fileno(), 4096)
        except BlockingIOError:
            return False
        return True
