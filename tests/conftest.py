"""For every test that asks for them: a disk that is full, and synthetic people. For all: no network but loopback."""

import ipaddress
import resource
import signal
import socket
import sys
from contextlib import contextmanager

import numpy as np
import pytest

from .people import squatting, standing_pose, walking, waving


def only_loopback(event, arguments):
    """Refuse what Python sends to another computer; libraries in C have tests of their own in tests/deploy."""
    if event not in ("socket.connect", "socket.sendto") or not isinstance(arguments[1], tuple):
        return
    host = arguments[1][0]
    if not isinstance(host, str) or host in ("", "localhost", socket.gethostname()):
        return  # A number is no host of the internet; the others are this computer.
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
        local = address.is_loopback or address.is_unspecified
    except ValueError:
        local = False
    if not local:
        raise RuntimeError(f"A test wanted to send something to {host}; tests talk to this computer only.")


sys.addaudithook(only_loopback)

# What nohup or a shell's & has set to be ignored would be ignored by every process that a test starts and stops.
for number, handler in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
    if signal.getsignal(number) is signal.SIG_IGN:
        signal.signal(number, handler)


@pytest.fixture
def small_disk():
    """Give a context manager within which no file grows beyond so many bytes; pytest's own log is one as well.

    The operating system itself refuses, whichever library writes; Python turns that into OSError, others may not.
    """

    @contextmanager
    def limited(size):
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
            signal.signal(signal.SIGXFSZ, handler)

    return limited


@pytest.fixture
def stand() -> np.ndarray:
    return standing_pose()


@pytest.fixture
def people() -> dict:
    """The makers of synthetic motions, by name."""
    return {"waving": waving, "walking": walking, "squatting": squatting}
