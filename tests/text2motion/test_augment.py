from __future__ import annotations

import numpy as np
import pytest

from lagoon.motion.skeleton import JOINT_NAMES, PARENTS
from lagoon.text2motion import augment, features


def test_mirroring_twice_gives_the_motion_back(people):
    motion = people["waving"]()
    assert (augment.mirror(augment.mirror(motion)) == motion).all()


def test_mirroring_moves_the_wave_to_the_other_hand(people):
    mirrored = augment.mirror(people["waving"]())
    left, right = JOINT_NAMES.index("left_wrist"), JOINT_NAMES.index("right_wrist")
    assert mirrored[:, left, 2].max() > 1.4 > mirrored[:, right, 2].max()


@pytest.mark.parametrize(
    ("text", "mirrored"),
    [
        ("turn left", "turn right"),
        ("step leftwards with the right leg", "step rightwards with the left leg"),
        ("what is left is right", "what is right is left"),
        ("upright", "upright"),
    ],
)
def test_mirrored_text_swaps_the_words(text, mirrored):
    assert augment.mirror_text(text) == mirrored


def test_resample_changes_the_length_and_keeps_the_path(people):
    motion = people["waving"](61)
    fast = augment.resample(motion, 2.0)
    assert len(fast) == 31
    assert np.allclose(fast, motion[::2], atol=1e-9)


def test_repeat_cycles_gives_so_many(people):
    motion = people["squatting"](120, cycles=3)
    marks = augment.peaks(augment.cycle_signal(motion, "down"), 0.15)
    assert len(marks) == 3
    for count in (1, 2, 5):
        again = augment.repeat_cycles(motion, marks, count)
        assert len(augment.peaks(augment.cycle_signal(again, "down"), 0.15)) == count
        assert np.abs(np.diff(again, axis=0)).max() < 1.3 * np.abs(np.diff(motion, axis=0)).max()


def test_repeat_cycles_needs_two_like_poses(people):
    motion = people["waving"](60)
    assert augment.repeat_cycles(motion, np.array([30]), 2) is None
    assert augment.repeat_cycles(motion, np.array([2, 30]), 3) is None  # hand down, hand up


def test_follow_starts_where_the_first_one_ends(people):
    first, second = people["walking"](40, turn=0.8), people["waving"](40)
    joined = augment.follow(first, second)
    assert len(joined) == 80
    assert np.linalg.norm(joined[40, 0] - joined[39, 0]) < 0.08
    yaw = features.heading(joined)
    assert yaw[-1] == pytest.approx(features.heading(first)[-1], abs=0.05)


def test_hold_stands_still_at_both_ends(people):
    motion = people["waving"](40)
    held = augment.hold(motion, 5, 7)
    assert len(held) == 52
    assert (held[:6] == motion[0]).all() and (held[-8:] == motion[-1]).all()


def test_overlay_keeps_the_legs_and_takes_the_arm_that_does_something(people):
    walk, wave = people["walking"](60, turn=0.6), people["waving"](60, 3)
    both = augment.overlay(walk, wave)
    arm = [JOINT_NAMES.index(f"right_{name}") for name in ("collar", "shoulder", "elbow", "wrist")]
    rest = [j for j in range(22) if j not in arm]
    assert (both[:, rest] == walk[:, rest]).all()
    raised = both[:, arm[-1], 2] > both[:, arm[1], 2]
    assert raised[20:40].all() and not (walk[:, arm[-1], 2] > walk[:, arm[1], 2]).any()
    # The hand stays on the right of a body that turns.
    right = np.stack([np.sin(features.heading(walk)), -np.cos(features.heading(walk))], axis=-1)
    assert (np.sum((both[:, arm[-1], :2] - both[:, 0, :2]) * right, axis=-1) > 0).all()
    bones = lambda p: np.linalg.norm(p[:, 1:] - p[:, list(PARENTS[1:])], axis=-1)  # noqa: E731
    assert np.abs(bones(both)[:, [j - 1 for j in arm[2:]]] - bones(wave)[:, [j - 1 for j in arm[2:]]]).max() < 1e-9


def test_overlay_takes_a_nod(people):
    walk, nod = people["walking"](60), np.repeat(people["waving"](60)[:1], 60, axis=0)
    head, neck = JOINT_NAMES.index("head"), JOINT_NAMES.index("neck")
    nod[:, head, 0] += 0.03 * np.sin(np.arange(60) / 3.0)
    both = augment.overlay(walk, nod)
    assert np.ptp(both[:, head, 0] - both[:, neck, 0]) > 0.05
    assert (both[:, [j for j in range(22) if j != head]] == walk[:, [j for j in range(22) if j != head]]).all()
