"""How runs end: Ctrl-C that lets the iteration finish, and processes that do not outlive who started them.

What enters: SIGINT and SIGTERM, the death of a parent. What leaves: a flag that the training loop reads.
"""

from __future__ import annotations

import ctypes
import os
import signal
import threading
from types import FrameType, TracebackType
from typing import Any

INTERRUPTS = (signal.SIGINT, signal.SIGTERM)
_PR_SET_PDEATHSIG = 1


class Interrupts:
    """While entered, the first signal sets ``requested``; a second one interrupts at once.

    Outside the main thread Python cannot handle signals, and this does nothing.
    """

    def __init__(self) -> None:
        self.requested = False
        self._previous: dict[int, Any] = {}

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self.requested:
            raise KeyboardInterrupt
        self.requested = True

    def __enter__(self) -> Interrupts:
        if threading.current_thread() is threading.main_thread():
            for number in INTERRUPTS:
                self._previous[number] = signal.signal(number, self._handle)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._previous.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)


def die_with(parent: int, by: signal.Signals = signal.SIGKILL) -> None:
    """Let this process get a signal when its parent ends; a parent that is killed outright would leave it behind.

    Args:
        parent: process id of who started this process.
        by: the signal. One that can be handled lets work be saved first.
    """
    if os.uname().sysname == "Linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, by)
    if os.getppid() != parent:
        os._exit(1)
