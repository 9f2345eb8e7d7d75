from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import yaml

from lagoon.errors import BadInputError, CorruptFileError
from lagoon.text2motion.model import FILES, load_model, model_path


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    return Path(shutil.copytree(model_path("default"), tmp_path / "copy"))


def test_default_model_is_small_and_has_a_card():
    folder = model_path("default")
    assert sum(path.stat().st_size for path in folder.iterdir()) < 12e6
    card = (folder / "MODEL_CARD.md").read_text(encoding="utf-8")
    assert "mocap.cs.cmu.edu" in card and "EIA-0196217" in card and "## Limits" in card


def test_default_model_was_trained_on_no_restricted_clip():
    details = load_model("default").details
    assert set(details["sets"]) <= {"permissive", "authored"}
    assert not [name for name in details["licenses"] if "NC" in name or "SA" in name.replace("NSA", "")]


def test_the_default_model_has_a_network_that_compares_words_and_motions():
    assert load_model("default").matcher is not None


def test_unknown_model_lists_the_known_ones():
    with pytest.raises(
        BadInputError, match=r"'nonsense' is not known\. Known: default, text2motion-parts, text2motion-small"
    ):
        load_model("nonsense")


def test_missing_files_are_all_named(copy):
    (copy / FILES[1]).unlink()
    (copy / FILES[2]).unlink()
    with pytest.raises(BadInputError, match=r"weights\.safetensors, commands\.safetensors"):
        load_model(str(copy))


def test_changed_weights_are_refused(copy):
    weights = copy / FILES[1]
    content = bytearray(weights.read_bytes())
    content[-1] ^= 1
    weights.write_bytes(bytes(content))
    with pytest.raises(CorruptFileError, match="sha256"):
        load_model(str(copy))


def test_another_schema_version_is_refused(copy):
    path = copy / FILES[0]
    content = yaml.safe_load(path.read_text())
    content["schema_version"] = 99
    path.write_text(yaml.safe_dump(content))
    with pytest.raises(CorruptFileError, match="schema version 99, expected 1"):
        load_model(str(copy))


def test_sizes_that_do_not_fit_are_refused(copy):
    path = copy / FILES[0]
    content = yaml.safe_load(path.read_text())
    content["sizes"]["layers"] += 1
    path.write_text(yaml.safe_dump(content))
    with pytest.raises(CorruptFileError, match="cannot be used"):
        load_model(str(copy))
