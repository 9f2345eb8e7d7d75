"""A synthetic checkpoint with the published keys: nothing here was trained."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
import torch

from lagoon.motion import humanml3d

WIDTH, LAYERS, HEADS, FEEDFORWARD, TEXT = 32, 2, 4, 48, 512
TEXTS = ("wave hello", "walk in a circle")


def published_shapes(width: int, layers: int, feedforward: int, text: int) -> dict[str, tuple[int, ...]]:
    """Keys and shapes of a checkpoint as the published training writes it."""
    shapes: dict[str, tuple[int, ...]] = {
        "input_process.poseEmbedding.weight": (width, 263),
        "input_process.poseEmbedding.bias": (width,),
        "sequence_pos_encoder.pe": (5000, 1, width),
        "embed_timestep.sequence_pos_encoder.pe": (5000, 1, width),
        "embed_timestep.time_embed.0.weight": (width, width),
        "embed_timestep.time_embed.0.bias": (width,),
        "embed_timestep.time_embed.2.weight": (width, width),
        "embed_timestep.time_embed.2.bias": (width,),
        "embed_text.weight": (width, text),
        "embed_text.bias": (width,),
        "output_process.poseFinal.weight": (263, width),
        "output_process.poseFinal.bias": (263,),
    }
    for n in range(layers):
        layer = f"seqTransEncoder.layers.{n}."
        shapes |= {
            f"{layer}self_attn.in_proj_weight": (3 * width, width),
            f"{layer}self_attn.in_proj_bias": (3 * width,),
            f"{layer}self_attn.out_proj.weight": (width, width),
            f"{layer}self_attn.out_proj.bias": (width,),
            f"{layer}linear1.weight": (feedforward, width),
            f"{layer}linear1.bias": (feedforward,),
            f"{layer}linear2.weight": (width, feedforward),
            f"{layer}linear2.bias": (width,),
        }
        shapes |= {f"{layer}norm{k}.{part}": (width,) for k in (1, 2) for part in ("weight", "bias")}
    return shapes


def random_state(**sizes: int) -> dict[str, torch.Tensor]:
    """Random tensors of those shapes; the sines are the true ones."""
    wanted = {"width": WIDTH, "layers": LAYERS, "feedforward": FEEDFORWARD, "text": TEXT} | sizes
    generator = torch.Generator().manual_seed(0)
    state = {k: 0.2 * torch.randn(s, generator=generator) for k, s in published_shapes(**wanted).items()}
    position = torch.arange(5000.0)[:, None]
    rates = torch.exp(torch.arange(0, wanted["width"], 2) * (-math.log(10000.0) / wanted["width"]))
    sines = torch.zeros(5000, wanted["width"])
    sines[:, 0::2], sines[:, 1::2] = torch.sin(position * rates), torch.cos(position * rates)
    for key in ("sequence_pos_encoder.pe", "embed_timestep.sequence_pos_encoder.pe"):
        state[key] = sines[:, None]
    return state


def write_folder(folder: Path, state: dict[str, torch.Tensor], **args: object) -> Path:
    """A complete folder: weights, args.json, statistics, text features."""
    folder.mkdir(exist_ok=True)
    torch.save(state, folder / "model000000100.pt")
    settings = {"dataset": "humanml", "arch": "trans_enc", "diffusion_steps": 50, "noise_schedule": "cosine"}
    (folder / "args.json").write_text(json.dumps(settings | args))
    rng = np.random.default_rng(0)
    np.save(folder / "Mean.npy", rng.normal(size=263).astype(np.float32))
    np.save(folder / "Std.npy", rng.uniform(0.5, 2.0, 263).astype(np.float32))
    np.savez(folder / "text.npz", texts=np.array(TEXTS), features=rng.normal(size=(2, TEXT)).astype(np.float32))
    return folder


@pytest.fixture
def state() -> dict[str, torch.Tensor]:
    return random_state()


@pytest.fixture
def folder(tmp_path: Path, state: dict[str, torch.Tensor]) -> Path:
    return write_folder(tmp_path / "mdm", state)


@pytest.fixture
def circling(tmp_path: Path, state: dict[str, torch.Tensor], stand: np.ndarray) -> Path:
    """A checkpoint that always predicts one frame: a standing person carried along a circle.

    1 m/s ahead and 0.5 rad/s to the left, so the radius is 2 m.
    """
    frame = humanml3d.encode(np.repeat(stand[None], 3, axis=0))[0]
    frame[0], frame[humanml3d.VELOCITY] = -0.5 / 20 / 2, (0.0, 1.0 / 20)
    folder = write_folder(tmp_path / "circling", state)
    mean, std = np.load(folder / "Mean.npy"), np.load(folder / "Std.npy")
    state["output_process.poseFinal.weight"] = torch.zeros(263, WIDTH)
    state["output_process.poseFinal.bias"] = torch.from_numpy((frame - mean) / std).float()
    torch.save({"model": {}, "model_avg": state}, folder / "model000000100.pt")
    return folder
