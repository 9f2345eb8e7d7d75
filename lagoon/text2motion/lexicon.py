"""The word lists in lexicon/*.yaml, read once.

What enters: the name of a list. What leaves: its content as plain data. Lists are data so that a word can be
added without touching code; each says in its comments who reads it.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import yaml

_FOLDER = Path(__file__).parent / "lexicon"
# The parser in C is ten times as fast; it is missing only where PyYAML was built without libyaml.
LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@cache
def table(name: str) -> dict[str, Any]:
    """The content of lexicon/NAME.yaml; callers do not change it."""
    return yaml.load((_FOLDER / f"{name}.yaml").read_text(encoding="utf-8"), Loader=LOADER)


@cache
def words(name: str, key: str) -> frozenset[str]:
    """A list of words, given as one text or as a YAML list."""
    content = table(name)[key]
    return frozenset(content.split() if isinstance(content, str) else content)
