import re
import socket
import sys
import threading
import time
import urllib.request

import pytest

from lagoon.errors import BadInputError, MissingExtraError, install_line
from lagoon.studio.config import PlayConfig
from lagoon.studio.play import check_port, run_loop, serve
from lagoon.studio.play_session import PlaySession


class HoldStart:
    """A policy that always asks for the stand."""

    def __init__(self, targets) -> None:
        self.targets = targets

    def reset(self) -> None:
        pass

    def step(self, *sensors):
        return self.targets


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def test_page_is_served_and_the_port_is_free_again(human, reference, go2) -> None:
    pytest.importorskip("viser")
    port, said, stop = free_port(), [], threading.Event()
    config = PlayConfig(port=port)
    stepper = HoldStart(go2.default_joint_pos)
    thread = threading.Thread(target=serve, args=(human, reference, stepper, go2, config, said.append, stop))
    thread.start()
    try:
        deadline = time.monotonic() + 20
        while not said and time.monotonic() < deadline:
            time.sleep(0.05)
        assert said == [f"Open http://127.0.0.1:{port} in a browser. Ctrl-C ends it."]
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=10) as answer:
            assert answer.status == 200 and b"<html" in answer.read().lower()
        with pytest.raises(BadInputError, match=f"Port {port} .* is in use"):
            serve(human, reference, None, go2, config)
        time.sleep(0.3)  # Let it draw some pictures.
    finally:
        stop.set()
        thread.join(20)
    assert not thread.is_alive()
    check_port("127.0.0.1", port)


def test_port_in_use_says_what_to_type() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(BadInputError) as caught:
            check_port("127.0.0.1", port)
    assert str(caught.value) == (
        f"Port {port} of 127.0.0.1 is in use by another program. Choose another one with play.port={port + 1}"
    )


def test_missing_viewer_extra_says_what_to_install(human, go2, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "viser", None)
    with pytest.raises(MissingExtraError, match=re.escape(install_line("viewer"))):
        serve(human, None, None, go2)


class Recorder:
    """Takes the place of the browser's scene."""

    def __init__(self, stop: threading.Event, count: int) -> None:
        self.commands, self.shown, self.stop, self.count = [], [], stop, count

    def update(self, snapshot) -> None:
        self.shown.append((time.perf_counter(), snapshot))
        if len(self.shown) >= self.count:
            self.stop.set()


def test_loop_keeps_its_rate_and_obeys_commands(human, go2) -> None:
    session, stop = PlaySession(human, None, None, go2), threading.Event()
    scene = Recorder(stop, 16)
    from collections import deque

    scene.commands = deque([lambda s: setattr(s, "speed", 0.5)])
    run_loop(session, scene, 50.0, stop)
    wall = scene.shown[-1][0] - scene.shown[0][0]
    assert session.speed == 0.5 and not scene.commands
    assert wall >= 14 * 0.02  # never faster than asked; a busy machine may be slower
    assert session.time == pytest.approx(wall / 2, abs=0.05)


def test_ctrl_c_ends_cleanly(human, go2, monkeypatch) -> None:
    pytest.importorskip("viser")
    from lagoon.studio import play

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(play, "run_loop", interrupt)
    said: list[str] = []
    port = free_port()
    serve(human, None, None, go2, PlayConfig(port=port), said.append)
    assert said[-1] == "Stopped."
    check_port("127.0.0.1", port)


def test_config_is_checked() -> None:
    with pytest.raises(BadInputError, match="port is 0"):
        PlayConfig(port=0)
