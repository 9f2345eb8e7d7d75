"""Turns the stages' frozen dataclasses into schemas that Hydra can fill, and filled schemas back.

What enters: a dataclass from ``lagoon/<stage>/config.py``. What leaves: an OmegaConf node with its
types and defaults, its field texts, and at the end an instance of that very dataclass. The detour is
needed because OmegaConf makes frozen dataclasses read-only, and knows neither Literal nor tuples.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
import types
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields, is_dataclass, make_dataclass
from functools import cache
from itertools import pairwise
from keyword import iskeyword
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from lagoon.errors import BadSettingError

T = TypeVar("T")


def setting_name(name: str) -> str:
    """Name of a field as the user types it: ``import_`` is ``import``, a word that Python keeps for itself."""
    return name.removesuffix("_")


def field_key(key: str) -> str:
    """The dotted name of a setting as the dataclasses have it: the reverse of setting_name."""
    return ".".join(part + "_" if iskeyword(part) else part for part in key.split("."))


@dataclass(frozen=True)
class Option:
    """One setting as the help table shows it."""

    key: str
    """Dotted name, for example ``train.ppo.minutes``."""
    kind: str
    """Type in words."""
    default: Any
    literal: bool
    """True when only the listed words are allowed."""
    doc: str
    """The text under the field in its dataclass."""


@cache
def schema_of(config: type) -> type:
    """Return a plain dataclass with the fields of ``config`` in types that OmegaConf knows."""
    hints = get_type_hints(config)
    made: list[Any] = []
    for item in fields(config):
        kind = hints[item.name]
        if is_dataclass(kind):
            made.append((item.name, schema_of(kind), field(default_factory=schema_of(kind))))
            continue
        value = default_of(item)
        plain = list(value) if isinstance(value, tuple) else value
        factory = (lambda v=plain: list(v)) if isinstance(plain, list) else None
        made.append((item.name, _plain(kind), field(default_factory=factory) if factory else field(default=plain)))
    return make_dataclass(config.__name__, made)


def build(config: type[T], values: Mapping[str, Any], prefix: str = "") -> T:
    """Return ``config(**values)`` with nested dataclasses and tuples restored; its own checks run.

    Args:
        config: the frozen dataclass.
        values: plain data, as ``OmegaConf.to_container`` or ``to_plain`` give it; absent keys keep defaults.
        prefix: dotted name of the dataclass in the settings, with a dot at its end.

    Raises:
        BadInputError: from the dataclass's own checks; a BadSettingError has the section as its owner.
    """
    hints = get_type_hints(config)
    filled: dict[str, Any] = {}
    for item in fields(config):  # type: ignore[arg-type]
        if setting_name(item.name) not in values:
            continue
        kind, value = hints[item.name], values[setting_name(item.name)]
        if is_dataclass(kind):
            value = build(kind, value, f"{prefix}{setting_name(item.name)}.")  # type: ignore[arg-type]
        elif isinstance(value, list) and _holds_tuple(kind):
            value = tuple(value)
        filled[item.name] = value
    try:
        return config(**filled)
    except BadSettingError as error:
        raise BadSettingError(prefix.rstrip("."), error.name, error.value, error.expected) from error


def to_plain(config: Any) -> dict[str, Any]:
    """Return a config instance as mappings, lists, numbers and text, fit for YAML and JSON."""
    plain: dict[str, Any] = {}
    for item in fields(config):
        value = getattr(config, item.name)
        if is_dataclass(value):
            value = to_plain(value)
        elif isinstance(value, tuple):
            value = list(value)
        plain[setting_name(item.name)] = value
    return plain


def options_of(config: type, prefix: str = "") -> list[Option]:
    """List every leaf setting of a dataclass, depth first, with its text."""
    hints, docs = get_type_hints(config), field_docs(config)
    found: list[Option] = []
    for item in fields(config):
        kind = hints[item.name]
        if is_dataclass(kind):
            found += options_of(kind, f"{prefix}{setting_name(item.name)}.")  # type: ignore[arg-type]
        else:
            literal = get_origin(kind) is Literal
            key, doc = prefix + setting_name(item.name), docs.get(item.name, "")
            found.append(Option(key, words(kind), default_of(item), literal, doc))
    return found


@cache
def field_docs(config: type) -> dict[str, str]:
    """Read the string under each field from the class's source, base classes included."""
    docs: dict[str, str] = {}
    for kind in reversed(config.__mro__):
        if not is_dataclass(kind):
            continue
        body = ast.parse(textwrap.dedent(inspect.getsource(kind))).body[0].body  # type: ignore[attr-defined]
        for statement, after in pairwise(body):
            is_text = isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant)
            if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name) and is_text:
                docs[statement.target.id] = " ".join(str(after.value.value).split())  # type: ignore[attr-defined]
    return docs


def words(kind: Any) -> str:
    """Name a type in words a stranger understands."""
    if get_origin(kind) is Literal:
        return " | ".join(str(choice) for choice in get_args(kind))
    if _is_union(kind):
        return " | ".join("null" if arg is type(None) else words(arg) for arg in get_args(kind))
    if get_origin(kind) in (tuple, list):
        return "[" + words(get_args(kind)[0]) + ", ...]"
    return {int: "whole number", float: "number", bool: "true | false", str: "text"}.get(kind, str(kind))


def default_of(item: Any) -> Any:
    """Return a field's default; every setting has one."""
    if item.default is not MISSING:
        return item.default
    if item.default_factory is MISSING:
        raise TypeError(f"The setting '{item.name}' has no default; every field of a config dataclass needs one.")
    return item.default_factory()


def _plain(kind: Any) -> Any:
    """Map a type to the nearest one that OmegaConf checks."""
    if get_origin(kind) is Literal:
        return type(get_args(kind)[0])
    if _is_union(kind):
        return Union[tuple(_plain(arg) for arg in get_args(kind))]  # noqa: UP007
    if get_origin(kind) in (tuple, list):
        return list[_plain(get_args(kind)[0])]  # type: ignore[misc]
    return kind


def _is_union(kind: Any) -> bool:
    return get_origin(kind) in (Union, types.UnionType)


def _holds_tuple(kind: Any) -> bool:
    return get_origin(kind) is tuple or (_is_union(kind) and any(get_origin(arg) is tuple for arg in get_args(kind)))
