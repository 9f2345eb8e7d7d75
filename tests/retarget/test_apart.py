"""A motion whose shapes were kept apart is taken only if it balances as well."""

from dataclasses import replace

import numpy as np
import pytest

from lagoon.motion.robot_motion import RobotMotion
from lagoon.retarget.quality import measure
from lagoon.retarget.retarget import BALANCED, _is_worth_it


@pytest.fixture
def touching(go2):
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
    return replace(measure(still, go2), self_collisions=62, pressure_max=0.008)


@pytest.mark.parametrize(
    ("change", "taken"),
    [
        ({"self_collisions": 1}, True),
        ({"self_collisions": 1, "pressure_max": BALANCED}, True),
        ({"self_collisions": 1, "pressure_max": 0.028}, False),
        ({"self_collisions": 62}, False),
        ({"self_collisions": 80}, False),
    ],
)
def test_less_touching_is_taken_unless_it_costs_the_balance(touching, change, taken):
    assert _is_worth_it(replace(touching, **change), touching) is taken


def test_a_worse_verdict_is_not_taken(touching):
    hard = replace(touching, self_collisions=0, verdict=replace(touching.verdict, grade="hard"))
    assert not _is_worth_it(hard, touching)
    assert _is_worth_it(hard, replace(touching, verdict=hard.verdict))


def test_what_balanced_no_better_before_may_stay_as_bad(touching):
    tilted = replace(touching, pressure_max=0.05)
    assert _is_worth_it(replace(tilted, self_collisions=0, pressure_max=0.04), tilted)
