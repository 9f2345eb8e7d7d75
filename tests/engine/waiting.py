"""Waiting for what other threads and processes do."""

import os
import time


def soon(ask, seconds=10.0, pause=0.001):
    """Ask until there is an answer, and return it."""
    deadline = time.monotonic() + seconds
    while not (answer := ask()):
        assert time.monotonic() < deadline, "It took too long."
        time.sleep(pause)
    return answer


def wait_for(condition, seconds=60.0):
    """Wait for what processes do: asked less often than ``soon``, so that they get the cores."""
    soon(condition, seconds, 0.02)


def group_is_gone(program):
    """Whether no process of a program's group is left."""
    try:
        os.killpg(program.pid, 0)
    except ProcessLookupError:
        return True
    return False
