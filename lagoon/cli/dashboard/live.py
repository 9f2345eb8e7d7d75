"""Keeps a training's dashboard on the terminal up to date.

What enters: the training's folder, and how far it is after each iteration. What leaves: a live picture on a terminal,
lines now and then elsewhere. Drawing takes less than a hundredth of the time, whatever the machine: after a picture
that took c seconds of CPU time none follows for 100 c.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.live import Live

from lagoon.cli.dashboard.log import TrainingLog
from lagoon.cli.dashboard.panels import View, dashboard
from lagoon.progress import Progress

SMALLEST = (60, 14)
"""Columns and lines below which a terminal gets the ordinary progress bar."""
CPU_SHARE = 0.01
_PAUSE = 1.0
"""Least time between two pictures [s]."""


class LiveDashboard:
    """A Progress that draws."""

    def __init__(
        self,
        live: Live,
        folder: Path,
        title: str,
        left: Callable[[float], str],
        duration: Callable[[float], str],
    ) -> None:
        """Draw the first picture with the next report.

        Args:
            live: where to draw; entered.
            folder: of the training.
            title: shown in the frame.
            left: fraction -> words for the time left.
            duration: seconds -> words.
        """
        self._live, self._log, self._title = live, TrainingLog(folder), title
        self._left, self._duration = left, duration
        self._since, self._next = time.monotonic(), float("-inf")
        self.cpu_seconds = 0.0
        """Spent on reading and drawing so far."""

    def __call__(self, fraction: float, message: str = "") -> None:
        """Draw if it is time to."""
        now, left = time.monotonic(), self._left(fraction)
        if now < self._next:
            return
        before = time.thread_time()
        self._log.read()
        console = self._live.console
        view = View(
            self._title,
            self._duration(now - self._since),
            left,
            fraction,
            console.width,
            console.height,
            console.options.ascii_only,
        )
        self._live.update(dashboard(self._log, view), refresh=True)
        cost = time.thread_time() - before
        self.cpu_seconds += cost
        self._next = now + max(_PAUSE, cost / CPU_SHARE)


@contextmanager
def live_dashboard(
    console: Console,
    folder: Path,
    title: str,
    left: Callable[[float], str],
    duration: Callable[[float], str],
) -> Iterator[Progress]:
    """Show a training's dashboard while the body runs; arguments as for ``LiveDashboard``."""
    # Nothing runs in a thread of its own: the trainer reports often enough, and no other thread takes its time.
    with Live(console=console, auto_refresh=False, transient=True, vertical_overflow="crop") as live:
        yield LiveDashboard(live, folder, title, left, duration)


def summary_line(log: TrainingLog) -> str:
    """Return the newest numbers as one line, for logs."""
    forms = (
        ("speed/samples_per_second", "{:,.0f} samples/s"),
        ("train/kl", "KL {:.4f}"),
        ("train/clip_fraction", "clipped {:.0%}"),
        ("train/value_loss", "value error {:.4f}"),
        ("train/entropy", "entropy {:.1f}"),
        ("staleness/mean", "{:.2f} updates old"),
        ("queue/fill", "queue {:.0%} full"),
        ("speed/trainer_waits", "trainer waits {:.0%}"),
    )
    values = [(log.recent(key), form) for key, form in forms]
    return ", ".join(form.format(value) for value, form in values if value is not None)
