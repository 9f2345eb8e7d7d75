import json
import os
import time
from pathlib import Path

import pytest

from lagoon.engine.metrics import Averages, MetricsWriter, Stopwatch
from lagoon.errors import LagoonError


def burn(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass


def test_the_stopwatch_counts_cpu_time_by_purpose_and_sleep_is_free():
    watch = Stopwatch()
    with watch("env"):
        burn(0.1)
        time.sleep(0.05)
    with watch("update"):
        burn(0.01)
    burn(0.05)
    seconds = watch.take()
    assert seconds["env"] == pytest.approx(0.1, abs=0.02)
    assert seconds["update"] == pytest.approx(0.01, abs=0.02)
    assert seconds["other"] == pytest.approx(0.05, abs=0.02)
    assert watch.take().keys() == {"other"}


def test_averages_of_values_that_come_and_go():
    averages = Averages()
    averages.add({"a": 1.0, "b": 5.0})
    averages.add({"a": 3.0})
    assert averages.take() == {"a": 2.0, "b": 5.0}
    assert averages.take() == {}


def lines(folder):
    return [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]


def test_one_line_per_iteration(tmp_path):
    with MetricsWriter(tmp_path, tensorboard=False) as writer:
        writer.write(1, {"train/kl": 0.0123456789})
        writer.write(2, {"train/kl": 2.0})
    assert lines(tmp_path) == [{"iteration": 1, "train/kl": 0.0123457}, {"iteration": 2, "train/kl": 2.0}]


def test_lines_are_json_even_when_numbers_are_not_finite(tmp_path):
    with MetricsWriter(tmp_path, tensorboard=False) as writer:
        writer.write(1, {"a": float("nan"), "b": float("-inf"), "c": 1.0})
    assert lines(tmp_path) == [{"iteration": 1, "a": None, "b": None, "c": 1.0}]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="Linux has a disk that is always full.")
def test_a_full_disk_is_told_with_what_to_do(tmp_path):
    writer = MetricsWriter(tmp_path, tensorboard=False)
    writer._file.close()
    writer._file = Path("/dev/full").open("a", buffering=1)  # noqa: SIM115
    with pytest.raises(LagoonError, match=r"metrics in .*: No space left on device\. Checkpoints saved"):
        writer.write(1, {"a": 1.0})
    with pytest.raises(LagoonError, match="No space left on device"):
        writer.close()  # The line is still waiting in Python's buffer.


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="Linux has a disk that is always full.")
def test_closing_on_a_full_disk_does_not_hide_the_first_error(tmp_path):
    with pytest.raises(ZeroDivisionError), MetricsWriter(tmp_path, tensorboard=False) as writer:
        writer._file = Path("/dev/full").open("a", buffering=100)  # noqa: SIM115
        writer._file.write("waiting")
        raise ZeroDivisionError


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_full_disk_under_tensorboard_is_told(tmp_path, small_disk):
    pytest.importorskip("tensorboard")
    with small_disk(400), pytest.raises(LagoonError, match="File too large"), MetricsWriter(tmp_path) as writer:
        writer._file = Path(os.devnull).open("a")  # noqa: SIM115
        for iteration in range(500):
            writer.write(iteration, {"train/kl": 0.5})


def test_a_folder_that_cannot_be_made_is_told(tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(LagoonError, match="Could not write the metrics in"):
        MetricsWriter(tmp_path / "file", tensorboard=False)


def test_lines_of_lost_work_and_broken_lines_go_on_resume(tmp_path):
    with MetricsWriter(tmp_path, tensorboard=False) as writer:
        for iteration in (1, 2, 3):
            writer.write(iteration, {"x": 1.0})
    with (tmp_path / "metrics.jsonl").open("a") as file:
        file.write('{"iteration": 4, "x"')
    with MetricsWriter(tmp_path, iteration=2, tensorboard=False) as writer:
        writer.write(3, {"x": 9.0})
    assert [(line["iteration"], line["x"]) for line in lines(tmp_path)] == [(1, 1.0), (2, 1.0), (3, 9.0)]


def test_tensorboard_gets_the_same_numbers(tmp_path):
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    with MetricsWriter(tmp_path) as writer:
        writer.write(1, {"train/kl": 0.5})
        writer.write(2, {"train/kl": 0.25})
    events = EventAccumulator(str(tmp_path / "tensorboard"))
    events.Reload()
    assert [(e.step, e.value) for e in events.Scalars("train/kl")] == [(1, 0.5), (2, 0.25)]
