import io

import pytest
from rich.console import Console
from rich.table import Table

from lagoon.cli import console
from lagoon.cli.console import Remaining, Terminal, duration, plain, shown
from lagoon.cli.pipeline import Row


def _terminal(is_terminal: bool = False) -> tuple[Terminal, io.StringIO]:
    out = io.StringIO()
    return Terminal(Console(file=out, force_terminal=is_terminal, width=80, highlight=False, color_system=None)), out


def test_text_is_printed_as_it_is_but_without_control_characters() -> None:
    terminal, out = _terminal()
    terminal.say("a [bold]b[/bold] \x1b[31mc\a 挥手")
    assert out.getvalue() == "a [bold]b[/bold] �[31mc� 挥手\n"


def test_long_lines_are_not_folded_so_that_paths_can_be_copied() -> None:
    terminal, out = _terminal()
    terminal.say("x" * 300)
    assert out.getvalue() == "x" * 300 + "\n"


def test_logs_get_whole_lines_now_and_then_and_no_control_codes(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(console.time, "monotonic", lambda: now[0])
    terminal, out = _terminal()
    with terminal.stage("train") as progress:
        for second in range(0, 61):
            now[0] = float(second)
            progress(second / 100, "reward 0.5")
    assert out.getvalue().splitlines() == [
        "train: 15 %, 1 min 25 s left, reward 0.5",
        "train: 30 %, 1 min 10 s left, reward 0.5",
        "train: 45 %, 55 s left, reward 0.5",
        "train: 60 %, 40 s left, reward 0.5",
    ]


def test_a_terminal_gets_a_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal, out = _terminal(is_terminal=True)
    with terminal.stage("train") as progress:
        progress(0.25, "reward [0.5]")
    assert "train" in out.getvalue() and "25%" in out.getvalue() and "reward [0.5]" in out.getvalue()


def test_the_time_left_counts_from_where_a_resumed_run_began(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(console.time, "monotonic", lambda: now[0])
    clock = Remaining()
    assert clock.text(0.5) == ""
    now[0] = 10.0
    assert clock.text(0.75) == "10 s left"


def test_the_summary_holds_every_stage() -> None:
    terminal, out = _terminal()
    terminal.summary(
        [Row("generate", 1.2, True, "3.0 s of motion", "human.npz"), Row("evaluate", 75.0, False, "FAIL [x]", "e.json")]
    )
    lines = [" ".join(line.replace("│", "").split()) for line in out.getvalue().splitlines()]
    assert "generate kept 3.0 s of motion human.npz" in lines
    assert "evaluate 1 min 15 s FAIL [x] e.json" in lines
    assert "together 1 min 15 s" in lines


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.04, "0.0 s"), (9.94, "9.9 s"), (12.4, "12 s"), (65, "1 min 05 s"), (7800, "2 h 10 min")]
)
def test_durations_read_well(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_a_command_is_shown_on_one_short_line() -> None:
    assert shown("wave\n hello") == "wave hello"
    assert shown("x" * 100) == "x" * 59 + "…"
    assert plain("a\nb").plain == "a\nb"


def test_a_path_in_a_table_stays_whole_where_the_output_is_a_file(monkeypatch, capsys):
    monkeypatch.delenv("COLUMNS", raising=False)
    path, table = "skills/wave-hello-b84e317c", Table()
    table.add_row("wave hello", "PASS: 124 of 128 trials survive " * 2, path)
    Terminal().console.print(table)
    assert path in capsys.readouterr().out
