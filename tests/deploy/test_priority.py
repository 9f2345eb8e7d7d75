import os

import pytest

from lagoon.deploy.priority import real_time
from lagoon.errors import BadInputError


def test_zero_changes_nothing():
    before = os.sched_getscheduler(0)
    with real_time(0):
        assert os.sched_getscheduler(0) == before


def test_the_priority_is_taken_for_the_body_or_refused_with_what_to_do(monkeypatch):
    before = os.sched_getscheduler(0)
    try:
        with real_time(7):
            assert (os.sched_getscheduler(0), os.sched_getparam(0).sched_priority) == (os.SCHED_FIFO, 7)
    except BadInputError as error:
        assert "rtprio" in str(error)
    assert os.sched_getscheduler(0) == before

    def refuse(*_):
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "sched_setscheduler", refuse)
    with pytest.raises(BadInputError, match="was refused: Operation not permitted") as caught, real_time(7):
        raise AssertionError("it must not begin")
    assert str(caught.value).endswith("and log in again, or leave deploy.priority=0.")
