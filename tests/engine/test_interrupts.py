import os
import signal
import threading

import pytest

from lagoon.engine.interrupts import Interrupts


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_first_signal_asks_and_the_second_insists(number, monkeypatch):
    clock = iter([10.0, 10.5, 11.1])
    monkeypatch.setattr("lagoon.engine.interrupts.time.monotonic", lambda: next(clock))
    before = signal.getsignal(number)
    with pytest.raises(KeyboardInterrupt), Interrupts() as interrupts:
        assert not interrupts.requested
        os.kill(os.getpid(), number)
        assert interrupts.requested
        os.kill(os.getpid(), number)  # The same wish: some senders repeat themselves at once.
        os.kill(os.getpid(), number)
    assert signal.getsignal(number) is before


def test_other_threads_are_left_alone():
    found = []

    def work():
        with Interrupts() as interrupts:
            found.append(interrupts.requested)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert found == [False]
