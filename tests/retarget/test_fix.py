"""The search, on made-up costs of which the answer is known, and once on a real motion."""

from dataclasses import replace

import numpy as np
import pytest

from lagoon.retarget.config import RetargetConfig
from lagoon.retarget.fix import TRIES, Changes, find, overload
from lagoon.retarget.retarget import retarget
from lagoon.retarget.verdict import Series, judge, shares

CONFIG = RetargetConfig(fix=True)


@pytest.fixture
def search(retargeted):
    """Runs a search where the demands are functions of the changes; returns the report and how often it was asked."""
    motion, report = retargeted("waving", "four_legged")

    def run(config=CONFIG, speed=1.0, **demands):
        asked = []

        def attempt(changes):
            asked.append(changes)
            series = {key: Series(np.full(50, of(changes)), ["knee"] * 50) for key, of in demands.items()}
            return motion, replace(
                report,
                morphology="four_legged" if changes.four_legged else "upright",
                speed=changes.speed,
                verdict=judge(series, 50.0),
                demands=shares(series),
            )

        first = attempt(Changes(speed=speed))
        asked.clear()
        return find(attempt, first, config)[1], asked

    return run


def test_a_trackable_motion_is_left_alone(search):
    report, asked = search(torque=lambda changes: 0.9)
    assert not asked
    assert report.fix.solved
    assert report.fix.changes == Changes()
    assert "nothing to change: it is trackable" in report.fix.lines(report.verdict)[0][1]


def test_the_nearest_speed_is_found_and_not_a_slower_one(search):
    report, _ = search(torque=lambda changes: 1.6 * changes.speed**2)
    assert report.fix.solved
    assert report.verdict.grade == "trackable"
    # 1.6 s^2 < 1 from s = 0.79 on; the ladder and half of its steps are tried.
    assert report.fix.changes.speed == pytest.approx(0.725, abs=0.08)
    assert report.fix.changes == Changes(speed=report.fix.changes.speed)
    assert report.fix.words == (f"at {report.fix.changes.speed:.0%} of the speed",)


def test_a_jump_is_lowered_and_nothing_else_is(search):
    report, asked = search(flight=lambda changes: float(changes.jump > 0.5))
    assert report.fix.solved
    assert report.fix.changes.speed == 1.0
    assert report.fix.changes.size == 1.0
    assert report.fix.changes.jump <= 0.5
    assert len(asked) <= TRIES


def test_what_does_not_help_in_the_end_is_undone(search):
    # Balance needs both a smaller motion and a wider stance; slower does nothing.
    report, _ = search(pressure=lambda changes: 0.02 + 0.08 * changes.size - 0.06 * (changes.stance - 1.0))
    assert report.fix.solved
    assert report.fix.changes.speed == 1.0


def test_lying_down_is_told_at_once_to_be_beyond_help(search):
    report, asked = search(off_feet=lambda changes: 1.0)
    assert not asked
    assert not report.fix.solved
    assert "does not help against this" in report.fix.lines(report.verdict)[0][1]


def test_a_motion_that_stays_as_hard_is_left_as_it_was(search):
    report, asked = search(torque=lambda changes: 1.5 + 0.1 * changes.size)
    assert report.fix.changes == Changes()
    assert not report.fix.solved
    assert 0 < len(asked) <= TRIES
    assert "it is as it was" in report.fix.lines(report.verdict)[0][1]


def test_four_legs_are_the_last_resort(search):
    report, _ = search(pressure=lambda changes: 0.01 if changes.four_legged else 0.2)
    assert report.fix.changes == Changes(four_legged=True)
    assert report.fix.words == ("on four legs",)
    report, _ = search(RetargetConfig(fix=True, morphology="upright"), pressure=lambda changes: 0.2)
    assert not report.fix.changes.four_legged


def test_a_speed_that_was_set_is_kept(search):
    config = RetargetConfig(fix=True, speed=0.9)
    report, asked = search(config, speed=0.9, torque=lambda changes: 1.2 * changes.speed * changes.size)
    assert {changes.speed for changes in asked} == {0.9}
    assert report.fix.solved
    assert report.fix.changes.size < 1.0


def test_overload_grows_with_height_and_time(search):
    low, high = (search(torque=lambda changes, v=v: v)[0] for v in (1.2, 1.4))
    assert 0.0 < overload(low) < overload(high)


@pytest.mark.slow
def test_a_march_that_is_hard_becomes_trackable(people, go2):
    march = people["marching"]()
    before = retarget(march, go2, RetargetConfig(speed=1.0))[1]
    _, report = retarget(march, go2, RetargetConfig(fix=True))
    assert before.verdict.grade != "trackable"
    assert report.fix is not None
    assert report.fix.solved
    assert report.verdict.grade == "trackable"
    assert report.to_dict()["fix"]["words"]
    assert any(line.startswith("fix") for line in report.lines())
