import math

import numpy as np
import pytest

from lagoon.deploy.report import Check, falls_of, metrics_of, segments_of, wilson_interval


def test_wilson_interval_against_known_values():
    # Worked out from Wilson's formula: 95 of 100 and 0 of 10.
    assert wilson_interval(95, 100) == pytest.approx((0.8882, 0.9785), abs=1e-4)
    assert wilson_interval(0, 10) == pytest.approx((0.0, 0.2775), abs=1e-4)
    assert wilson_interval(128, 128)[0] == pytest.approx(0.9709, abs=1e-4)


def test_metrics_leave_fallen_time_out():
    errors = np.array([[1.0, 3.0], [1.0, np.nan], [4.0, np.nan]])
    metric = metrics_of({"joint_error": errors})["joint_error"]
    assert metric.mean == pytest.approx(9.0 / 4.0)
    assert metric.worst == pytest.approx(2.0 + 0.95 * 1.0)
    assert math.isnan(metrics_of({"joint_error": np.full((2, 2), np.nan)})["joint_error"].mean)


def test_segments_count_who_came_and_who_went_on(stand_bundle):
    # Stretches begin at ticks 0, 20, 60; the reference ends at 80 and the trial at 105.
    fall_tick = np.array([-1, 5, 20, 59, 60, 105, 106])
    rows = segments_of(stand_bundle, fall_tick, np.zeros((105, 7)), 105)
    assert [(row.name, row.entered, row.survived) for row in rows] == [
        ("stand", 7, 6),
        ("motion", 6, 4),
        ("lead_out", 4, 3),
        ("hold", 3, 2),
        ("end", 2, 1),
    ]
    assert [row.start for row in rows] == pytest.approx([0.0, 0.4, 1.2, 1.6, 2.1])


def test_falls_say_how_far_into_the_stretch(stand_bundle):
    falls = falls_of(stand_bundle, np.array([-1, 30, 60, 105]), ["", "a", "b", "c"], 105)
    assert [(f.trial, f.segment, f.cause) for f in falls] == [
        (1, "motion", "a"),
        (2, "lead_out", "b"),
        (3, "hold", "c"),
    ]
    assert [f.progress for f in falls] == pytest.approx([0.25, 0.0, 1.0])
    assert [f.seconds for f in falls] == pytest.approx([0.6, 1.2, 2.1])


def test_a_value_that_does_not_exist_passes_no_check():
    assert not Check("x", math.nan, "<=", 1.0).passed and not Check("x", math.nan, ">=", 0.0).passed
    assert Check("x", 1.0, "<=", 1.0).passed and Check("x", 1.0, ">=", 1.0).passed
