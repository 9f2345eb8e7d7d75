"""Verb: what each file of this package says about its verb.

What enters: nothing. What leaves: the name, help, settings and function of a verb, for the dispatcher.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

INTERRUPTED = 130
"""Exit code after Ctrl-C."""


@dataclass(frozen=True)
class Call:
    """A checked request: what a verb's function gets."""

    text: str
    """The command, or what names a skill; empty for verbs without text."""
    config: Any
    """An instance of Verb.config."""
    given: frozenset[str]
    """Dotted names of the settings that were typed, to tell them from defaults."""
    again: bool = False
    """Run finished stages again."""
    files: tuple[str, ...] = ()
    """The files named, for verbs that take some."""
    words: tuple[str, ...] = ()
    """The whole command line, to print how to go on."""
    flags: frozenset[str] = frozenset()
    """Flags by their long name, among those of the verb."""
    more: tuple[str, ...] = ()
    """Further skills, for verbs that take several, in the order of the line."""
    typed: tuple[tuple[str, str], ...] = ()
    """(dotted name, word as typed) of each setting and preset, in the order of the line."""


@dataclass(frozen=True)
class Verb:
    """One verb of the command line."""

    name: str
    """One word, or two for a group of verbs: ``"robot check"``."""
    purpose: str
    """One line for the list of verbs."""
    text: Literal["command", "skill", "skills", "file", "files", "robot", "address", "none"]
    """What the first argument is; with skills and files, all that are no settings."""
    config: type
    """Frozen dataclass of the settings; its sections are the stages' own."""
    run: Callable[[Call], int]
    """Does it; returns the exit code."""
    examples: tuple[tuple[str, str], ...]
    """(command line, what it does)."""
    main_options: tuple[str, ...]
    """Dotted names of the settings shown by --help; --cfg shows all."""
    details: str = ""
    """A paragraph for --help."""
    flags: tuple[str, ...] = ()
    """Flags of its own, beside --help and --cfg; none means those of its kind."""
