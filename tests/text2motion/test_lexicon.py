from __future__ import annotations

from pathlib import Path

import pytest

from lagoon.text2motion import lexicon

NAMES = sorted(path.stem for path in (Path(lexicon.__file__).parent / "lexicon").glob("*.yaml"))


def leaves(value):
    if isinstance(value, dict):
        for key, inner in value.items():
            yield key
            yield from leaves(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from leaves(inner)
    else:
        yield value


@pytest.mark.parametrize("name", NAMES)
def test_yaml_did_not_turn_words_into_truth_values(name):
    """YAML reads an unquoted on, off, yes and no as true and false."""
    assert all(isinstance(leaf, str) or type(leaf) is int for leaf in leaves(lexicon.table(name)))


def test_lists_are_read_alike_from_text_and_from_lists():
    assert "into" in lexicon.words("refusals", "onto") and "please" in lexicon.words("english", "polite")
