"""What a terminal can do to a running robot: block, close, end the program."""

import os
import signal
import threading
import time

import pytest

from lagoon.cli import deploy_terminal
from lagoon.cli.deploy_terminal import Teller, ended_by


def test_lines_are_printed_in_order_and_all_of_them():
    printed = []
    with Teller(printed.append) as say:
        for k in range(100):
            say(str(k))
    assert printed == [str(k) for k in range(100)]


def test_a_terminal_that_takes_no_text_keeps_nobody_waiting(monkeypatch):
    monkeypatch.setattr(deploy_terminal, "PATIENCE", 0.05)
    stopped, printed = threading.Event(), []

    def say(text):
        stopped.wait(20.0)
        printed.append(text)

    begin = time.monotonic()
    with Teller(say) as tell:
        for k in range(1000):
            tell(str(k))
    assert time.monotonic() - begin < 5.0 and printed == []
    stopped.set()


@pytest.mark.parametrize("error", [BrokenPipeError(), OSError(5, "Input/output error"), ValueError("closed file")])
def test_a_terminal_that_has_gone_raises_nothing(error):
    def say(text):
        raise error

    with Teller(say) as tell:
        tell("one")
        tell("two")


@pytest.mark.parametrize("name", ["SIGHUP", "SIGTERM", "SIGINT"])
def test_a_signal_is_ctrl_c_once_and_the_next_one_changes_nothing(name):
    number = getattr(signal, name)
    before = signal.getsignal(number)
    after = []
    with ended_by(name):
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), number)
        os.kill(os.getpid(), number)
        after.append("still here")
    assert after and signal.getsignal(number) is before


def test_what_nohup_ignores_stays_ignored():
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with ended_by("SIGHUP", "SIGNONE"):
            os.kill(os.getpid(), signal.SIGHUP)
    finally:
        signal.signal(signal.SIGHUP, before)


def test_another_thread_gets_nothing_and_no_error():
    done = []

    def body():
        with ended_by("SIGHUP"):
            done.append(True)

    thread = threading.Thread(target=body)
    thread.start()
    thread.join()
    assert done
