from __future__ import annotations

import pytest

from lagoon.text2motion import wording


@pytest.mark.parametrize(
    ("command", "core"),
    [
        ("Could you please  wave?", "wave"),
        ("wave hello", "wave hello"),
        ("please", "please"),
        ("I want you to bow for me!", "bow"),
    ],
)
def test_core_drops_what_is_polite_only(command, core):
    assert wording.core(command) == core


@pytest.mark.parametrize(("a", "b"), [("waving", "wave"), ("claps", "clap"), ("clapping", "clap"), ("jumped", "jump")])
def test_stems_agree(a, b):
    assert wording.stem(a) == wording.stem(b)


def test_leading_word_passes_over_light_words_and_adverbs():
    assert wording.leading_word("do a perfect cartwheel") == "cartwheel"
    assert wording.leading_word("slowly bow") == "bow"
    assert wording.leading_word("fly away") == "fly"
    assert wording.leading_word("do it") == ""


def test_questions_are_told_from_commands():
    assert wording.is_question("What time is it")
    assert not wording.is_question("wave hello")


def test_core_keeps_300_characters_at_most():
    assert len(wording.core("wave " * 200)) <= 300
