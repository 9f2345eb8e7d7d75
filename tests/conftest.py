"""A disk that is full, for every test that asks for one."""

import resource
import signal

import pytest


@pytest.fixture
def small_disk():
    """Give a function that lets no file grow beyond so many bytes, until the test ends.

    The operating system itself refuses, whichever library writes; Python turns that into OSError, others may not.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    yield lambda size: resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    signal.signal(signal.SIGXFSZ, handler)
