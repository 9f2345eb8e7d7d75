"""The dashboard of a training: what it reads, what it draws, and what that costs."""

import io
import json
import time
from pathlib import Path

import pytest
from rich.console import Console
from rich.live import Live

from lagoon.cli.console import Terminal, duration
from lagoon.cli.dashboard import live
from lagoon.cli.dashboard.live import LiveDashboard, summary_line
from lagoon.cli.dashboard.log import TrainingLog
from lagoon.cli.dashboard.panels import View, dashboard
from lagoon.cli.dashboard.sparkline import bar, sparkline


def test_a_sparkline_goes_from_the_least_to_the_greatest_and_keeps_gaps() -> None:
    assert sparkline([0, 1, 2, 3, 4, 5, 6, 7], 8) == "▁▂▃▄▅▆▇█"
    assert sparkline([0.0, None, 7.0], 8) == "▁ █"
    assert sparkline([0, 0, 14, 14], 2) == "▁█"  # Means of pairs.
    assert sparkline([5.0, 5.0], 8) == "▄▄"
    assert sparkline([], 8) == sparkline([None], 8) == sparkline([1.0], 0) == ""
    assert sparkline([0, 7], 8, ascii_only=True) == "_#"


def test_a_bar_is_drawn_to_an_eighth_and_never_too_long() -> None:
    assert bar(0.5, 4) == "██" and bar(0.53125, 4) == "██▏" and bar(7.0, 4) == "████" and bar(-1.0, 4) == ""
    assert bar(0.5, 4, ascii_only=True) == "##"


def _append(path: Path, *rows: dict) -> None:
    with path.open("a") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)


def test_lines_are_read_once_whole_and_anew_after_a_resume(tmp_path: Path) -> None:
    log, path = TrainingLog(tmp_path), tmp_path / "metrics.jsonl"
    log.read()
    assert log.last == {} and log.value("train/kl") is None
    _append(path, {"iteration": 1, "train/kl": 0.5})
    with path.open("a") as file:
        file.write('{"iteration": 2, "train')
    log.read()
    assert log.history("train/kl") == [0.5]
    with path.open("a") as file:
        file.write('/kl": null}\nnoise\n')
    log.read()
    assert log.history("train/kl") == [0.5, None]
    fresh = tmp_path / "fresh"
    _append(fresh, {"iteration": 1, "train/kl": 0.25})
    fresh.replace(path)
    log.read()
    assert log.history("train/kl") == [0.25] and log.recent("train/kl") == 0.25


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    shares = {"time/env": 0.6, "time/update": 0.4, "staleness/age_0": 0.25, "staleness/age_1": 0.75}
    for i in range(1, 40):
        train = {"reward": i / 40, "kl": 0.02, "clip_fraction": 0.1, "value_loss": 1 / i, "entropy": -i / 10}
        row = {f"train/{name}": value for name, value in train.items()} | shares
        row |= {"iteration": i, "speed/samples_per_second": 4000.0, "queue/fill": 0.5, "queue/rejected": 3}
        _append(tmp_path / "metrics.jsonl", row | {"progress/steps": 100_000 * i, "progress/steps_left": 2_100_000})
    reasons = ["9 falls in the [motion], " + "far " * 60]
    _append(tmp_path / "checks.jsonl", *({"survival": s, "length": 1, "reasons": reasons} for s in (0.5, 0.81)))
    return tmp_path


def _drawn(folder: Path, width: int, height: int = 30, ascii_only: bool = False) -> list[str]:
    log = TrainingLog(folder)
    log.read()
    out = io.StringIO()
    view = View("train [wave]", "2 min 03 s", "8 min left", 0.5, width, height, ascii_only)
    Console(file=out, width=width, color_system=None, safe_box=ascii_only).print(dashboard(log, view))
    return out.getvalue().splitlines()


@pytest.mark.parametrize(("width", "lines"), [(60, 24), (80, 24), (160, 24)])
def test_every_number_is_there_and_nothing_is_cut_or_too_wide(folder: Path, width: int, lines: int) -> None:
    drawn = _drawn(folder, width)
    text = "\n".join(drawn)
    assert len(drawn) <= lines and {len(line) for line in drawn} == {width}
    for shown in (
        "train [wave]",
        "2 min 03 s, 8 min left at most",
        "3,900,000 steps, 2,100,000 to go",
        "samples/s           4,000",
        "environment           60%",
        "KL [nat]           0.0200",
        "clip fraction       10.0%",
        "value error        0.0256",
        "entropy [nat]       -3.90",
        "1 updates old         75%",
        "queue fill            50%",
        "survival              81%",
        "9 falls in the [motion]",
        "3 rejected",
    ):
        assert shown in text, shown


def test_a_low_terminal_gets_less_and_a_bare_folder_too(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    assert len(_drawn(folder, 80, 15)) <= 14
    text = "\n".join(_drawn(tmp_path_factory.mktemp("bare"), 80))
    assert "starting" in text and "none yet" in text


def test_characters_outside_ascii_are_left_out_where_they_cannot_be_shown(folder: Path) -> None:
    body = [line for line in _drawn(folder, 80, ascii_only=True) if "reward" in line or "environment" in line]
    assert not set(sparkline(range(8), 8) + "▍") & set(body[0]) and "=====" in body[0] and "*%#" in body[0]


def test_drawing_stays_below_its_share_of_the_time(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now, cpu = [0.0], [0.0]
    monkeypatch.setattr(live.time, "monotonic", lambda: now[0])

    def thread_time() -> float:
        cpu[0] += 0.02  # Between two looks at the clock: a picture takes 20 ms.
        return cpu[0]

    monkeypatch.setattr(live.time, "thread_time", thread_time)
    console = Console(file=io.StringIO(), force_terminal=True, width=80, height=30)
    with Live(console=console, auto_refresh=False) as screen:
        board = LiveDashboard(screen, folder, "train", lambda fraction: "", duration)
        for step in range(200):
            now[0] = step / 10
            board(step / 200)
    assert 0.8 <= board.cpu_seconds / 20.0 / live.CPU_SHARE <= 1.001


def test_a_real_picture_takes_a_few_milliseconds(folder: Path) -> None:
    log = TrainingLog(folder)
    log.read()
    console = Console(file=io.StringIO(), force_terminal=True, width=160, height=40)
    view = View("train", "1 s", "", 0.5, 160)
    best = min(_seconds(lambda: console.print(dashboard(log, view))) for _ in range(5))
    assert best < 0.1


def _seconds(work) -> float:
    before = time.process_time()
    work()
    return time.process_time() - before


def _shown(folder: Path, width: int, height: int, **options: bool) -> str:
    out = io.StringIO()
    console = Console(file=out, force_terminal=True, width=width, height=height, color_system=None)
    with Terminal(console, **options).stage("train", folder) as progress:
        progress(0.5, "words")
    return out.getvalue()


def test_the_terminal_chooses_what_fits(folder: Path) -> None:
    assert "clip fraction" in _shown(folder, 80, 30)
    for small in (_shown(folder, 50, 30), _shown(folder, 80, 8), _shown(folder, 80, 30, dashboards=False)):
        assert "clip fraction" not in small and "words" in small


def test_a_log_gets_the_numbers_in_a_line(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = TrainingLog(folder)
    log.read()
    assert summary_line(log).startswith("4,000 samples/s, KL 0.0200, clipped 10%, value error")
    assert summary_line(TrainingLog(folder / "nowhere")) == ""
