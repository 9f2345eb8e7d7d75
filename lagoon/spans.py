"""What a process is doing, for a profile: named stretches of wall time, which cost next to nothing while nobody asks.

What enters: ``with span("physics"):`` around work, anywhere. What leaves, only while a ``Recorder`` is entered: totals
per part, and a trace in Chrome's format, which https://ui.perfetto.dev and chrome://tracing open.
"""

from __future__ import annotations

import json
import os
import threading
import time
from collections import defaultdict
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from types import TracebackType

from lagoon.paths import write_text

TRACED = 100_000
"""Spans that go into a trace file; totals count all of them."""
_FLUSH = 2000
_SAVE_SECONDS = 5.0
_NOTHING: AbstractContextManager[None] = nullcontext()
_recorder: Recorder | None = None


def span(name: str) -> AbstractContextManager[None]:
    """Count the body's wall time under a name; spans may be nested, and each counts what is not inside another."""
    return _NOTHING if _recorder is None else _Span(_recorder, name)


class _Span(AbstractContextManager[None]):
    __slots__ = ("_inner", "_name", "_recorder", "_start")

    def __init__(self, recorder: Recorder, name: str) -> None:
        self._recorder, self._name = recorder, name

    def __enter__(self) -> None:
        self._recorder.open()
        self._start = time.monotonic_ns()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._recorder.close(self._name, self._start, time.monotonic_ns())


class _Thread(threading.local):
    def __init__(self) -> None:
        self.inside: list[int] = []
        """For each open span: nanoseconds of the spans inside it."""


class Recorder:
    """Records the spans of this process while entered.

    It writes ``NAME.trace.json`` as it goes, readable even if the process is killed, and ``NAME.totals.json`` every few
    seconds and at the end.
    """

    def __init__(self, folder: Path, name: str) -> None:
        """Prepare.

        Args:
            folder: made if it is missing.
            name: of this process, for the files and the trace.
        """
        self._trace, self._totals = folder / f"{name}.trace.json", folder / f"{name}.totals.json"
        self._name = name
        self._lock, self._thread = threading.Lock(), _Thread()
        self._nanoseconds: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
        self._counts: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
        self._events: list[tuple[str, int, int, int]] = []
        self._traced, self._threads = 0, dict[int, str]()

    def open(self) -> None:
        """Begin a span in this thread."""
        self._thread.inside.append(0)

    def close(self, name: str, start: int, end: int) -> None:
        """End the innermost span of this thread; times in nanoseconds of the monotonic clock."""
        inside = self._thread.inside.pop()
        if self._thread.inside:
            self._thread.inside[-1] += end - start
        number, thread = threading.get_ident(), threading.current_thread().name
        with self._lock:
            self._nanoseconds[thread][name] += end - start - inside
            self._counts[thread][name] += 1
            self._threads[number] = thread
            if self._traced < TRACED:
                self._traced += 1
                self._events.append((name, start, end, number))
        if len(self._events) >= _FLUSH or time.monotonic() - self._saved > _SAVE_SECONDS:
            self.save()

    def save(self) -> None:
        """Write what is known so far."""
        with self._lock:
            self._saved = time.monotonic()
            events, self._events = self._events, []
            totals = {
                "name": self._name,
                "wall": time.monotonic() - self._since,
                "cpu": time.process_time() - self._cpu,
                "traced_all": self._traced < TRACED,
                "threads": {
                    thread: {
                        part: {"seconds": ns / 1e9, "count": self._counts[thread][part]} for part, ns in rows.items()
                    }
                    for thread, rows in self._nanoseconds.items()
                },
            }
        lines = [
            json.dumps({"name": name, "ph": "X", "ts": a / 1e3, "dur": (b - a) / 1e3, "pid": os.getpid(), "tid": tid})
            for name, a, b, tid in events
        ]
        if lines:
            with self._trace.open("a", encoding="utf-8") as file:
                file.write("".join(f"{line},\n" for line in lines))
        write_text(self._totals, json.dumps(totals))

    def __enter__(self) -> Recorder:
        global _recorder
        self._trace.parent.mkdir(parents=True, exist_ok=True)
        self._since = self._saved = time.monotonic()
        self._cpu = time.process_time()
        # The format allows an array that is never closed, so that a killed process leaves a trace that can be read.
        label = {"name": "process_name", "ph": "M", "pid": os.getpid(), "args": {"name": self._name}}
        self._trace.write_text(f"[\n{json.dumps(label)},\n", encoding="utf-8")
        _recorder = self
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        global _recorder
        _recorder = None
        self.save()
        with self._trace.open("a", encoding="utf-8") as file:
            names = [
                {"name": "thread_name", "ph": "M", "pid": os.getpid(), "tid": number, "args": {"name": thread}}
                for number, thread in self._threads.items()
            ]
            file.write(
                ",\n".join(json.dumps(name) for name in [*names, {"name": "end", "ph": "M", "args": {}}]) + "\n]\n"
            )


def recording(folder: Path | None, name: str) -> AbstractContextManager[object]:
    """Return a recorder for this process, or nothing where ``folder`` is None."""
    return nullcontext() if folder is None else Recorder(folder, name)
