from dataclasses import replace

import numpy as np
import pytest

from lagoon.motion.bones import bone_lengths
from lagoon.motion.skeleton import JOINT_NAMES, MIRROR
from lagoon.retarget.soften import soften

AT = {name: i for i, name in enumerate(JOINT_NAMES)}


def hopping(people):
    human = people["standing"](frames=30)
    pos = human.joint_pos_w.copy()
    pos[10:20, :, 2] += 0.2 * np.sin(np.linspace(0, np.pi, 10))[:, None]
    return replace(human, joint_pos_w=pos)


def test_no_change_is_the_same_motion(people):
    human = people["waving"]()
    assert soften(human, 1.0, 1.0) is human


def test_a_smaller_wave_moves_the_hand_less_and_keeps_the_bones(people):
    human = people["waving"]()
    small = soften(human, 0.5, 1.0)
    travel = [np.ptp(motion.joint_pos_w[:, AT["right_wrist"], 2]) for motion in (human, small)]
    assert 0.35 < travel[1] / travel[0] < 0.75
    lengths = np.median(bone_lengths(human.joint_pos_w), axis=0)
    np.testing.assert_allclose(bone_lengths(small.joint_pos_w), np.tile(lengths, (human.num_frames, 1)), atol=1e-9)
    assert small.joint_pos_w[..., 2].min() == pytest.approx(human.joint_pos_w[..., 2].min(), abs=1e-9)


def test_feet_that_stand_still_stay_still(people):
    small = soften(people["waving"](), 0.4, 1.0)
    for side in ("left", "right"):
        assert np.ptp(small.joint_pos_w[:, AT[f"{side}_ankle"], :2], axis=0).max() < 0.01


@pytest.mark.parametrize("share", [0.5, 0.0])
def test_a_jump_gets_lower_by_its_share(people, share):
    human = hopping(people)
    low = soften(human, 1.0, share).joint_pos_w[..., 2].min(axis=1)
    np.testing.assert_allclose(low, 0.02 + share * (human.joint_pos_w[..., 2].min(axis=1) - 0.02), atol=1e-9)


def test_left_and_right_are_treated_alike(people):
    flip = np.array([1.0, -1.0, 1.0])
    right, left = (soften(people["waving"](side=side), 0.6, 0.5).joint_pos_w for side in ("right", "left"))
    np.testing.assert_allclose(left[:, MIRROR] * flip, right, atol=1e-9)
