"""Composes a verb's settings with Hydra: schemas from dataclasses, values from configs/, then overrides.

What enters: a verb's config dataclass and ``KEY=VALUE`` arguments. What leaves: an instance of that
dataclass; the rest of lagoon never sees a DictConfig. Hydra's compose API is used, so the working
folder stays and no outputs/ appears. A wrong key or value is refused with the nearest right ones.
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hydra import compose, initialize_config_dir
from hydra.core.config_store import ConfigStore
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.errors import HydraException
from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException

from lagoon.cli.schema import Option, build, field_key, options_of, schema_of, setting_name
from lagoon.errors import BadInputError, BadSettingError, unknown_name
from lagoon.paths import data_dir

_LARGEST = 2**53
"""Beyond it whole numbers are no longer exact in JSON, and no setting has a use for them."""


@dataclass(frozen=True)
class Composed:
    """A verb's settings, filled."""

    config: Any
    """Instance of the verb's dataclass."""
    values: dict[str, Any]
    """The same as plain data."""
    given: frozenset[str]
    """Dotted names of the settings that the user typed."""
    typed: tuple[tuple[str, str], ...] = ()
    """(full dotted name or section, word as typed) of each argument, in order."""


@dataclass(frozen=True)
class _Override:
    """One ``KEY=VALUE`` whose key is known to exist."""

    key: str
    text: str
    option: Option


def compose_config(verb: str, config: type, overrides: Sequence[str], config_dir: Path | None = None) -> Composed:
    """Fill a verb's settings.

    Args:
        verb: for example ``"train"``; its file in configs/ has the same name, with underscores for spaces.
        config: the verb's dataclass.
        overrides: ``KEY=VALUE`` as typed. A key may leave out names in the middle as long as only one setting
            fits (``train.minutes`` for ``train.ppo.minutes``). The value of a text setting is taken as it is.
        config_dir: configs/ unless a test gives another.

    Raises:
        BadInputError: a key, a value or a file in configs/ does not fit; nothing has been run.
    """
    folder = config_dir or data_dir("configs")
    options = {option.key: option for option in options_of(config)}
    presets = {section: _choices(folder / section) for section in _heads(options)}
    groups = {section: choices for section, choices in presets.items() if choices}
    selections: list[str] = []
    changes: list[_Override] = []
    typed_words: list[tuple[str, str]] = []
    for override in overrides:
        key, text = _key_and_value(override)
        if key in groups:
            if text not in groups[key]:
                raise unknown_name(f"Preset of '{key}'", text, groups[key], f"Choose one with {key}=NAME.")
            package = "" if field_key(key) == key else f"@{field_key(key)}"
            selections.append(f"{key}{package}={text}")
            typed_words.append((key, override))
        else:
            full = _full_key(key, options, list(groups), verb)
            changes.append(_Override(full, text, options[full]))
            typed_words.append((full, override))
    for change in changes:
        _check_value(config, change)
    literal = {change.key: change for change in changes if "text" in change.option.kind.split(" | ")}
    typed = [f"{field_key(change.key)}={_number(change)}" for change in changes if change.key not in literal]
    name = verb.replace(" ", "_")
    ConfigStore.instance().store(name=name, group="schema", node=schema_of(config), provider="lagoon")
    try:
        with initialize_config_dir(str(folder.resolve()), version_base="1.3"):
            composed = compose(name, overrides=selections + typed)
        values = OmegaConf.to_container(composed, resolve=True, throw_on_missing=True)
    except (HydraException, OmegaConfBaseException) as error:
        cause = " ".join(str(error).split())
        raise BadInputError(
            f"The settings of 'lagoon {verb}' could not be composed: {cause}. Look at {folder / (name + '.yaml')} and "
            f"the files it names, and at: lagoon {verb} --help"
        ) from error
    assert isinstance(values, dict)
    plain: dict[str, Any] = {setting_name(str(key)): value for key, value in values.items()}
    for change in literal.values():
        _put(plain, change.key, _text_value(change))
    given = frozenset(change.key for change in changes)
    try:
        return Composed(build(config, plain), plain, given, tuple(typed_words))
    except BadSettingError as error:
        key = f"{error.owner}.{error.name}".lstrip(".")
        typed = [word.partition("=")[0].strip() for full, word in typed_words if full == key]
        raise error.typed_as(typed[-1] if typed else key) from error


def is_setting(text: str, config: type) -> bool:
    """Tell whether a text reads like a setting of a verb: ``seed=3`` in the place of the command."""
    key, equals, _ = text.partition("=")
    options = {option.key: option for option in options_of(config)}
    groups = list(_heads(options))
    try:
        return bool(equals) and (key in groups or _full_key(key, options, groups, "") in options)
    except BadInputError:
        return False


def _choices(folder: Path) -> list[str]:
    return sorted(path.stem for path in folder.glob("*.yaml"))


def _key_and_value(override: str) -> tuple[str, str]:
    key, _, text = override.partition("=")
    key = key.strip()
    if key[:1] in ("+", "~"):
        raise BadInputError(
            f"The setting {override!r} adds or removes a key. Settings can only be changed: {key.lstrip('+~')}=VALUE."
        )
    return key, text


def _full_key(key: str, options: dict[str, Option], groups: list[str], verb: str) -> str:
    """Complete a key, or refuse it with the nearest ones."""
    if key in options:
        return key
    first, _, rest = key.partition(".")
    inside = [name for name in options if name.endswith("." + (rest or first)) and (not rest or _head(name) == first)]
    if len(inside) == 1:
        return inside[0]
    if inside:
        raise BadInputError(f"The setting '{key}' could be any of: {', '.join(inside)}. Type one of them in full.")
    see = f"All settings: lagoon {verb} --cfg"
    within = [name for name in options if name.startswith(key + ".")]
    if within:
        preset = f" It also takes the name of a preset: {key}=NAME." if key in groups else ""
        raise BadInputError(f"'{key}' is a group of settings, such as {', '.join(within[:3])}.{preset} {see}")
    near = _nearest(key, [*options, *groups])
    guess = f"Nearest: {', '.join(near)}." if near else f"Groups and settings: {', '.join(_heads(options))}."
    raise BadInputError(f"The setting '{key}' does not exist in 'lagoon {verb}'. {guess} {see}")


def _head(key: str) -> str:
    return key.partition(".")[0]


def _heads(options: dict[str, Option]) -> list[str]:
    return list(dict.fromkeys(_head(key) for key in options))


def _nearest(key: str, names: Sequence[str]) -> list[str]:
    """Compare whole names and last parts: ``minuts`` is near ``train.ppo.minutes`` only by its last part."""

    def score(name: str) -> float:
        whole = difflib.SequenceMatcher(None, key, name).ratio()
        last = difflib.SequenceMatcher(None, key.rpartition(".")[2], name.rpartition(".")[2]).ratio()
        return max(whole, last) + (0.1 if _head(key) == _head(name) else 0.0)

    scores = {name: score(name) for name in names}
    best = sorted(scores, key=lambda name: (-scores[name], name))
    floor = max(0.75, scores[best[0]] - 0.12)
    return [name for name in best[:3] if scores[name] >= floor]


def _check_value(config: type, change: _Override) -> None:
    """Refuse a value of the wrong type with the setting's own words."""
    option = change.option
    wrong = (
        f"{change.key}={change.text}: expected {option.kind} (default {_yaml(option.default)}). "
        f"{option.doc} Type {change.key}=VALUE."
    )
    if "text" in option.kind.split(" | "):
        return
    choices = option.kind.split(" | ")
    if "${" in change.text:
        raise BadInputError(wrong)
    try:
        override = OverridesParser.create().parse_override(f"{field_key(change.key)}={_number(change)}")
        if override.is_sweep_override():
            raise BadInputError(wrong)
        OmegaConf.update(OmegaConf.structured(schema_of(config)), field_key(change.key), override.value())
    except (HydraException, OmegaConfBaseException) as error:
        raise BadInputError(wrong) from error
    value = override.value()
    if (option.literal and str(value) not in choices) or (isinstance(value, int) and abs(value) > _LARGEST):
        raise BadInputError(wrong)


def _number(change: _Override) -> str:
    """Accept ``1e6`` where a whole number is expected: it is how step counts are written."""
    if "whole number" in change.option.kind.split(" | "):
        try:
            value = float(change.text)
        except ValueError:
            return change.text
        if value.is_integer() and abs(value) < 2**53:
            return str(int(value))
    return change.text


def _text_value(change: _Override) -> str | None:
    nullable = "null" in change.option.kind.split(" | ")
    return None if nullable and change.text == "null" else change.text


def _put(values: dict[str, Any], key: str, value: Any) -> None:
    *parents, last = key.split(".")
    for parent in parents:
        values = values[parent]
    values[last] = value


def _yaml(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return str(list(value)) if isinstance(value, tuple) else str(value)
