"""Splits what the shell passes into a command text, settings and flags.

What enters: the arguments after the verb. What leaves: Arguments. The rule, so that any text is safe:

    The first argument that is not a flag is the text, always, whatever it holds; so is whatever
    follows ``--``. Every later argument is a setting KEY=VALUE or a flag.

A text that looks like a flag therefore needs ``--`` before it: ``lagoon make -- "--help"``.
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass

from lagoon.errors import BadInputError

FLAGS = {
    "--help": "show this text",
    "--cfg": "print all settings as they would be used, run nothing",
    "--again": "run the stage even if it is finished and unchanged",
    "--force": "generate a motion even if the command is far from everything the model knows",
}
_SHORT = {"-h": "--help"}


@dataclass(frozen=True)
class Arguments:
    """What the user asked for, not yet checked against the settings that exist."""

    text: str | None
    """The first plain argument: a command, a skill's folder name, or a skill folder; None when there is none."""
    overrides: tuple[str, ...]
    """``KEY=VALUE`` as typed."""
    flags: frozenset[str]
    """Flags by their long name."""


def split(arguments: Sequence[str], verb: str, takes_text: bool) -> Arguments:
    """Apply the rule above.

    Args:
        arguments: what followed the verb.
        verb: for the messages.
        takes_text: False for verbs such as doctor; then every argument is a setting or a flag.

    Raises:
        BadInputError: an unknown flag, or a later argument that is no setting.
    """
    text: str | None = None
    overrides: list[str] = []
    flags: set[str] = set()
    only_plain = False
    for argument in arguments:
        expects_text = takes_text and text is None
        if argument == "--" and not only_plain:
            only_plain = True
        elif not (only_plain and expects_text) and argument.startswith("-") and len(argument) > 1:
            flags.add(_flag(argument, verb, expects_text))
        elif expects_text:
            text = _checked_text(argument)
        elif "=" in argument:
            overrides.append(argument)
        else:
            raise _stray(argument, verb, text)
    return Arguments(text, tuple(overrides), frozenset(flags))


def _flag(argument: str, verb: str, expects_text: bool) -> str:
    name = _SHORT.get(argument, argument)
    if name in FLAGS:
        return name
    near = difflib.get_close_matches(argument, FLAGS, n=1)
    advice = f"Did you mean {near[0]}?" if near else f"See: lagoon {verb} --help"
    if expects_text:
        advice += f' If it is the command text, put -- before it: lagoon {verb} -- "{argument}"'
    raise BadInputError(f"The flag {argument!r} is not known. Flags of 'lagoon {verb}': {', '.join(FLAGS)}. {advice}")


def _checked_text(text: str) -> str:
    """Refuse bytes that are not text: they could not be written to skill.yaml."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise BadInputError(
            f"The command text {text!a} is not valid UTF-8. Set a UTF-8 locale (LC_ALL=C.UTF-8) and type it again."
        ) from error
    return text


def _stray(argument: str, verb: str, text: str | None) -> BadInputError:
    if text is None:
        return BadInputError(
            f"The argument {argument!r} is not a setting. 'lagoon {verb}' takes settings KEY=VALUE and flags only. "
            f"See: lagoon {verb} --help"
        )
    return BadInputError(
        f"The argument {argument!r} after the command text {text!r} is not a setting KEY=VALUE. "
        f'If it belongs to the text, put the whole text in quotes: lagoon {verb} "{text} {argument}"'
    )
