from __future__ import annotations

import numpy as np
import pytest

from lagoon.motion.skeleton import JOINT_NAMES, PARENTS
from lagoon.text2motion import features, grounding

ANKLE, FOOT = JOINT_NAMES.index("left_ankle"), JOINT_NAMES.index("left_foot")


def lengths_of(pose: np.ndarray) -> np.ndarray:
    return np.linalg.norm(pose[1:] - pose[list(PARENTS[1:])], axis=-1)


def bones_of(motion: np.ndarray) -> np.ndarray:
    return np.linalg.norm(motion[:, 1:] - motion[:, list(PARENTS[1:])], axis=-1)


def rough(motion: np.ndarray, size: float = 0.01) -> np.ndarray:
    """Features with errors as a decoder makes them."""
    rows = features.encode(motion)
    rows[:, : features.CONTACTS.start] += np.random.default_rng(0).normal(0, size, (len(rows), features.CONTACTS.start))
    return rows


@pytest.mark.parametrize("kind", ["waving", "walking", "squatting"])
def test_bones_keep_their_length(people, stand, kind):
    out = grounding.ground(rough(people[kind]()), lengths_of(stand), stand)
    assert np.abs(bones_of(out.joint_pos_w) - lengths_of(stand)).max() < 1e-3


def test_feet_of_a_gesture_do_not_move_at_all(people, stand):
    out = grounding.ground(rough(people["waving"]()), lengths_of(stand), stand)
    assert out.planted
    path = out.joint_pos_w[:, [ANKLE, FOOT]]
    assert np.abs(path - path[0]).max() < 2e-3
    assert path[:, 1, 2] == pytest.approx(0.0, abs=5e-3)


def test_a_gesture_starts_and_ends_in_the_stand(people, stand):
    out = grounding.ground(rough(people["waving"](), 0.02), lengths_of(stand), stand).joint_pos_w
    for pose in (out[0], out[-1]):
        assert np.linalg.norm(pose - pose[:1] - (stand - stand[:1]), axis=-1).mean() < 0.03


def test_a_gesture_that_was_cut_out_of_the_middle_does_so_too(people, stand):
    waving = people["waving"](60, 3)
    wrist = JOINT_NAMES.index("right_wrist")
    middle = waving[20:50]
    assert np.linalg.norm(middle[0, wrist] - stand[wrist]) > 0.5
    for lifted in (0.0, 0.12):  # some captured figures stand above the floor
        shown = middle + np.array([0.0, 0.0, lifted])
        out = grounding.ground(rough(shown, 0.005), lengths_of(stand), stand)
        assert out.planted
        for pose in (out.joint_pos_w[0], out.joint_pos_w[-1]):
            assert np.linalg.norm(pose - pose[:1] - (stand - stand[:1]), axis=-1).mean() < 0.03


def test_one_lifted_leg_is_no_stand_on_two(stand):
    hip, knee = (JOINT_NAMES.index(f"left_{name}") for name in ("hip", "knee"))
    thigh, shin = (float(lengths_of(stand)[joint - 1]) for joint in (knee, ANKLE))
    pose, up = stand.copy(), np.array([0.0, 0.0, 0.12])
    bent, ankle = grounding.reach(
        stand[None, hip], stand[None, knee] + [0.1, 0.0, 0.0], stand[None, ANKLE] + up, thigh, shin
    )
    pose[knee], pose[ANKLE], pose[FOOT] = bent[0], ankle[0], stand[FOOT] + up
    out = grounding.ground(features.encode(np.repeat(pose[None], 40, axis=0)), lengths_of(stand), stand)
    assert not out.planted


def test_who_ends_low_stays_low(people, stand):
    squat = people["squatting"](60, 1)
    lowest = int(squat[:, 0, 2].argmin())
    out = grounding.ground(features.encode(squat[: lowest + 1]), lengths_of(stand), stand).joint_pos_w
    assert out[-1, 0, 2] < stand[0, 2] - 0.15


def test_a_walk_is_not_planted_and_keeps_its_way(people, stand):
    out = grounding.ground(rough(people["walking"](60), 0.005), lengths_of(stand), stand)
    assert not out.planted
    assert out.joint_pos_w[-1, 0, 0] == pytest.approx(59 / 20, abs=0.3)


def test_nothing_is_below_the_floor(people, stand):
    sunk = people["squatting"]()
    sunk[..., 2] -= 0.1
    out = grounding.ground(features.encode(sunk), lengths_of(stand), stand).joint_pos_w
    assert out[..., 2].min() > -1e-3


def test_starts_over_the_origin_facing_x(people, stand):
    out = grounding.ground(rough(people["walking"](60, turn=0.5)), lengths_of(stand), stand).joint_pos_w
    assert np.allclose(out[0, 0, :2], 0.0, atol=1e-9)
    assert abs(features.heading(out)[0]) < 1e-6


def test_reach_hits_targets_within_reach_and_bends_to_the_same_side(stand):
    hip = np.repeat(stand[None, JOINT_NAMES.index("left_hip")], 20, axis=0)
    knee = hip + np.array([0.1, 0.0, -0.38])
    phase = np.linspace(0, 2 * np.pi, 20)
    target = hip + 0.15 * np.stack([-np.cos(phase), np.sin(phase), np.sin(phase)], axis=-1) - np.array([0, 0, 0.55])
    new_knee, ankle = grounding.reach(hip, knee, target, 0.4, 0.42)
    assert np.abs(ankle - target).max() < 1e-9
    assert np.linalg.norm(new_knee - hip, axis=-1) == pytest.approx(0.4)
    assert np.linalg.norm(new_knee - ankle, axis=-1) == pytest.approx(0.42)
    line = (target - hip) / np.linalg.norm(target - hip, axis=-1, keepdims=True)
    assert (
        np.sum((new_knee - hip) * (knee - hip - np.sum((knee - hip) * line, -1, keepdims=True) * line), -1) > 0
    ).all()


def test_reach_stops_at_the_length_of_the_leg():
    hip, knee = np.zeros((5, 3)), np.tile((0.1, 0.0, -0.4), (5, 1))
    _, ankle = grounding.reach(hip, knee, np.tile((0.0, 0.0, -2.0), (5, 1)), 0.4, 0.4)
    assert np.linalg.norm(ankle, axis=-1) == pytest.approx(0.8 * grounding.MOST_STRETCH)


def test_short_gaps_and_blips_of_contact_are_removed():
    probability = np.zeros((20, 4))
    probability[:12, 0] = 1.0
    probability[5, 0] = 0.0  # a gap of one frame
    probability[16, 0] = 1.0  # a blip of one frame
    assert grounding.standing(probability)[:, 0].tolist() == [True] * 12 + [False] * 8
