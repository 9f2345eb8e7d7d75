import sys

import pytest

from lagoon.sim import opengl


@pytest.fixture(autouse=True)
def fresh():
    opengl.find.cache_clear()
    yield
    opengl.find.cache_clear()


def test_order_of_attempts(monkeypatch) -> None:
    monkeypatch.delenv("MUJOCO_GL", raising=False)
    if sys.platform == "linux":
        assert opengl.candidates() == ("egl", "osmesa")
    monkeypatch.setenv("MUJOCO_GL", "OSMesa")
    assert opengl.candidates() == ("osmesa",)
    monkeypatch.setenv("MUJOCO_GL", "off")
    assert opengl.candidates() == ()


def test_second_way_is_taken_when_the_first_fails(monkeypatch) -> None:
    monkeypatch.setattr(opengl, "candidates", lambda: ("egl", "osmesa"))
    monkeypatch.setattr(opengl, "_try", lambda name: "no device" if name == "egl" else "")
    assert opengl.find() == "osmesa"


def test_error_tells_every_reason_and_the_cure(monkeypatch) -> None:
    monkeypatch.setattr(opengl, "candidates", lambda: ("egl", "osmesa"))
    monkeypatch.setattr(opengl, "_try", lambda name: f"{name} broke")
    with pytest.raises(opengl.NoOpenGLError) as caught:
        opengl.find()
    assert str(caught.value) == (
        "This machine has no OpenGL that draws offscreen (egl: egl broke; osmesa: osmesa broke). Videos and pictures "
        "need it; the page preview.html does not. On Debian or Ubuntu install it with: "
        "apt-get install libegl1 libgl1-mesa-dri libosmesa6"
    )


def test_a_driver_that_ends_its_process_is_a_reason_not_an_end(monkeypatch) -> None:
    monkeypatch.setattr(opengl, "_PROBE", "import os; os.abort()")
    assert "ended with code" in opengl._try("egl")
    monkeypatch.setattr(opengl, "_PROBE", "raise ImportError('libEGL.so.1 is missing')")
    assert opengl._try("egl") == "ImportError: libEGL.so.1 is missing"
