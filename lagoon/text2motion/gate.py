"""Says no before compute is spent: to empty, unreadable and unknown commands.

What enters: a command and the known commands. What leaves: the command's encoding with its nearest known
commands, or a RefusedCommandError that gives the reason and lists them.
"""

from __future__ import annotations

from dataclasses import dataclass

from lagoon.errors import RefusedCommandError
from lagoon.text2motion import wording
from lagoon.text2motion.bank import CommandBank, Nearest
from lagoon.text2motion.text_encoder import Encoding, TextEncoder

SHOWN = 5
"""Nearest known commands listed in a refusal."""
SURE = 0.85
"""Similarity from which a command is taken for the known one even if its leading word is new."""


@dataclass(frozen=True)
class Reading:
    """A command that passed the gate."""

    words: str
    """The command without what is polite only; what the generator is told."""
    encoding: Encoding
    """Its encoding."""
    nearest: tuple[Nearest, ...]
    """Known commands near it, best first, with different verbs."""


def read(command: str, bank: CommandBank, encoder: TextEncoder, threshold: float, force: bool = False) -> Reading:
    """Let a command through or refuse it.

    Args:
        command: what the user typed.
        bank: known commands.
        encoder: the sentence encoder.
        threshold: smallest cosine similarity to a known command.
        force: let everything through that has words at all.

    Raises:
        RefusedCommandError: the command is empty, unreadable, or far from everything known.
    """
    if not command.strip():
        known = ", ".join(_different(bank, count=SHOWN))
        raise RefusedCommandError(f"The command is empty. Expected a few words that name a motion, such as: {known}.")
    words = wording.core(command)
    encoding = encoder.encode([words])[0]
    nearest = _by_verb(bank.nearest(encoding.sentence, 60))
    similarity = nearest[0].similarity
    shown = command if len(command) <= 80 else command[:77] + "..."
    leading, reason = wording.leading_word(words), ""
    if not any(letter.isascii() and letter.isalpha() for letter in words):
        reason = "is not written in English words"
    elif similarity < threshold and wording.is_gibberish(words, encoding.pieces):
        reason = "cannot be read as English words"
    elif similarity < threshold and wording.is_question(words):
        reason = "is a question, not a motion"
    elif similarity < threshold:
        reason = f"is too far from every known one (similarity {similarity:.2f}, at least {threshold:.2f} is needed)"
    elif similarity < SURE and wording.stem(leading) not in wording.vocabulary(bank.texts):
        reason = f"asks for something unknown: no known command has the word '{leading}'"
    if reason and not force:
        near = ", ".join(f"'{n.text}' ({n.similarity:.2f})" for n in nearest[:SHOWN])
        raise RefusedCommandError(
            f"The command '{shown}' {reason}. Nearest known commands: {near}. "
            "Use one of those, or generate anyway with --force (generate.force=true)."
        )
    return Reading(words, encoding, tuple(nearest[:SHOWN]))


def _by_verb(near: list[Nearest]) -> list[Nearest]:
    """The best text of each verb, in order."""
    best: dict[str, Nearest] = {}
    for item in near:
        best.setdefault(item.verb, item)
    return list(best.values())


def _different(bank: CommandBank, count: int) -> list[str]:
    """A few known verbs, those with the most texts."""
    tally: dict[str, int] = {}
    for verb in bank.verbs:
        tally[verb] = tally.get(verb, 0) + 1
    return sorted(tally, key=lambda verb: (-tally[verb], verb))[:count]
