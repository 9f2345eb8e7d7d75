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
        ("Hey robot, would you be so kind as to bow? Thank you very much!", "bow"),
        ("show me how you wave to the crowd, thanks", "wave to the crowd"),
        ("OK, jump", "jump"),
        ("signal okay", "signal okay"),
        ("show me your back", "show me your back"),
        ("...clap... your... hands...", "clap your hands"),
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


def test_clean_unifies_what_looks_alike():
    assert wording.clean("  \uff57\uff41\uff56\uff45\u200b\thello\n") == "wave hello"
    assert wording.clean("l\u2019homme \u201cwave\u201d") == 'l\'homme "wave"'


def test_pictures_are_told_from_words():
    assert wording.emoji("wave 👋🙂") == ("wave", "wave")
    assert wording.emoji("👏👏🏽💃") == ("", "clap, then dance")
    assert wording.emoji("🍕") == ("", "")


@pytest.mark.parametrize(
    ("typed", "read"),
    [
        ("squat 3x", "squat 3 times"),
        ("clap x2", "clap 2 times"),
        ("press-ups", "push-ups"),
        ("a couple of jumps", "two jumps"),
    ],
)
def test_counts_and_spellings_get_one_form(typed, read):
    assert wording.rewrite(typed) == read


def test_gibberish_is_what_mostly_cannot_be_read():
    words = {"wave", "bake", "hello"}.__contains__
    assert wording.is_gibberish("asdf qwer wave", words) and wording.is_gibberish("aaaa", words)
    assert wording.is_gibberish("123", words) and wording.is_gibberish("", words)
    assert not wording.is_gibberish("wave hello", words) and not wording.is_gibberish("wave zxcv", words)
