"""The terminal of a running robot: it may block, close or end the program, and no command may come late for it.

What enters: lines to print, signals. What leaves: the lines, in a thread of their own; KeyboardInterrupt for every
signal that asks the program to end, so that the loop's last words are sent.
"""

from __future__ import annotations

import queue
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType

PATIENCE = 2.0
"""How long a terminal that takes no text is waited for at the end [s]."""


class Teller:
    """Prints lines in order without ever making its caller wait: Ctrl-S, or a slow network, stops a terminal.

    Its thread begins with the first line, and so has the priority of whoever says that: in a loop with a real-time
    priority a slower thread would keep the interpreter to itself while others run.
    """

    def __init__(self, say: Callable[[str], object]) -> None:
        """Args: say: prints one line; may block, may raise."""
        self._say = say
        self._lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None

    def __call__(self, text: str) -> None:
        """Print a line soon."""
        self._lines.put(text)
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="teller", daemon=True)
            self._thread.start()

    def __enter__(self) -> Teller:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Wait until everything is printed, but not for ever."""
        self._lines.put(None)
        if self._thread is not None:
            self._thread.join(PATIENCE)

    def _run(self) -> None:
        for text in iter(self._lines.get, None):
            try:
                self._say(text)
            except (OSError, ValueError):  # The terminal has gone; deploy_run.json holds every event.
                return


@contextmanager
def ended_by(*names: str) -> Iterator[None]:
    """Take signals for Ctrl-C, once; a later one changes nothing while the body goes on.

    What is ignored already, as by nohup, stays ignored. Only the main thread can have this; others get nothing.

    Args:
        names: for example SIGHUP, of a terminal that closes; one that the system does not know is left out.
    """
    told = False

    def end(number: int, frame: FrameType | None) -> None:
        nonlocal told
        if not told:
            told = True
            raise KeyboardInterrupt

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    numbers = [getattr(signal, name) for name in names if hasattr(signal, name)]
    before = {number: signal.getsignal(number) for number in numbers}
    try:
        for number, handler in before.items():
            if handler is not signal.SIG_IGN:
                signal.signal(number, end)
        yield
    finally:
        for number, handler in before.items():
            if handler is not None:
                signal.signal(number, handler)
