"""Errors that tell a stranger what to type next.

What enters: facts about bad input. What leaves: exceptions whose text has three parts: the fact with
its value, what was expected, what to do. Every layer may import this module; it imports no other part of lagoon.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType
from typing import Literal

from lagoon import __version__


class LagoonError(Exception):
    """Base of every error that lagoon raises on purpose; the CLI prints it without a traceback."""

    exit_code: int = 2


class BadInputError(LagoonError):
    """A value, file or name given by the user cannot be used."""


class BadSettingError(BadInputError):
    """A setting is outside its range. Its dataclass does not know where it is used; the command line names the key."""

    def __init__(self, owner: str, name: str, value: object, expected: str) -> None:
        """Args: owner: the dataclass; name: its field; value: what it holds; expected: in words."""
        self.owner, self.name, self.value, self.expected = owner, name, value, expected
        super().__init__(f"{owner}.{self._fact(name)}. Set it with {name}=VALUE.")

    @classmethod
    def of(cls, config: object, name: str, expected: str) -> BadSettingError:
        """Return the error for a field of a settings dataclass, with the value that it holds now."""
        return cls(type(config).__name__, name, getattr(config, name), expected)

    def typed_as(self, key: str) -> BadInputError:
        """Return the error for a user who types ``key``."""
        return BadInputError(f"{self._fact(key)}. Type {key}=VALUE.")

    def _fact(self, name: str) -> str:
        value = repr(self.value) if isinstance(self.value, str) else self.value
        return f"{name} is {value}; expected {self.expected}"


class CorruptFileError(LagoonError):
    """A file exists but its content is damaged, tampered with, or of another schema version."""


Refusal = Literal["empty", "gibberish", "language", "question", "unsafe", "impossible", "out_of_scope"]
"""Why a command is refused."""


class RefusedCommandError(LagoonError):
    """The command is outside what the text-to-motion model knows, or outside what a robot should be told."""

    exit_code = 3

    def __init__(self, text: str, reason: Refusal = "out_of_scope") -> None:
        """Args: text: what to print; reason: the kind of refusal, for code that asks."""
        super().__init__(text)
        self.reason: Refusal = reason


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
            f"The package '{module}' is not installed, and this step needs it. Install it with: {install_line(extra)}"
        ) from error


def install_line(extra: str = "") -> str:
    """Return the line that installs lagoon, from the checkout or the wheel that this lagoon came from.

    The bare name would fetch another project: on PyPI, lagoon belongs to somebody else.

    Args:
        extra: an extra to install with it, for example ``"train"``, or several with commas between.
    """
    extras = f"[{extra}]" if extra else ""
    checkout = _checkout()
    return f'pip install -e "{checkout}{extras}"' if checkout else f'pip install "{_wheel()}{extras}"'


def restore_line() -> str:
    """Return the line that brings back lagoon's own data files, configs/ and assets/."""
    checkout = _checkout()
    if checkout:
        return f"git{'' if checkout == '.' else f' -C {checkout!r}'} restore assets configs"
    return f'pip install --force-reinstall --no-deps "{_wheel()}"'


def _checkout() -> str:
    """The folder of the checkout that lagoon runs from, ``.`` if it is the working folder; empty when installed."""
    root = Path(__file__).resolve().parent.parent
    if not (root / "pyproject.toml").is_file():
        return ""
    return "." if Path.cwd() == root else str(root)


def _wheel() -> str:
    """Path of the wheel that was installed, as pip noted it; otherwise its name in a folder to be filled in."""
    import json
    from importlib.metadata import PackageNotFoundError, distribution
    from urllib.parse import unquote, urlsplit

    try:
        noted = json.loads(distribution("lagoon").read_text("direct_url.json") or "{}")
    except (PackageNotFoundError, ValueError):
        noted = {}
    address = urlsplit(str(noted.get("url", "")))
    path = unquote(address.path)
    found = address.scheme == "file" and path.endswith(".whl") and Path(path).is_file()
    return path if found else f"PATH/lagoon-{__version__}-py3-none-any.whl"


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
