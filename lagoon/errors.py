"""Errors that tell a stranger what to type next.

What enters: facts about bad input. What leaves: exceptions whose text has three parts: the fact with
its value, what was expected, what to do. Every layer may import this module; it imports nothing.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from types import ModuleType


class LagoonError(Exception):
    """Base of every error that lagoon raises on purpose; the CLI prints it without a traceback."""

    exit_code: int = 2


class BadInputError(LagoonError):
    """A value, file or name given by the user cannot be used."""


class CorruptFileError(LagoonError):
    """A file exists but its content is damaged, tampered with, or of another schema version."""


class RefusedCommandError(LagoonError):
    """The command is outside what the text-to-motion model knows."""

    exit_code = 3


class StageFailedError(LagoonError):
    """A stage ran and ended in a verdict of failure (for example evaluation FAIL)."""

    exit_code = 1


class MissingExtraError(LagoonError):
    """An optional package is not installed."""


def require(module: str, extra: str) -> ModuleType:
    """Import an optional package or say which extra brings it.

    Args:
        module: dotted module name, for example ``"onnxruntime"``.
        extra: extra of the lagoon distribution that installs it.

    Returns:
        The imported module.

    Raises:
        MissingExtraError: the package is not installed.
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.split(".")[0] != module.split(".")[0]:
            raise
        raise MissingExtraError(
            f"The package '{module}' is not installed, and this step needs it. "
            f'Install it with: pip install "lagoon[{extra}]"'
        ) from error


def unknown_name(kind: str, name: str, known: Iterable[str], hint: str = "") -> BadInputError:
    """Build the error for a name that is not among the known ones.

    Args:
        kind: what the name names, singular, for example ``"Robot"``.
        name: the name given.
        known: every name that would have been accepted.
        hint: a closing sentence that says what to do.

    Returns:
        The error, ready to be raised.
    """
    text = f"{kind} '{name}' is not known. Known: {', '.join(sorted(known)) or 'none'}."
    return BadInputError(f"{text} {hint}".strip())
