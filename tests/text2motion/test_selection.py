from __future__ import annotations

import numpy as np
import pytest

from lagoon.motion.skeleton import JOINT_NAMES
from lagoon.text2motion import augment, plausibility, selection
from lagoon.text2motion.grounding import Grounded
from lagoon.text2motion.selection import Asked, Candidate
from lagoon.text2motion.text_encoder import Encoding

NOTHING = Encoding(np.zeros((2, 384), np.float32), np.zeros(384, np.float32), ())


def take(pos: np.ndarray, correction: float = 0.0) -> Grounded:
    return Grounded(pos, np.ones((len(pos), 2), bool), correction, True)


def test_the_right_number_of_repetitions_wins(people):
    takes = [take(people["squatting"](90, n)) for n in (2, 3, 4)]
    usual = plausibility.activity(takes[1].joint_pos_w)
    asked = Asked(NOTHING, usual, 4, ("down", 0.15))
    found = selection.score(takes, [0.0] * 3, asked, None, 2.0)
    assert [c.count for c in found] == [2, 3, 4]
    assert [c.costs["repetitions"] for c in found] == [6.0, 3.0, 0.0]
    assert selection.choose(found, None, 0)[0].count == 4


def test_a_still_motion_loses_against_one_that_moves_as_usual(people, stand):
    waving, still = people["waving"](60, 3), np.repeat(stand[None], 60, axis=0)
    asked = Asked(NOTHING, plausibility.activity(waving))
    found = selection.score([take(still), take(waving)], [0.0, 0.0], asked, None, 2.0)
    assert selection.choose(found, None, 3)[0].number == 1


def test_the_robot_is_asked_about_the_best_few_only_and_can_turn_the_order():
    rows = [Candidate(i, np.full((5, 22, 3), float(i)), True, {"plausibility": float(i)}) for i in range(4)]
    seen: list[int] = []

    def appraise(pos: np.ndarray) -> float:
        seen.append(int(pos[0, 0, 0]))
        return 5.0 if pos[0, 0, 0] == 0 else 0.5

    ordered = selection.choose(rows, appraise, 2)
    assert seen == [0, 1] and [c.number for c in ordered] == [1, 0, 2, 3]
    assert ordered[0].costs["robot"] == pytest.approx(1.5 * np.log(1.5)) and "robot" not in ordered[2].costs
    assert ordered[0].cost == pytest.approx(1.0 + 1.5 * np.log(1.5))


def test_more_are_tried_while_none_suits_the_robot():
    rows = [Candidate(i, np.full((5, 22, 3), float(i)), True, {"plausibility": float(i)}) for i in range(9)]
    seen: list[int] = []

    def appraise(pos: np.ndarray) -> float:
        seen.append(int(pos[0, 0, 0]))
        return selection.DOABLE + 10.0 if pos[0, 0, 0] < 4 else 0.0

    ordered = selection.choose(rows, appraise, 2, at_most=7)
    assert seen == [0, 1, 2, 3, 4, 5] and ordered[0].number == 4 and len(ordered) == 9
    assert {c.number: selection.suits(c) for c in ordered} == dict(
        enumerate([False, False, False, False, True, True, None, None, None])
    )
    seen.clear()
    hopeless = selection.choose(rows, lambda pos: seen.append(0) or 100.0, 2, at_most=5)
    assert len(seen) == 6 and selection.suits(hopeless[0]) is False and hopeless[0].number == 0


def test_a_row_is_plain_data_and_its_terms_add_up(people):
    import json

    found = selection.score([take(people["walking"](40), 0.02)], [0.3], Asked(NOTHING, np.ones(4)), None, 2.0)[0]
    row = json.loads(json.dumps(found.row()))
    assert sum(row["terms"].values()) == pytest.approx(row["cost"], abs=1e-3)
    assert row["terms"]["clean-up"] == pytest.approx(0.4) and row["terms"]["likelihood"] == pytest.approx(-0.6)


def test_a_gesture_that_begins_in_the_middle_is_the_odd_one_out(people, stand):
    waving = people["waving"](60, 3)
    takes = [take(waving), take(waving[20:50]), take(waving)]
    asked = Asked(NOTHING, plausibility.activity(waving), rest=stand)
    found = selection.score(takes, [0.0] * 3, asked, None, 2.0)
    assert found[1].costs["ends"] > found[0].costs["ends"] + 0.5 and found[0].costs["ends"] < 0.2
    # Where most begin elsewhere it is no gesture, and where they begin is not looked at.
    found = selection.score([takes[1], takes[1], takes[0]], [0.0] * 3, asked, None, 2.0)
    assert "ends" not in found[0].costs
    # Unless the words say that it is a gesture: then it counts, however many begin in the middle.
    told = Asked(NOTHING, plausibility.activity(waving), rest=stand, gesture=True)
    found = selection.score([takes[1], takes[1], takes[0]], [0.0] * 3, told, None, 2.0)
    assert found[0].costs["ends"] > found[2].costs["ends"] + 0.5


def rows_of(costs: list[float], spread: bool = True) -> list[Candidate]:
    rng = np.random.default_rng(4)
    vectors = [rng.normal(size=8) if spread else None for _ in costs]
    still = np.zeros((5, 22, 3))
    return [Candidate(i, still, True, {"plausibility": c}, vector=vectors[i]) for i, c in enumerate(costs)]


@pytest.mark.parametrize("spread", [True, False])
def test_seeds_differ_among_what_is_about_as_good(spread):
    rows = rows_of([2.0, 1.2, 1.0, 1.9, 5.0], spread)
    orders = [selection.choose(rows, None, 3, variety=1.0, seed=seed) for seed in range(40)]
    assert {order[0].number for order in orders} == {0, 1, 2, 3}
    assert all([c.cost for c in order[1:]] == sorted(c.cost for c in order[1:]) for order in orders)
    assert [c.number for c in selection.choose(rows, None, 3, variety=1.0, seed=7)] == [c.number for c in orders[7]]
    assert {selection.choose(rows, None, 3, variety=0.5, seed=seed)[0].number for seed in range(40)} == {1, 2}
    assert selection.choose(rows, None, 3)[0].number == 2, "no variety: the best"


def test_where_the_robot_is_asked_it_decides():
    rows = rows_of([2.0, 1.2, 1.0, 1.9])
    best = {selection.choose(rows, lambda pos: 0.0, 2, variety=3.0, seed=seed)[0].number for seed in range(20)}
    assert best == {2}


def test_a_wave_is_a_swing_out_and_back(people, stand):
    # The arm is up for three fifths of the time, in which so many of its swings are whole.
    seen = [selection.repetitions(people["waving"](90, cycles), ("hand_out", 0.08)) for cycles in (1, 2, 3, 4, 5)]
    assert seen == [1, 2, 2, 3, 3]
    # An arm that comes up on the outside, goes in, out, and sinks was outside twice, and has waved once.
    pos = np.repeat(stand[None], 60, axis=0)
    angle = np.radians(60.0) * np.cos(2 * np.pi * np.linspace(0.0, 1.0, 60))
    shoulder, elbow, wrist = (JOINT_NAMES.index(f"right_{name}") for name in ("shoulder", "elbow", "wrist"))
    pos[:, elbow] = pos[:, shoulder] + [0.0, -0.25, 0.05]
    pos[:, wrist] = pos[:, elbow] + 0.25 * np.stack([0.0 * angle, -np.sin(angle), np.cos(angle)], axis=-1)
    pos[[0, -1], wrist, 2] = 0.5
    assert len(augment.peaks(augment.cycle_signal(pos, "hand_out"), 0.08)) == 2
    assert selection.repetitions(pos, ("hand_out", 0.08)) == 1
    assert selection.repetitions(stand[None].repeat(30, axis=0), ("hand_out", 0.08)) == 0
