import re
import sys
from pathlib import Path

import numpy as np
import pytest

from lagoon.errors import BadInputError, LagoonError, MissingExtraError, install_line
from lagoon.sim.video import write_video


def ramp(count: int = 7, height: int = 32, width: int = 48):
    for i in range(count):
        yield np.full((height, width, 3), 30 * i, np.uint8)


def test_video_has_the_pictures_in_order(tmp_path) -> None:
    iio = pytest.importorskip("imageio.v3")
    path = tmp_path / "ramp.mp4"
    assert write_video(path, ramp(), fps=10.0) == 7
    frames = iio.imread(path)
    assert frames.shape == (7, 32, 48, 3)
    np.testing.assert_allclose(frames.mean(axis=(1, 2, 3)), 30 * np.arange(7), atol=6)
    assert iio.immeta(path)["fps"] == 10.0
    assert [p.name for p in tmp_path.iterdir()] == ["ramp.mp4"]


def test_bad_pictures_write_nothing(tmp_path) -> None:
    with pytest.raises(BadInputError, match="50x32; a video needs sides that are multiples of 16"):
        write_video(tmp_path / "a.mp4", ramp(width=50), 10.0)
    with pytest.raises(BadInputError, match="no pictures"):
        write_video(tmp_path / "a.mp4", [], 10.0)
    assert list(tmp_path.iterdir()) == []


def test_a_failure_midway_keeps_the_old_file(tmp_path) -> None:
    path = tmp_path / "a.mp4"
    path.write_bytes(b"old")

    def broken():
        yield from ramp(3)
        raise RuntimeError("no more")

    with pytest.raises(RuntimeError, match="no more"):
        write_video(path, broken(), 10.0)
    assert path.read_bytes() == b"old"
    assert [p.name for p in tmp_path.iterdir()] == ["a.mp4"]


def test_a_video_cut_short_is_refused(tmp_path, monkeypatch) -> None:
    ffmpeg = pytest.importorskip("imageio_ffmpeg")
    write = ffmpeg.write_frames

    def cut(path, *args, **kwargs):
        inner = write(path, *args, **kwargs)
        inner.send(None)
        try:
            while True:
                inner.send((yield))
        finally:
            inner.close()
            whole = Path(path).read_bytes()
            Path(path).write_bytes(whole[: len(whole) // 3])

    monkeypatch.setattr(ffmpeg, "write_frames", cut)
    with pytest.raises(LagoonError, match=r"of 7 pictures\. Is the disk full"):
        write_video(tmp_path / "a.mp4", ramp(), 10.0)
    assert list(tmp_path.iterdir()) == []


def test_missing_encoder_says_what_to_install(tmp_path, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "imageio_ffmpeg", None)
    with pytest.raises(MissingExtraError, match=re.escape(install_line("viewer"))):
        write_video(tmp_path / "a.mp4", ramp(), 10.0)
