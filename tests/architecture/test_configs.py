import dataclasses
import importlib
import re
from pathlib import Path

import pytest
import yaml

from lagoon.cli.__main__ import VERBS, load_verb
from lagoon.cli.compose import compose_config
from lagoon.cli.schema import build, default_of, field_docs, options_of, setting_name, to_plain

ROOT = Path(__file__).parents[2]
CONFIG_MODULES = sorted(
    ".".join(path.relative_to(ROOT).with_suffix("").parts) for path in (ROOT / "lagoon").glob("*/config.py")
)


def _classes(module: str) -> list[type]:
    loaded = vars(importlib.import_module(module)).values()
    return [c for c in loaded if dataclasses.is_dataclass(c) and isinstance(c, type) and c.__module__ == module]


CLASSES = [config for module in CONFIG_MODULES for config in _classes(module)]
PRESETS = sorted((path.parent.name, path.stem) for path in (ROOT / "configs").glob("*/*.yaml"))


@pytest.mark.parametrize("config", CLASSES, ids=lambda c: f"{c.__module__.split('.')[1]}.{c.__name__}")
def test_every_setting_says_what_it_is(config: type) -> None:
    docs = field_docs(config)
    assert [field.name for field in dataclasses.fields(config) if not docs.get(field.name)] == []
    assert config.__dataclass_params__.frozen, "configs are frozen"
    assert config.__doc__ and not config.__doc__.startswith(config.__name__ + "("), "the class needs a docstring"


@pytest.mark.parametrize("name", VERBS)
def test_every_verb_composes_to_its_defaults_and_back(name: str) -> None:
    config = load_verb(name).config
    composed = compose_config(name, config, [])
    assert composed.config == config()
    assert build(config, to_plain(composed.config)) == composed.config


@pytest.mark.parametrize("name", VERBS)
def test_every_verb_has_its_file_in_configs(name: str) -> None:
    file = name.replace(" ", "_")
    raw = yaml.safe_load((ROOT / "configs" / f"{file}.yaml").read_text())
    assert raw["defaults"][0] == f"/schema/{file}@_here_" and raw["defaults"][-1] == "_self_"
    assert len(raw["defaults"]) == 2 + sum(dataclasses.is_dataclass(v) for v in vars(load_verb(name).config()).values())


def test_a_section_has_one_class_in_every_verb() -> None:
    sections: dict[str, type] = {}
    for name in VERBS:
        for field in dataclasses.fields(load_verb(name).config):
            value = default_of(field)
            if dataclasses.is_dataclass(value):
                assert sections.setdefault(field.name, type(value)) is type(value)
    assert set(sections) == {
        "align",
        "generate",
        "import_",
        "retarget",
        "train",
        "evaluate",
        "preview",
        "play",
        "deploy",
        "ray",
        "slurm",
    }


@pytest.mark.parametrize(("section", "preset"), PRESETS)
def test_every_preset_composes(section: str, preset: str) -> None:
    # A section is named as its verb, belongs to a group of verbs such as deploy check, or to one that has several.
    own = [name for name in VERBS if name == section or name.startswith(section + " ")]
    verb = next(iter(own), None) or next(name for name in VERBS if hasattr(load_verb(name).config(), section))
    composed = compose_config(verb, load_verb(verb).config, [f"{section}={preset}"])
    raw = yaml.safe_load((ROOT / "configs" / section / f"{preset}.yaml").read_text()) or {}
    assert all(composed.values[section][key] == value for key, value in raw.items() if not isinstance(value, dict))


def test_every_file_in_configs_is_read_by_something() -> None:
    """A preset nobody can name, or a verb's file without a verb, would be edited in vain."""
    sections = {setting_name(field.name) for name in VERBS for field in dataclasses.fields(load_verb(name).config)}
    mains = r'data_dir\("configs"\)((?: / "\w+")*)\), config_name="(\w+)"'
    texts = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "lagoon").rglob("*.py"))
    opened = {"/".join([*re.findall(r"\w+", folder), name]) for folder, name in re.findall(mains, texts)}
    orphans = []
    for path in sorted((ROOT / "configs").rglob("*")):
        if path.is_dir():
            continue
        name = path.relative_to(ROOT / "configs").with_suffix("")
        read = str(name).replace("_", " ") in VERBS or str(name.parent) in sections or str(name) in opened
        if path.suffix != ".yaml" or not read:
            orphans.append(path.relative_to(ROOT).as_posix())
    assert orphans == []


def test_short_names_used_in_the_documentation_stay_unique() -> None:
    options = [option.key for option in options_of(load_verb("make").config)]
    for short in ("minutes", "total_steps", "workers", "morphology", "duration", "trials", "video"):
        assert sum(key.endswith("." + short) for key in options) == 1, short
