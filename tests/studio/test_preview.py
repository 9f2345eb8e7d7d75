import dataclasses
import os
import subprocess
import sys

import numpy as np
import pytest

from lagoon.errors import BadInputError, install_line
from lagoon.sim import opengl
from lagoon.studio import preview
from lagoon.studio.config import PreviewConfig
from lagoon.studio.preview import write_preview
from lagoon.studio.show import ShowText

iio = pytest.importorskip("imageio.v3")

SMALL = PreviewConfig(fps=5.0, column_width=160, column_height=160, supersample=1, poster_frames=4)


def has_opengl() -> bool:
    try:
        opengl.find()
    except opengl.NoOpenGLError:
        return False
    return True


needs_opengl = pytest.mark.skipif(not has_opengl(), reason="no OpenGL on this machine")


@needs_opengl
def test_video_page_and_poster(tmp_path, human, reference, go2) -> None:
    seen: list[float] = []
    words = ShowText("raise the right hand", "PASS", "128 of 128 trials survive")
    progress = lambda fraction, message="": seen.append(fraction)  # noqa: E731
    result = write_preview(tmp_path, human, reference, reference, go2, words, progress, SMALL)
    assert result.message == ""
    assert sorted(path.name for path in tmp_path.iterdir()) == ["preview.html", "preview.mp4", "preview.png"]
    frames = iio.imread(result.video)
    assert frames.shape == (16, 224, 480, 3)  # 3 s at 5 Hz; three columns of 160, bars of 40 and 24
    assert iio.immeta(result.video)["fps"] == 5.0
    for left in (0, 160, 320):
        column = frames[:, 40:200, left : left + 160].astype(int)
        # Not one flat colour, and something moves between standing and the lifted leg or hand.
        assert column[0].std() > 10 and column[0].mean() > 60
        assert np.abs(column[8] - column[0]).max() > 60
    assert iio.imread(result.poster).shape == (160, 640, 3)
    assert seen == sorted(seen) and seen[-1] == 1.0


@needs_opengl
def test_half_made_skill_gets_what_it_has(tmp_path, human, go2) -> None:
    result = write_preview(tmp_path, human, None, None, go2, "raise the right hand", config=SMALL)
    assert iio.immeta(result.video)["size"] == (160, 224)


@needs_opengl
def test_a_stretch_of_one_frame_fits_into_the_time_bar(tmp_path, reference, go2) -> None:
    names, starts = ("lying", *reference.segment_names), (0, *(max(1, int(s)) for s in reference.segment_starts))
    brief = dataclasses.replace(reference, segment_names=names, segment_starts=starts)
    assert write_preview(tmp_path, None, brief, None, go2, config=SMALL).video is not None


def test_without_opengl_the_page_alone_is_written(tmp_path, reference, go2, monkeypatch) -> None:
    monkeypatch.setenv("MUJOCO_GL", "disabled")
    opengl.find.cache_clear()
    try:
        result = write_preview(tmp_path, None, reference, None, go2, config=SMALL)
    finally:
        opengl.find.cache_clear()
    assert result.video is None and result.poster is None
    assert "apt-get install libegl1 libgl1-mesa-dri libosmesa6" in result.message
    assert [path.name for path in tmp_path.iterdir()] == ["preview.html"]


def test_without_the_viewer_extra_the_page_alone_is_written(tmp_path, reference, go2, monkeypatch) -> None:
    monkeypatch.setattr(preview, "Renderer", _Blank)
    monkeypatch.setitem(sys.modules, "imageio_ffmpeg", None)
    result = write_preview(tmp_path, None, reference, None, go2, config=SMALL)
    assert result.video is None and install_line("viewer") in result.message
    assert (tmp_path / "preview.html").is_file() and not (tmp_path / "preview.mp4").exists()


class _Blank:
    """Pictures without OpenGL, so that the test reaches the encoder on every machine."""

    def __init__(self, width: int, height: int, supersample: int) -> None:
        self.width, self.height = width, height

    def __enter__(self) -> "_Blank":
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def draw(self, figures: object, camera: object) -> np.ndarray:
        return np.zeros((self.height, self.width, 3), np.uint8)


def test_nothing_to_show_writes_nothing(tmp_path, go2) -> None:
    with pytest.raises(BadInputError, match="nothing to show"):
        write_preview(tmp_path, None, None, None, go2)
    assert list(tmp_path.iterdir()) == []


def test_config_refuses_sizes_that_cannot_be_encoded() -> None:
    with pytest.raises(BadInputError, match="a multiple of 16"):
        PreviewConfig(column_width=300)


def test_importing_the_preview_loads_no_torch() -> None:
    code = (
        "import sys, lagoon.studio.preview, lagoon.studio.play; print('torch' in sys.modules, 'viser' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "torch", "viser"], capture_output=True, text=True, env=os.environ, check=True
    )
    assert done.stdout.split() == ["False", "False"]
