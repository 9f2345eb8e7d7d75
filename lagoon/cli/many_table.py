"""The table of several skills that run side by side.

What enters: rows of a queue, again and again. What leaves: a table that stays in place on a terminal; elsewhere a line
per skill when something has changed, at most four a minute.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence
from types import TracebackType

from rich.console import Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from lagoon.cli.console import Remaining, Terminal, duration, plain
from lagoon.engine.scheduler.queue import JobRow

_STYLES = {"waiting": "dim", "running": "", "done": "green", "failed": "red", "stopped": "yellow"}
_PLAIN_EVERY = 15.0
"""Time between two lines of one skill where the output is no terminal [s]."""
_FRAME_LINES = 7


class ManyTable:
    """Shows a queue while it runs."""

    def __init__(self, screen: Terminal, labels: Mapping[str, str]) -> None:
        """Args: screen: where to; labels: what the skill of each job is called."""
        self._screen, self._labels = screen, labels
        self._clocks: dict[tuple[str, str, int], Remaining] = {}
        self._told: dict[str, tuple[float, str]] = {}
        console = screen.console
        self._live = Live(console=console, auto_refresh=False, transient=True) if console.is_terminal else None

    def __enter__(self) -> ManyTable:
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live is not None:
            self._live.stop()

    def say(self, text: str) -> None:
        """Print a line above the table."""
        self._screen.say(text)

    def show(self, rows: Collection[JobRow], stopping: bool) -> None:
        """Show where each job is; cheap enough to be called several times a second."""
        if self._live is not None:
            self._live.update(self._frame(rows, stopping), refresh=True)
            return
        for row in rows:
            self._line(row)

    def _frame(self, rows: Collection[JobRow], stopping: bool) -> Group:
        table = Table(header_style="bold", expand=True)
        for name, width in (("skill", 26), ("state", 9), ("", 12), ("", 4), ("time left", 13)):
            table.add_column(name, no_wrap=True, max_width=width)
        table.add_column("", no_wrap=True, ratio=1, overflow="ellipsis", style="dim")
        room = max(self._screen.console.size.height - _FRAME_LINES, 3)
        seen = list(rows)
        if len(seen) > room:  # What moves is worth more than what does not.
            order = ("running", "failed", "stopped", "waiting", "done")
            best = sorted(seen, key=lambda row: order.index(row.state))[:room]
            seen = [row for row in seen if row in best]
        for row in seen:
            left = self._left(row) if row.state == "running" else duration(row.seconds) if row.seconds else ""
            bar = ProgressBar(1.0, row.fraction, width=12)
            state = row.stage if row.state == "running" and row.stage else row.state
            percent = f"{row.fraction:.0%}" if row.state != "waiting" else ""
            label = plain(self._labels[row.job.name])
            table.add_row(label, Text(state, _STYLES[row.state]), bar, percent, left, plain(row.message))
        counts = {state: sum(row.state == state for row in rows) for state in _STYLES}
        words = ", ".join(f"{count} {state}" for state, count in counts.items() if count)
        end = "saving what runs; Ctrl-C again ends at once" if stopping else "Ctrl-C saves all"
        return Group(table, Text(f"{words}. {end}", "dim"))

    def _left(self, row: JobRow) -> str:
        clock = self._clocks.setdefault((row.job.name, row.stage, row.restarts), Remaining())
        return clock.text(row.fraction).removesuffix(" left")

    def _line(self, row: JobRow) -> None:
        """Print a line when the state has changed, or when it is time to."""
        at, state = self._told.get(row.job.name, (0.0, "waiting"))
        now, left = time.monotonic(), self._left(row)
        if row.state == state and (row.state != "running" or now - at < _PLAIN_EVERY):
            return
        self._told[row.job.name] = now, row.state
        parts = [self._labels[row.job.name] + ":"]
        if row.state == "running" and row.stage:
            parts.append(
                ", ".join(x for x in (f"{row.stage} {row.fraction:.0%}", left and f"{left} left", row.message) if x)
            )
        else:
            parts.append({"running": "started", "waiting": "waits to be started anew"}.get(row.state, row.state))
            if row.state not in ("running", "waiting"):
                parts.append(f"after {duration(row.seconds)}")
        self._screen.say(" ".join(parts))

    def summary(self, rows: Sequence[JobRow], results: Mapping[str, str]) -> None:
        """Print one line per skill.

        Args:
            rows: as the queue left them.
            results: by the name of the job, how it ended in words.
        """
        table = Table(header_style="bold")
        for name in ("skill", "state", "time", "result"):
            table.add_column(name, overflow="fold", justify="right" if name == "time" else "left")
        for row in rows:
            name = row.job.name
            again = f", started {row.restarts + 1} times" if row.restarts else ""
            table.add_row(
                plain(self._labels[name]),
                Text(row.state + again, _STYLES[row.state]),
                duration(row.seconds) if row.seconds else "",
                plain(results[name]),
            )
        self._screen.console.print(table)
