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


def test_standing_on_one_point_foot_costs_by_its_longest_time(retargeted, go2):
    motion, _ = retargeted("standing", "upright")
    hind = [k for k, leg in enumerate(go2.legs) if not leg.is_front]
    start = next(
        int(s) for name, s in zip(motion.segment_names, motion.segment_starts, strict=True) if name == "motion"
    )
    assert appraise.one_footed(motion, go2) == 0.0
    contact = motion.foot_contact.copy()
    contact[start : start + 10, hind[0]] = contact[start + 20 : start + 45, hind[1]] = False
    assert appraise.one_footed(replace(motion, foot_contact=contact), go2) == pytest.approx(25 / motion.fps)
    contact[start + 20 : start + 45, [k for k in range(4) if k not in hind]] = True  # On front legs it does not count.
    assert appraise.one_footed(replace(motion, foot_contact=contact), go2) == pytest.approx(10 / motion.fps)
