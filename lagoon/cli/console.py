"""What the user sees: lines, progress bars, tables, errors.

What enters: text and fractions. What leaves: a live bar on a terminal, plain lines now and then
elsewhere (a log file or a CI job), so that no control codes end up in files.
"""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, TaskProgressColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as RichProgress
from rich.table import Table
from rich.text import Text

from lagoon.cli.dashboard.live import SMALLEST, live_dashboard, summary_line
from lagoon.cli.dashboard.log import TrainingLog
from lagoon.cli.pipeline import Row
from lagoon.engine.scheduler.jobs import ProgressLine, progress_line
from lagoon.progress import Progress

FILE_WIDTH = 160
"""Columns where the output is no terminal: a path in a table stays whole, so that it can be found and copied."""
_PLAIN_EVERY = 15.0
"""Time between two plain progress lines [s]."""


def plain(text: str) -> Text:
    """Return text without markup meaning and without control characters: a command may hold anything."""
    return Text("".join(c if c.isprintable() or c == "\n" else "�" for c in text))


def shown(command: str, limit: int = 60) -> str:
    """Return a command on one line, cut for display."""
    line = " ".join(command.split())
    return line if len(line) <= limit else line[: limit - 1] + "…"


class Output(Console):
    """A rich console that says so when nobody reads its output any more: rich itself would exit with code 1."""

    def on_broken_pipe(self) -> None:
        """Raise BrokenPipeError; rich calls this while it handles one."""
        raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))


class Terminal:
    """The Screen of the command line."""

    def __init__(self, console: Console | None = None, dashboards: bool = True) -> None:
        """Prepare.

        Args:
            console: for tests; standard output otherwise.
            dashboards: show trainings as a dashboard where the terminal has room for it.
        """
        self._dashboards = dashboards
        self.console = console or Output(highlight=False)
        if console is None and not self.console.is_terminal and "COLUMNS" not in os.environ:
            self.console.width = FILE_WIDTH

    def say(self, text: str) -> None:
        """Print text; long lines are folded by the terminal, not by us, so that paths can be copied."""
        self.console.print(plain(text), soft_wrap=True)

    @contextmanager
    def stage(self, title: str, training: Path | None = None) -> Iterator[Progress]:
        """Show progress of a stage while the body runs.

        Args:
            title: its name.
            training: the folder of a training, whose numbers are then shown too.
        """
        if (line := progress_line()) is not None:
            numbers = None if training is None else TrainingLog(training)
            yield _both(title, PlainProgress(self.console, title, numbers), line)
            return
        if not self.console.is_terminal:
            numbers = None if training is None else TrainingLog(training)
            yield PlainProgress(self.console, title, numbers)
            return
        room = self.console.width >= SMALLEST[0] and self.console.height >= SMALLEST[1]
        if training is not None and self._dashboards and room and not self.console.is_dumb_terminal:
            name = f"{title} {training.parent.name}"
            with live_dashboard(self.console, training, name, Remaining().text, duration) as report:
                yield report
            return
        columns = (
            TextColumn("{task.description}"),
            BarColumn(bar_width=24),
            TaskProgressColumn(),
            TimeElapsedColumn(),
            TextColumn("{task.fields[left]}"),
            TextColumn("{task.fields[message]}", style="dim"),
        )
        with RichProgress(*columns, console=self.console, transient=True) as bar:
            task = bar.add_task(title, total=1.0, message="", left="")
            clock = Remaining()

            def show(fraction: float, message: str = "") -> None:
                bar.update(task, completed=fraction, message=plain(message), left=clock.text(fraction))

            yield show

    def summary(self, rows: Sequence[Row]) -> None:
        """Print one line per stage."""
        table = Table(title=None, header_style="bold")
        table.add_column("stage")
        table.add_column("time", justify="right")
        table.add_column("result", overflow="fold")
        table.add_column("file", overflow="fold")
        for row in rows:
            style = "red" if row.failed else ""
            time_text = "kept" if row.kept else duration(row.seconds)
            table.add_row(row.stage, time_text, plain(row.result), plain(row.file), style=style)
        worked = sum(row.seconds for row in rows if not row.kept)
        if len(rows) > 1 and worked > 0.0:
            table.add_section()
            table.add_row("together", duration(worked), "", "")
        self.console.print(table)


def _both(stage: str, log: Progress, line: ProgressLine) -> Progress:
    """Progress of a job: for its log, and for who shows it among others."""

    def report(fraction: float, message: str = "") -> None:
        log(fraction, message)
        line.tell(stage, fraction, message)

    return report


class Remaining:
    """Estimates the time left from the fractions reported since the first one above zero.

    A resumed training starts at its old fraction, so speed counts from the first report, not from zero.
    """

    def __init__(self) -> None:
        self._first: tuple[float, float] | None = None

    def text(self, fraction: float) -> str:
        """Return for example ``2 min 10 s left``; empty as long as there is nothing to go by."""
        now = time.monotonic()
        if self._first is None:
            if fraction > 0.0:
                self._first = (now, fraction)
            return ""
        seconds, done = now - self._first[0], fraction - self._first[1]
        if seconds < 2.0 or done <= 0.0:
            return ""
        return f"{duration((1.0 - fraction) * seconds / done)} left"


class PlainProgress:
    """Progress for logs: a whole line, at most one every 15 s."""

    def __init__(self, console: Console, title: str, log: TrainingLog | None = None) -> None:
        self._console, self._title, self._last, self._clock = console, title, time.monotonic(), Remaining()
        self._log = log

    def __call__(self, fraction: float, message: str = "") -> None:
        """Print if it is time to."""
        left = self._clock.text(fraction)
        now = time.monotonic()
        if now - self._last < _PLAIN_EVERY:
            return
        self._last = now
        parts = [f"{self._title}: {100 * fraction:.0f} %", left, message]
        if self._log is not None:
            self._log.read()
            parts.append(summary_line(self._log))
        self._console.print(plain(", ".join(part for part in parts if part)), soft_wrap=True)


def duration(seconds: float) -> str:
    """Return a time span in words: ``0.4 s``, ``12 s``, ``3 min 05 s``, ``2 h 10 min``."""
    if seconds < 10:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"
