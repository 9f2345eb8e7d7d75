"""The dashboard of a training, as a picture that fits the terminal.

What enters: the training's log, how far it is, a width. What leaves: something that rich can print. Nothing here keeps
time or reads files, so that a test can draw it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from lagoon.cli.dashboard.log import TrainingLog
from lagoon.cli.dashboard.sparkline import bar, sparkline

WIDE = 120
"""Columns from which panels stand three in a row."""
TALL = 22
"""Lines below which only what matters most is shown."""
_BORDER = 4
_NAME = 15
_VALUE = 9
_LEARNING = (
    ("reward", "train/reward", "{:.3f}"),
    ("KL [nat]", "train/kl", "{:.4f}"),
    ("clip fraction", "train/clip_fraction", "{:.1%}"),
    ("value error", "train/value_loss", "{:.4f}"),
    ("explained var.", "train/explained_variance", "{:.3f}"),
    ("entropy [nat]", "train/entropy", "{:.2f}"),
    ("learning rate", "train/lr", "{:.1e}"),
)
_PARTS = {"env": "environment", "update": "update", "inference": "inference", "hooks": "checks", "other": "other"}
_AGES = 9
_SHOWN_AGES = 5


@dataclass(frozen=True)
class View:
    """What surrounds the numbers, and how much room there is."""

    title: str
    elapsed: str
    left: str
    fraction: float
    """Of the longest run that is possible."""
    width: int
    height: int = 50
    ascii_only: bool = False


def dashboard(log: TrainingLog, view: View) -> RenderableType:
    """Return the picture of a training."""
    parts: list[RenderableType] = [_header(log, view)]
    wide, tall = view.width >= WIDE, view.height >= TALL
    columns = 3 if wide else 2
    inner = view.width // columns - _BORDER
    learning, speed = _learning(log, inner, view), _speed(log, inner, view)
    samples = _samples(log, inner, view)
    if wide:
        parts.append(_row([("learning", learning), ("speed, shares of CPU time", speed), ("samples", samples)]))
        if tall:
            parts.append(_row([("checks", _checks(log, view.width - _BORDER, view, 3))]))
    else:
        parts.append(_row([("learning", learning), ("speed, shares of CPU time", speed)]))
        if tall:
            parts.append(_row([("checks", _checks(log, inner, view, 1)), ("samples", samples)]))
    return Group(*parts)


def _row(panels: Sequence[tuple[str, RenderableType]]) -> Table:
    grid = Table.grid(expand=True)
    for _ in panels:
        grid.add_column(ratio=1)
    lines = max(_height(content) for _, content in panels)
    grid.add_row(*(Panel(content, title=title, title_align="left", height=lines + 2) for title, content in panels))
    return grid


def _height(content: RenderableType) -> int:
    if isinstance(content, Group):
        return sum(_height(part) for part in content.renderables)
    return content.row_count if isinstance(content, Table) else 1


def _header(log: TrainingLog, view: View) -> Panel:
    steps, left = log.value("progress/steps"), log.value("progress/steps_left")
    words = "starting" if steps is None else f"{steps:,.0f} steps"
    if left is not None:
        words += f", {left:,.0f} to go" if left else ", schedules done, going on until steady"
    line = Table.grid(expand=True)
    line.add_column(ratio=1)
    line.add_column(justify="right", no_wrap=True)
    done = Text(f"  {view.fraction:.0%}  {view.elapsed}{f', {view.left} at most' if view.left else ''}")
    line.add_row(ProgressBar(total=1.0, completed=view.fraction), done)
    return Panel(Group(line, Text(words, style="dim", no_wrap=True)), title=Text(view.title), title_align="left")


def _lines() -> Table:
    table = Table.grid(padding=(0, 1), expand=False)
    table.add_column(width=_NAME, no_wrap=True)
    table.add_column(width=_VALUE, no_wrap=True, justify="right")
    table.add_column(no_wrap=True, style="cyan")
    return table


def _curve(log: TrainingLog, key: str, width: int, view: View) -> str:
    return sparkline(log.history(key), max(width - _NAME - _VALUE - 2, 0), view.ascii_only)


def _learning(log: TrainingLog, width: int, view: View) -> Table:
    table = _lines()
    for name, key, form in _LEARNING:
        value = log.value(key)
        table.add_row(Text(name), "-" if value is None else form.format(value), _curve(log, key, width, view))
    return table


def _speed(log: TrainingLog, width: int, view: View) -> Table:
    table = _lines()
    key = "speed/samples_per_second"
    rate, per_cpu = log.recent(key), log.recent("speed/samples_per_cpu_second")
    table.add_row("samples/s", "-" if rate is None else f"{rate:,.0f}", _curve(log, key, width, view))
    table.add_row("per CPU-second", "-" if per_cpu is None else f"{per_cpu:,.0f}", "")
    for part, name in _PARTS.items():
        share = log.recent(f"time/{part}")
        if share is not None:
            drawn = bar(share, max(width - _NAME - _VALUE - 2, 0), view.ascii_only)
            table.add_row(name, f"{share:.0%}", Text(drawn, style="green"))
    waits = log.recent("speed/trainer_waits")
    if waits is not None:
        drawn = bar(waits, max(width - _NAME - _VALUE - 2, 0), view.ascii_only)
        table.add_row("trainer waits", f"{waits:.0%}", Text(drawn, style="yellow"))
    return table


def _samples(log: TrainingLog, width: int, view: View) -> Group:
    """How old the samples are, and how full the queues."""
    table = _lines()
    room = max(width - _NAME - _VALUE - 2, 0)
    ages = [log.recent(f"staleness/age_{age}") or 0.0 for age in range(_AGES)]
    if any(ages):
        rest = sum(ages[_SHOWN_AGES:])
        shown = [(str(age), share) for age, share in enumerate(ages[:_SHOWN_AGES])] + [(f"{_SHOWN_AGES}+", rest)]
        while len(shown) > 1 and shown[-1][1] == 0.0:
            shown.pop()
        for age, share in shown:
            drawn = bar(share, room, view.ascii_only)
            table.add_row(f"{age} updates old", f"{share:.0%}", Text(drawn, style="magenta"))
    fill = log.recent("queue/fill")
    if fill is None:
        if log.rows:
            table.add_row("queue", "none", "")
        return Group(table)
    table.add_row("queue fill", f"{fill:.0%}", Text(bar(fill, room, view.ascii_only), style="magenta"))
    counts = [(name, log.value(f"queue/{name}")) for name in ("rejected", "restarts", "remote")]
    told = ", ".join(f"{value:,.0f} {name}" for name, value in counts if value)
    return Group(table, Text(told, style="dim", no_wrap=True, overflow="ellipsis")) if told else Group(table)


def _checks(log: TrainingLog, width: int, view: View, reasons: int) -> Group:
    table = _lines()
    if not log.checks:
        table.add_row("survival", "-", "none yet")
        return Group(table)
    last = log.checks[-1]
    for name, key, form in (
        ("survival", "survival", "{:.0%}"),
        ("clip reached", "length", "{:.0%}"),
        ("joint error", "joint_error", "{:.3f}"),
    ):
        history = [row.get(key) for row in log.checks]
        value = history[-1]
        drawn = sparkline(history, max(width - _NAME - _VALUE - 2, 0), view.ascii_only)
        table.add_row(name, form.format(value) if isinstance(value, int | float) else "-", drawn)
    told = [str(reason) for reason in list(last.get("reasons") or ())[:reasons]]
    return Group(table, *(Text(reason, style="dim", no_wrap=True, overflow="ellipsis") for reason in told))
