from __future__ import annotations

import itertools

import numpy as np
import pytest

from lagoon.motion.bones import bone_lengths, with_bones
from lagoon.motion.skeleton import JOINT_NAMES
from lagoon.text2motion import features, joining
from lagoon.text2motion.footing import ANKLES, CARRY
from lagoon.text2motion.grounding import lift


@pytest.fixture
def lengths(stand) -> np.ndarray:
    return bone_lengths(stand[None])[0]


def low(stand: np.ndarray, frames: int) -> np.ndarray:
    """Lying stiffly on the back, breathing a little."""
    lying = stand[:, [2, 1, 0]] * [1.0, 1.0, 1.0] + [0.0, 0.0, 0.2]
    breath = 0.004 * np.sin(np.arange(frames) / 4.0)
    return lying[None] + breath[:, None, None]


def straddling(people: dict, wide: float, ahead: float = 0.0) -> np.ndarray:
    """Waves with the right foot set so far to the side [m] and ahead."""
    pos = people["waving"](60, 3)
    leg = [JOINT_NAMES.index(f"right_{name}") for name in ("ankle", "foot")]
    pos[:, leg, 1] -= wide
    pos[:, leg, 0] += ahead
    return pos


def test_no_joint_leaps_where_two_motions_meet(stand, people, lengths):
    parts = {
        "mid-stride": people["walking"](57, turn=0.5),
        "fast": people["walking"](64, 2.0),
        "arm up": people["waving"](60, 3)[:33],
        "from arm up": people["waving"](60, 3)[27:],
        "half squat": people["squatting"](60, 1)[:25],
        "lying": low(stand, 40),
    }
    parts = {name: lift(with_bones(pos, lengths)) for name, pos in parts.items()}
    for (one, first), (other, second) in itertools.permutations(parts.items(), 2):
        joined = joining.join(first, second, lengths)
        whole = joined.joint_pos_w
        where = f"{one}, then {other}"
        for order, always, share in ((1, joining.SLOWEST, joined.speed), (2, joining.GENTLEST, joined.jump)):
            usual = joining.usual_limit(first, second, order=order)
            around = joining.largest_steps(whole, order)[joined.start - order : joined.stop]
            assert around.max() <= max(usual, always) + 1e-9, f"{where}: difference {order}"
            assert share == pytest.approx(around.max() / usual), where
        assert np.abs(bone_lengths(whole) - lengths).max() < 1e-9, where
        assert whole[..., 2].min() > -1e-6, where
        # Where what follows would be below the floor it is raised, and a few frames before it with it.
        assert np.abs(whole[: joined.start] - first).max() < 0.03, where


def test_poses_far_apart_get_a_transition(stand, people, lengths):
    first = with_bones(low(stand, 40), lengths)
    second = with_bones(people["squatting"](60, 1), lengths)
    joined = joining.join(first, second, lengths)
    assert len(joined.joint_pos_w) > len(first) + len(second)
    limit = max(joining.SLOWEST, joining.usual_limit(first, second))
    assert joining.largest_steps(joined.joint_pos_w).max() <= limit + 1e-9


def test_what_fits_is_not_drawn_out(people, lengths):
    whole = with_bones(people["waving"](80, 3), lengths)
    joined = joining.join(whole[:35], whole[35:], lengths)
    assert joined.stop - joined.start <= 6 and len(joined.joint_pos_w) == 80
    assert np.abs(joined.joint_pos_w - whole).max() < 0.02


def test_the_second_motion_goes_on_where_and_how_the_first_ends(people):
    first, second = people["walking"](60, turn=0.5), people["walking"](50)
    moved = joining.place(first, second)
    assert features.heading(moved)[0] == pytest.approx(features.heading(first)[-1], abs=1e-6)
    assert np.linalg.norm(moved[0, 0, :2] - first[-1, 0, :2]) < 0.3


def test_who_stands_keeps_their_feet(people):
    first, second = people["squatting"](60, 1), people["waving"](60, 2)
    second[:, 0] += [0.05, 0.0, 0.0]
    moved = joining.place(first, second)
    assert np.allclose(moved[0, ANKLES, :2].mean(0), first[-1, ANKLES, :2].mean(0), atol=1e-9)


def test_feet_that_stand_a_little_elsewhere_stay_where_they_were(people, lengths):
    first = with_bones(people["squatting"](60, 1), lengths)
    second = with_bones(straddling(people, 0.06), lengths)
    whole = joining.join(first, second, lengths).joint_pos_w
    assert np.linalg.norm(whole[60:, ANKLES, :2] - first[-1, ANKLES, :2], axis=-1).max() < 0.004
    assert np.abs(bone_lengths(whole) - lengths).max() < 1e-9


def test_feet_that_stand_far_elsewhere_step(people, lengths):
    first = with_bones(people["squatting"](60, 1), lengths)
    second = with_bones(straddling(people, 0.12, 0.12), lengths)
    joined = joining.join(first, second, lengths)
    feet = joined.joint_pos_w[:, ANKLES]
    way = np.linalg.norm(np.diff(feet[..., :2], axis=0), axis=-1).sum(0)
    assert way.min() < 0.01 and way.max() > 2 * CARRY, "one foot stays, the other goes"
    moving = feet[joined.start - 1 : joined.stop + 1, int(way.argmax())]
    speed = np.linalg.norm(np.diff(moving[:, :2], axis=0), axis=-1)
    assert np.ptp(moving[:, 2]) > 0.03, "it is lifted"
    assert moving[1:][speed > 0.01, 2].min() > moving[[0, -1], 2].max() + 0.005, "and does not slide while it is down"
