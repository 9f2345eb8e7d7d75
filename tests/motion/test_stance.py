"""Which words of a command are about the robot's legs."""

import pytest

from lagoon.motion.stance import Stance, stance_of


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("wave on four legs", Stance("four_legged", "on four legs", "wave")),
        (
            "wave while standing on all four legs, then bow",
            Stance("four_legged", "while standing on all four legs", "wave, then bow"),
        ),
        ("Jump on its four paws", Stance("four_legged", "on its four paws", "Jump")),
        ("crawl on all fours", Stance("four_legged", "on all fours", "crawl on all fours")),
        ("walk on your hind legs", Stance("upright", "on your hind legs", "walk")),
        ("stand up on the back legs and clap", Stance("upright", "up on the back legs", "stand and clap")),
        ("hop on two feet", Stance("upright", "on two feet", "hop on two feet")),
        ("on four legs", Stance("four_legged", "on four legs", "on four legs")),
    ],
)
def test_it_is_found_and_taken_out_where_no_person_could_mean_it(text, expected):
    assert stance_of(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "wave hello",
        "wave four times",
        "lie on your back, legs up",
        "kick with the back leg",
        "do not stand on your hind legs",
        "wave, but don't get on four legs",
        "stand on your hind legs, then walk on four legs",
        "put four legs on the table",
    ],
)
def test_other_words_ask_for_nothing(text):
    assert stance_of(text) is None
