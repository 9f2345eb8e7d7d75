"""How runs end: Ctrl-C that lets the iteration finish, and processes that do not outlive who started them.

What enters: SIGINT and SIGTERM, the death of a parent. What leaves: a flag that the training loop reads.
"""

from __future__ import annotations

import ctypes
import os
import signal
import threading
import time
from types import FrameType, TracebackType
from typing import Any

INTERRUPTS = (signal.SIGINT, signal.SIGTERM)
INSIST_SECONDS = 1.0
"""A second signal after so long insists."""
_PR_SET_PDEATHSIG = 1


class Interrupts:
    """While entered, the first signal sets ``requested``; a second one, a second later, interrupts at once.

    What comes sooner is the same wish: when a parent of many threads is killed, the kernel sends its signal several
    times, and a terminal and who started this process may both pass a Ctrl-C on.

    Outside the main thread Python cannot handle signals, and this does nothing.
    """

    def __init__(self) -> None:
        self.requested = False
        self._at = 0.0
        self._previous: dict[int, Any] = {}

    def _handle(self, number: int, frame: FrameType | None) -> None:
        now = time.monotonic()
        if not self.requested:
            self.requested, self._at = True, now
        elif now - self._at > INSIST_SECONDS:
            raise KeyboardInterrupt

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
