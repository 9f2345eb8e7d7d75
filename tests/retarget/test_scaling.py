import dataclasses

import numpy as np
import pytest

from lagoon.retarget.body import Body
from lagoon.retarget.config import RetargetConfig
from lagoon.retarget.scaling import fit, longest_leg


def test_the_longest_leg_is_what_the_knee_limit_allows(go2, kin):
    leg = go2.leg("RL")
    # Two links of 0.213 m at an angle of 0.838 rad; the foot's 2 mm offset adds less than a millimetre.
    assert longest_leg(go2, leg) == pytest.approx(2 * 0.213 * np.cos(0.83776 / 2), abs=1e-3)
    joints = go2.default_joint_pos.copy()
    joints[go2.joint_ids([leg.calf_joint])] = -0.83776
    qpos = kin.pack(np.zeros(3), np.array([1.0, 0, 0, 0]), joints)
    foot = kin.feet(qpos)[2]
    thigh = kin.data.xpos[kin.thighs[2]]
    assert np.linalg.norm(foot - thigh) == pytest.approx(longest_leg(go2, leg), abs=1e-9)


def test_a_straight_limb_becomes_the_wanted_share(go2, people):
    body = Body.of(people["standing"](), 50.0)
    config = RetargetConfig(leg_extension=0.9, arm_extension=0.8, crouch_extension=0.7)
    longest = longest_leg(go2, go2.leg("RR"))
    upright = fit(body, go2, config, upright=True)
    assert upright.leg * body.leg_length == pytest.approx(0.9 * longest)
    assert upright.arm * body.arm_length == pytest.approx(0.8 * longest)
    level = fit(body, go2, config, upright=False)
    assert level.leg * body.leg_length == pytest.approx(0.7 * longest)


def test_sizes_come_from_the_robot(go2, people):
    body = Body.of(people["standing"](), 50.0)
    legs = tuple(dataclasses.replace(leg, calf_offset=tuple(2 * x for x in leg.calf_offset)) for leg in go2.legs)
    larger = fit(body, dataclasses.replace(go2, legs=legs), RetargetConfig(), upright=True)
    assert larger.leg > 1.3 * fit(body, go2, RetargetConfig(), upright=True).leg
