"""Splits what the shell passes into a command text, settings and flags.

What enters: the arguments after the verb. What leaves: Arguments. The rule, so that any text is safe:

    The first argument that is not a flag is the text, always, whatever it holds; so is whatever
    follows ``--``. Every later argument is a setting KEY=VALUE or a flag.

A text that looks like a flag therefore needs ``--`` before it: ``lagoon make -- "--help"``.

A verb of files takes every argument that is neither a setting nor a flag as a file, and all that follow ``--``.
A verb of skills takes the first argument as above, and every later one without a = as a further skill; after ``--``
any of them. So does ``make`` with the flag ``--each``, for commands.
A flag of VALUES takes the next argument whatever it holds; it is another way to write a setting.
After ``--motion FILE`` the text may be left out, so what looks like a setting there is one.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from lagoon.errors import BadInputError

FLAGS = {
    "--help": "show this text",
    "--cfg": "print all settings as they would be used, run nothing",
    "--again": "run the stage even if it is finished and unchanged",
    "--force": "generate a motion for a command that the gate refuses; only an empty one stays refused",
    "--show": "write candidates.html, the sampled motions side by side",
    "--motion": "FILE: import this motion file instead of generating from the words, the same as motion=FILE",
    "--fix": "change a motion that is not trackable to the nearest one that is, the same as retarget.fix=true",
    "--caption": "TEXT: what the motion shows, the same as caption=TEXT",
    "--each": "take every plain argument as a command of its own, and make them side by side",
    "--profile": "record where a training's time goes, into train/profile/, the same as train.ppo.profile=true",
    "--plain": "show a training as a progress bar instead of a dashboard",
    "--sim": "run over the fake robot, in real time",
    "--dry-run": "read and compute, send nothing, and show what would be sent",
}
_OWN = ("--show", "--fix", "--each", "--profile", "--plain", "--sim", "--dry-run")
COMMON = tuple(flag for flag in FLAGS if flag not in _OWN)
"""Flags of the verbs that make skills."""
VALUES = {"--motion": "motion", "--caption": "caption"}
"""Flags that take the next argument, and the setting that each writes."""
SETTINGS = {"--fix": "retarget.fix=true", "--profile": "train.ppo.profile=true"}
"""Flags that are another way to write a setting."""
_SHORT = {"-h": "--help"}
_SETTING = re.compile(r"[a-z_]+(\.[a-z_]+)*=")


@dataclass(frozen=True)
class Arguments:
    """What the user asked for, not yet checked against the settings that exist."""

    text: str | None
    """The first plain argument: a command, a skill's folder name, or a skill folder; None when there is none."""
    overrides: tuple[str, ...]
    """``KEY=VALUE`` as typed."""
    flags: frozenset[str]
    """Flags by their long name."""
    files: tuple[str, ...] = ()
    """Plain arguments of a verb of files."""
    more: tuple[str, ...] = ()
    """Plain arguments of a verb of skills, after the first."""


def split(
    arguments: Sequence[str],
    verb: str,
    takes_text: bool,
    takes_files: bool = False,
    known: Sequence[str] = COMMON,
    takes_more: bool = False,
) -> Arguments:
    """Apply the rule above.

    Args:
        arguments: what followed the verb.
        verb: for the messages.
        takes_text: False for verbs such as doctor; then every argument is a setting or a flag.
        takes_files: True for verbs whose plain arguments are all files.
        known: flags of this verb, for the messages.
        takes_more: True for verbs whose plain arguments are skills.

    Raises:
        BadInputError: an unknown flag, one without its value, or a later argument that is no setting.
    """
    text: str | None = None
    overrides: list[str] = []
    flags: set[str] = set()
    files: list[str] = []
    more: list[str] = []
    only_plain = False
    left = list(arguments)
    takes_more = takes_more or "--each" in left[: left.index("--") if "--" in left else len(left)]
    while left:
        argument = left.pop(0)
        expects_text = (takes_text and text is None) or takes_files or takes_more
        if argument == "--" and not only_plain:
            only_plain = True
        elif not (only_plain and expects_text) and argument.startswith("-") and len(argument) > 1:
            name, equals, value = argument.partition("=")
            flag = _flag(name if name in VALUES else argument, verb, expects_text, known)
            flags.add(flag)
            if flag in SETTINGS:
                overrides.append(SETTINGS[flag])
            if flag in VALUES:
                overrides.append(f"{VALUES[flag]}={value if equals else _value(flag, left, verb)}")
        elif expects_text and "--motion" in flags and not only_plain and _SETTING.match(argument):
            overrides.append(argument)  # The file may stand for the text.
        elif takes_files:
            setting = not only_plain and _SETTING.match(argument) and not Path(argument).exists()
            (overrides if setting else files).append(_checked_text(argument))
        elif expects_text and text is None:
            text = _checked_text(argument)
        elif takes_more and (only_plain or "=" not in argument):
            more.append(_checked_text(argument))
        elif "=" in argument:
            overrides.append(argument)
        else:
            raise _stray(argument, verb, text, "--each" in known)
    return Arguments(text, tuple(overrides), frozenset(flags), tuple(files), tuple(more))


def _value(flag: str, left: list[str], verb: str) -> str:
    if not left:
        raise BadInputError(f"The flag {flag} needs a value after it: lagoon {verb} ... {flag} VALUE")
    return left.pop(0)


def _flag(argument: str, verb: str, expects_text: bool, known: Sequence[str]) -> str:
    name = _SHORT.get(argument, argument)
    if name in FLAGS:
        return name
    near = difflib.get_close_matches(argument, known, n=1)
    advice = f"Did you mean {near[0]}?" if near else f"See: lagoon {verb} --help"
    if expects_text:
        advice += f' If it is the command text, put -- before it: lagoon {verb} -- "{argument}"'
    raise BadInputError(f"The flag {argument!r} is not known. Flags of 'lagoon {verb}': {', '.join(known)}. {advice}")


def _checked_text(text: str) -> str:
    """Refuse bytes that are not text: they could not be written to skill.yaml."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise BadInputError(
            f"The command text {text!a} is not valid UTF-8. Set a UTF-8 locale (LC_ALL=C.UTF-8) and type it again."
        ) from error
    return text


def _stray(argument: str, verb: str, text: str | None, each: bool) -> BadInputError:
    if text is None:
        return BadInputError(
            f"The argument {argument!r} is not a setting. 'lagoon {verb}' takes settings KEY=VALUE and flags only. "
            f"See: lagoon {verb} --help"
        )
    return BadInputError(
        f"The argument {argument!r} after the command text {text!r} is not a setting KEY=VALUE. "
        f'If it belongs to the text, put the whole text in quotes: lagoon {verb} "{text} {argument}"'
        + (f'. If it is another command: lagoon {verb} --each "{text}" "{argument}"' if each else "")
    )
