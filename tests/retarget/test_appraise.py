from dataclasses import replace

import pytest

from lagoon.retarget import appraise


def test_a_perfect_motion_costs_nothing(still_report):
    assert appraise.cost(still_report) == pytest.approx(0.0, abs=1e-6)


@pytest.mark.parametrize(("grade", "expected"), [("trackable", 0.0), ("hard", 2.0), ("not trackable", 4.0)])
def test_the_verdict_counts(still_report, grade, expected):
    judged = replace(still_report, verdict=replace(still_report.verdict, grade=grade))
    assert appraise.cost(judged) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        ({"pressure_p90": 0.12}, 2.0),
        ({"pressure_max": 0.03}, 1.5),
        ({"pressure_max": 0.011}, 0.0),
        ({"tracking_mean": 0.04}, 0.5),
        ({"friction_p90": 0.6}, 1.0),
        ({"self_collisions": 5}, 0.5),
        ({"velocity_use_max": 1.25}, 0.25),
        ({"joint_limit_violations": 3}, 1.0),
    ],
)
def test_each_fault_costs_what_the_table_says(still_report, fault, expected):
    assert appraise.cost(replace(still_report, **fault)) == pytest.approx(expected, abs=1e-6)
