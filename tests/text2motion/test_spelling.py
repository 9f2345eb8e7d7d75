from __future__ import annotations

import pytest

from lagoon.text2motion import spelling
from lagoon.text2motion.spelling import correct, distance

KNOWN = [
    "walk",
    "backwards",
    "cartwheel",
    "jump",
    "clap",
    "call",
    "wave",
    "forward",
    "turn",
    "run",
    "sit",
    "down",
    "squat",
    "squats",
    "deep",
    "leap",
    "hands",
    "your",
]
ENGLISH = frozenset([*KNOWN, "bake", "wall", "bow"]).__contains__


@pytest.mark.parametrize(
    ("a", "b", "edits"),
    [("wave", "wave", 0), ("wvae", "wave", 1), ("wav", "wave", 1), ("waave", "wave", 1), ("wqve", "wave", 1),
     ("cratwheel", "cartwheel", 1), ("cartwel", "cartwheel", 2), ("abcd", "wxyz", 3), ("", "ab", 2)],
)  # fmt: skip
def test_distance_counts_edits_and_swaps(a, b, edits):
    assert distance(a, b, 2) == edits == distance(b, a, 2)


@pytest.mark.parametrize(
    ("typed", "read"),
    [
        ("cartweel", "cartwheel"),
        ("jmup", "jump"),
        ("walk backwrds", "walk backwards"),
        ("Jmup!", "jump!"),
        ("sti dwon", "sit down"),
        ("rnu", "run"),
        ("calp yuor hadns", "clap your hands"),
        ("trun", "turn"),
        ("deap", "deep"),
        ("cartwhlee", "cartwheel"),
    ],
)
def test_slips_are_mended(typed, read):
    assert correct(typed, KNOWN, ENGLISH)[0] == read


@pytest.mark.parametrize("typed", ["bake", "bow", "wall", "xyz", "jmxp", "wk", "qqqqqq", "", "12", "..."])
def test_english_words_and_what_is_far_from_all_stay(typed):
    assert correct(typed, KNOWN, ENGLISH) == (typed, [])


def test_two_equally_near_words_change_nothing_unless_one_is_a_verb():
    assert correct("knel", ["kneel", "knell"], ENGLISH) == ("knel", [])
    assert correct("knel", ["kneel", "knell"], ENGLISH, verbs={"kneel"})[0] == "kneel"


def test_corrections_are_told():
    assert correct("jmup and sti", KNOWN, ENGLISH)[1] == [("jmup", "jump"), ("sti", "sit")]


def test_short_words_are_hardly_touched():
    assert spelling.SHORTEST == 3
    assert correct("sot", KNOWN, ENGLISH) == ("sot", [])
