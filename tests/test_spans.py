"""Spans: what they count, what they leave behind, and what they cost while nobody asks."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from lagoon import spans
from lagoon.spans import Recorder, recording, span


def _totals(folder: Path, thread: str = "MainThread") -> dict[str, dict[str, float]]:
    return json.loads((folder / "w.totals.json").read_text())["threads"][thread]


def test_a_span_counts_what_is_not_inside_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0]
    monkeypatch.setattr(spans.time, "monotonic_ns", lambda: now[0])
    with Recorder(tmp_path, "w"), span("env"):
        now[0] += 1_000_000_000
        with span("physics"):
            now[0] += 3_000_000_000
        with pytest.raises(ValueError), span("physics"):
            now[0] += 1_000_000_000
            raise ValueError
        now[0] += 2_000_000_000
    rows = _totals(tmp_path)
    assert rows["env"] == {"seconds": 3.0, "count": 1} and rows["physics"] == {"seconds": 4.0, "count": 2}


def test_threads_are_told_apart_and_the_trace_is_chromes(tmp_path: Path) -> None:
    def work() -> None:
        with span("copy"):
            pass

    with Recorder(tmp_path, "w"):
        thread = threading.Thread(target=work, name="batcher")
        with span("update"):
            thread.start()
            thread.join()
    assert set(_totals(tmp_path)) == {"update"} and set(_totals(tmp_path, "batcher")) == {"copy"}
    events = json.loads((tmp_path / "w.trace.json").read_text())
    update, copy = (next(e for e in events if e["name"] == name) for name in ("update", "copy"))
    assert update["ph"] == "X" and update["ts"] <= copy["ts"] and copy["dur"] <= update["dur"]
    named = {e["tid"]: e["args"]["name"] for e in events if e["name"] == "thread_name"}
    assert named[update["tid"]] == "MainThread" and named[copy["tid"]] == "batcher"


def test_traces_end_somewhere_and_totals_do_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spans, "TRACED", 5)
    with Recorder(tmp_path, "w"):
        for _ in range(20):
            with span("step"):
                pass
    assert _totals(tmp_path)["step"]["count"] == 20
    assert sum(e["name"] == "step" for e in json.loads((tmp_path / "w.trace.json").read_text())) == 5
    assert json.loads((tmp_path / "w.totals.json").read_text())["traced_all"] is False


KILLED = """
import sys, time
from pathlib import Path
from lagoon import spans
from lagoon.spans import Recorder, span
spans._FLUSH = 10
with Recorder(Path(sys.argv[1]), "w"):
    for _ in range(25):
        with span("step"):
            pass
    print("ready", flush=True)
    time.sleep(60)
"""


def test_a_killed_process_leaves_what_it_had_written(tmp_path: Path) -> None:
    program = subprocess.Popen([sys.executable, "-c", KILLED, str(tmp_path)], stdout=subprocess.PIPE)
    assert program.stdout is not None and program.stdout.readline() == b"ready\n"
    os.kill(program.pid, signal.SIGKILL)
    program.wait()
    assert _totals(tmp_path)["step"]["count"] == 20
    assert json.loads((tmp_path / "w.trace.json").read_text().rstrip().rstrip(",") + "]")[-1]["name"] == "step"


def test_without_a_recorder_a_span_costs_next_to_nothing(tmp_path: Path) -> None:
    with recording(None, "w"):
        before = time.process_time()
        for _ in range(10_000):
            with span("step"):
                pass
        assert (time.process_time() - before) / 10_000 < 20e-6
    assert list(tmp_path.iterdir()) == []
