from __future__ import annotations

import numpy as np
import pytest

from lagoon.motion.skeleton import JOINT_NAMES
from lagoon.text2motion import augment, kinematics, predicates


def test_a_wave_is_a_wave_with_either_hand_and_a_stand_is_not(people, stand):
    assert predicates.wave(people["waving"]())
    assert predicates.wave(augment.mirror(people["waving"]()))
    assert not predicates.wave(np.repeat(stand[None], 60, axis=0))
    assert not predicates.wave(people["walking"]())


def test_a_raised_hand_that_does_not_swing_is_no_wave(people):
    assert not predicates.wave(people["waving"](60, cycles=0.0))


def test_squats_are_counted(people):
    assert predicates.squat(people["squatting"](80, 2))
    assert predicates.squats(3)(people["squatting"](120, 3))
    assert not predicates.squats(3)(people["squatting"](80, 2))
    assert not predicates.squat(people["squatting"](80, 2, depth=0.05))


def test_walk_and_run_go_by_speed(people):
    assert predicates.walk(people["walking"](60, speed=1.0))
    assert not predicates.walk(people["walking"](60, speed=0.0))
    assert not predicates.run(people["walking"](60, speed=1.0))
    assert predicates.run(people["walking"](60, speed=2.5))
    assert predicates.walk_back(people["walking"](60, speed=-0.6))


@pytest.mark.parametrize(("rate", "left", "right"), [(0.5, True, False), (-0.5, False, True), (0.0, False, False)])
def test_turns_have_a_side(people, rate, left, right):
    motion = people["walking"](60, speed=0.1, turn=rate)
    assert predicates.PREDICATES["turn left"](motion) is left
    assert predicates.PREDICATES["turn right"](motion) is right


def test_bow_pitches_and_returns(stand):
    t = np.linspace(0, 1, 60)
    motion = np.repeat(stand[None], 60, axis=0)
    angle = 0.9 * np.sin(np.pi * t) ** 2
    upper = [j for j in range(3, 22) if not any(part in JOINT_NAMES[j] for part in ("knee", "ankle", "foot"))]
    local = motion[:, upper] - motion[:, :1]
    c, s = np.cos(angle)[:, None], np.sin(angle)[:, None]
    bent = np.stack([c * local[..., 0] + s * local[..., 2], local[..., 1], -s * local[..., 0] + c * local[..., 2]], -1)
    motion[:, upper] = motion[:, :1] + bent
    assert predicates.bow(motion)
    assert not predicates.bow(motion[:30])  # never comes back
    assert not predicates.bow(np.repeat(stand[None], 60, axis=0))


def test_jump_needs_air_under_both_feet(stand):
    rise = 0.25 * np.sin(np.pi * np.clip(np.linspace(-1, 2, 60), 0, 1))
    motion = np.repeat(stand[None], 60, axis=0)
    motion[..., 2] += rise[:, None]
    assert predicates.jump(motion)
    assert not predicates.jump(np.repeat(stand[None], 60, axis=0))


def test_swings_counts_ups_and_downs():
    t = np.linspace(0, 1, 200)
    assert kinematics.swings(np.sin(2 * np.pi * 3 * t), 0.5) == 6  # three ups, three downs
    assert kinematics.swings(0.01 * np.sin(2 * np.pi * 3 * t), 0.5) == 0


def test_verbs_and_labels_find_their_question(people):
    assert predicates.of_verb("walk_back") is predicates.PREDICATES["walk backwards"]
    assert predicates.of_verb("sit_floor") is predicates.PREDICATES["sit"]
    assert predicates.of_verb("yodel") is None
    assert {*predicates.BY_VERB.values()} <= set(predicates.PREDICATES)


def test_walking_backwards_and_turning_round(people):
    walk = people["walking"](80)
    assert not predicates.walk_back(walk) and predicates.walk_back(walk[::-1])
    half, quarter = people["walking"](64, turn=1.0), people["walking"](32, turn=1.0)
    assert predicates.turned_round(half) and not predicates.turned_round(quarter)
