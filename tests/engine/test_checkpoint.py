import json
import logging

import numpy as np
import pytest
import torch

import lagoon.engine.checkpoint as checkpoint_module
from lagoon.engine.checkpoint import (
    checkpoint_paths,
    latest_checkpoint,
    load_checkpoint,
    pack_state,
    save_checkpoint,
    unpack_state,
)
from lagoon.errors import CorruptFileError, LagoonError


def save(folder, step, keep=3):
    return save_checkpoint(folder, step, {"policy/w": torch.full((4,), float(step))}, {"iteration": step // 10}, keep)


def test_what_was_saved_comes_back(tmp_path):
    tensors = {"policy/w": torch.randn(3, 4), "ranks/0/x": torch.tensor(7)}
    path = save_checkpoint(tmp_path, 120, tensors, {"iteration": 3, "lr": 0.1 + 0.2, "list": [1, (2, 3)]}, 3)
    loaded = load_checkpoint(path)
    assert loaded.facts["step"] == 120
    assert loaded.facts["lr"] == 0.1 + 0.2
    assert loaded.facts["list"] == [1, [2, 3]]
    assert torch.equal(loaded.group("policy")["w"], tensors["policy/w"])
    assert load_checkpoint(path.with_suffix(".safetensors")).path == path


def test_the_last_three_are_kept(tmp_path):
    for step in (10, 20, 30, 40, 50):
        save(tmp_path, step)
    assert [path.stem for path in checkpoint_paths(tmp_path)] == [f"step_{step:012d}" for step in (30, 40, 50)]
    assert len(list(tmp_path.iterdir())) == 6


def test_saving_a_step_again_replaces_it(tmp_path):
    save(tmp_path, 10)
    save_checkpoint(tmp_path, 10, {"policy/w": torch.zeros(1)}, {"iteration": 9}, 3)
    assert load_checkpoint(checkpoint_paths(tmp_path)[0]).facts["iteration"] == 9


def flip_byte(path, position):
    data = bytearray(path.read_bytes())
    data[position] ^= 1
    path.write_bytes(bytes(data))


def truncate(path, position):
    path.write_bytes(path.read_bytes()[:position])


@pytest.mark.parametrize("damage", [lambda p: flip_byte(p, -1), lambda p: truncate(p, 20), lambda p: p.unlink()])
@pytest.mark.parametrize("suffix", [".json", ".safetensors"])
def test_damage_is_named_and_the_one_before_is_used(tmp_path, damage, suffix, caplog):
    save(tmp_path, 10)
    bad = save(tmp_path, 20).with_suffix(suffix)
    damage(bad)
    with pytest.raises(CorruptFileError) as error:
        load_checkpoint(bad)
    assert str(bad) in str(error.value)
    assert "Delete this checkpoint" in str(error.value)
    with caplog.at_level(logging.WARNING):
        found = latest_checkpoint(tmp_path)
    assert found is not None
    assert found.facts["step"] == 10
    if bad.with_suffix(".json").exists():  # Without its JSON a checkpoint does not exist, so nothing is damaged.
        assert str(bad) in caplog.text


def test_a_changed_fact_is_noticed(tmp_path):
    path = save(tmp_path, 10)
    body = json.loads(path.read_text())
    body["iteration"] += 1
    path.write_text(json.dumps(body))
    with pytest.raises(CorruptFileError, match="does not match its own sha256"):
        load_checkpoint(path)


def test_all_damaged_is_an_error_and_none_is_none(tmp_path):
    assert latest_checkpoint(tmp_path / "nothing") is None
    for step in (10, 20):
        flip_byte(save(tmp_path, step), 5)
    with pytest.raises(CorruptFileError):
        latest_checkpoint(tmp_path)


def test_another_schema_version_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(checkpoint_module, "SCHEMA_VERSION", 99)
    path = save(tmp_path, 10)
    monkeypatch.undo()
    with pytest.raises(CorruptFileError, match="schema version 99; this lagoon reads 1"):
        load_checkpoint(path)


def test_a_full_disk_leaves_older_checkpoints_alone(tmp_path, small_disk):
    save(tmp_path, 10)
    with (
        small_disk(100),
        pytest.raises(LagoonError, match=r"Could not write .*step_000000000020\.safetensors: File too large"),
    ):
        save(tmp_path, 20)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "step_000000000010.json",
        "step_000000000010.safetensors",
    ]
    found = latest_checkpoint(tmp_path)
    assert found is not None
    assert found.facts["step"] == 10


def test_nested_state_with_generators_and_arrays_comes_back(tmp_path):
    generator = np.random.default_rng(5)
    generator.random(3)
    state = {
        "rng": generator.bit_generator.state,
        "table": np.arange(6, dtype=np.float64).reshape(2, 3),
        "torch": torch.arange(3),
        "deep": [{"level": np.int64(4)}, None, "text"],
    }
    tensors = {}
    packed = pack_state(state, "ranks/0", tensors)
    path = save_checkpoint(tmp_path, 1, tensors, {"ranks": [packed]}, 3)
    loaded = load_checkpoint(path)
    back = unpack_state(loaded.facts["ranks"][0], loaded.tensors)
    other = np.random.default_rng()
    other.bit_generator.state = back["rng"]
    assert other.random() == generator.random()
    assert isinstance(back["table"], np.ndarray)
    assert np.array_equal(back["table"], state["table"])
    assert torch.equal(back["torch"], state["torch"])
    assert back["deep"] == [{"level": 4}, None, "text"]
