import signal
import subprocess
import sys
from pathlib import Path

import pytest

from lagoon.cli.lock import locked
from lagoon.errors import BadInputError, LagoonError

HOLD = """
import sys, time, pathlib
from lagoon.cli.lock import locked
with locked(pathlib.Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(60)
"""


def _holder(folder: Path) -> subprocess.Popen:
    process = subprocess.Popen([sys.executable, "-c", HOLD, str(folder)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None and process.stdout.readline() == "held\n"
    return process


def test_another_process_is_named_and_a_dead_one_does_not_block(tmp_path: Path) -> None:
    folder = tmp_path / "skill"
    process = _holder(folder)
    with pytest.raises(BadInputError) as caught, locked(folder):
        pass
    assert str(caught.value) == (
        f"Another lagoon (process {process.pid}) is working in {folder}. Wait until it ends or stop it "
        f"(kill -INT {process.pid}), then run the same command again."
    )
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert (folder / ".lock").exists()
    with locked(folder):
        (folder / "file").touch()
    assert [path.name for path in folder.iterdir()] == ["file"]


def test_a_folder_that_stays_empty_is_removed(tmp_path: Path) -> None:
    with locked(tmp_path / "skill"):
        assert (tmp_path / "skill").is_dir()
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with (
        pytest.raises(LagoonError, match=r"Could not write in .*Choose a folder you may write in"),
        locked(tmp_path / "file" / "x"),
    ):
        pass
