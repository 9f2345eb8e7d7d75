"""A real-time priority for the loop: no other program of the computer delays a step.

What enters: a priority. What leaves: the calling thread, and those it starts meanwhile, with that priority.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from lagoon.errors import BadInputError


@contextmanager
def real_time(priority: int) -> Iterator[None]:
    """Run the body under SCHED_FIFO.

    Args:
        priority: 1 to 99, as for ``chrt -f``; 0 changes nothing.

    Raises:
        BadInputError: this user may not, or this system has no such thing.
    """
    if not priority:
        yield
        return
    try:
        before = os.sched_getscheduler(0), os.sched_getparam(0)
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(priority))
    except (AttributeError, OSError) as error:
        reason = getattr(error, "strerror", None) or "this system has none"
        raise BadInputError(
            f"The real-time priority {priority} was refused: {reason}. On Linux allow it with a line "
            "'USER - rtprio 40' in /etc/security/limits.d/lagoon.conf and log in again, or leave deploy.priority=0."
        ) from error
    try:
        yield
    finally:
        os.sched_setscheduler(0, *before)
