from dataclasses import replace

import numpy as np
import pytest

from lagoon.motion.robot_motion import RobotMotion
from lagoon.retarget import appraise
from lagoon.retarget.quality import measure


@pytest.fixture
def report(go2):
    frames = 20
    still = RobotMotion(
        fps=50.0,
        robot="go2",
        joint_names=go2.joint_names,
        root_pos_w=np.tile([0.0, 0.0, go2.default_root_height], (frames, 1)),
        root_quat_w=np.tile([1.0, 0.0, 0.0, 0.0], (frames, 1)),
        joint_pos=np.tile(go2.default_joint_pos, (frames, 1)),
        foot_contact=np.ones((frames, 4), bool),
    )
    return measure(still, go2)


def test_a_perfect_motion_costs_nothing(report):
    assert appraise.cost(report) == pytest.approx(0.0, abs=1e-6)


@pytest.mark.parametrize(("grade", "expected"), [("trackable", 0.0), ("hard", 2.0), ("not trackable", 4.0)])
def test_the_verdict_counts(report, grade, expected):
    judged = replace(report, verdict=replace(report.verdict, grade=grade))
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
def test_each_fault_costs_what_the_table_says(report, fault, expected):
    assert appraise.cost(replace(report, **fault)) == pytest.approx(expected, abs=1e-6)
