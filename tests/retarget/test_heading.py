"""Below a clip on its hind legs the robot stands so that it can come down straight: by its feet, not by its trunk."""

import numpy as np
import pytest

from lagoon.motion.rotations import quat_yaw
from lagoon.retarget.body import Body
from lagoon.retarget.config import RetargetConfig
from lagoon.retarget.contacts import detect
from lagoon.retarget.lead import heading_for
from lagoon.retarget.morphology import choose_supports
from lagoon.retarget.retarget import retarget

from .conftest import UPPER, human, person
from .test_lead import stretch

ACROSS = np.array([0.0, 0.284])


def turned(vectors, angle):
    c, s = np.cos(angle), np.sin(angle)
    return vectors @ np.array([[c, s], [-s, c]])


def around(paths, names, angle):
    """Turn joints about the vertical through the pelvis by an angle for each frame [rad]."""
    c, s = np.cos(angle), np.sin(angle)
    for name in names:
        x, y, z = paths[name].T
        paths[name] = np.stack([c * x - s * y, s * x + c * y, z], axis=1)


def twisting(frames=40, angle=0.8):
    """The trunk turns to the left over feet that stay, and does not turn back, as in a punch."""
    paths = person(frames)
    names = [name for name in paths if name.rpartition("_")[2] in (*UPPER, "pelvis", "hip")]
    around(paths, names, angle * np.clip(np.arange(frames) / 20.0 - 0.5, 0.0, 1.0))
    return human(paths, "punch")


@pytest.mark.parametrize("trunk", [-0.8, -0.2, 0.3, 0.9])
def test_a_trunk_turned_over_feet_that_stand_as_on_four_legs_turns_back(trunk):
    feet = np.array([0.5 * ACROSS, -0.5 * ACROSS])
    assert heading_for(feet, ACROSS, trunk) == pytest.approx(0.0, abs=0.01)
    assert heading_for(turned(feet, 0.5), ACROSS, trunk + 0.5) == pytest.approx(0.5, abs=0.01)


def test_feet_that_are_near_their_places_leave_the_trunk_its_heading():
    feet = np.array([0.5 * ACROSS + [0.005, 0.0], -0.5 * ACROSS])
    assert heading_for(feet, ACROSS, 0.02) == 0.02


def test_a_stride_is_divided_between_turning_and_stepping():
    feet = np.array([[0.2, 0.07], [0.0, -0.07]])  # The left foot is ahead, so their line points to the right.
    heading = heading_for(feet, ACROSS, 0.0)
    assert -np.arctan2(0.2, 0.14) - 0.01 < heading < -0.1


def test_coming_down_from_a_twist_takes_no_step_and_no_torque_beyond_the_motors(go2):
    motion, report = retarget(twisting(), go2, RetargetConfig(morphology="upright", speed=1.0))
    assert report.verdict.grade == "trackable"
    ends = [quat_yaw(motion.root_quat_w[row]) for row in (0, -1)]
    assert ends == pytest.approx([0.0, 0.0], abs=0.02)
    assert motion.foot_contact[stretch(motion, "lead_out")][:, 2:].all()
    assert motion.segment_starts[1] == 20


def test_someone_who_turns_on_the_spot_steps_however_near_the_feet_stay(go2):
    def planted(angle):
        paths = person(60)
        for side, y in (("left", 0.03), ("right", -0.03)):
            for part in ("ankle", "foot"):
                paths[f"{side}_{part}"][:, 1] = y
        around(paths, list(paths), angle * np.linspace(0.0, 1.0, 60))
        body = Body.of(human(paths, "turn"), 50.0)
        supports = choose_supports(body, "upright", RetargetConfig().hand_height, "")
        return detect(body, go2, supports, RetargetConfig()).planted

    assert planted(0.3)
    assert not planted(1.5)
