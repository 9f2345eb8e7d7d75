"""Fits the motion tokenizer's codebooks and trains its refiner.

What enters: clips. What leaves: a MotionTokenizer, and how far its reconstructions are off. Resumes from
a checkpoint; step k draws from a generator seeded by (seed, k), so a resumed run does what an unbroken
one would.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch

from lagoon.progress import Progress, silent
from lagoon.text2motion import augment, features
from lagoon.text2motion.config import FRAMES_PER_STEP, TrainConfig
from lagoon.text2motion.dataset import Clip
from lagoon.text2motion.optimise import Schedule, Training
from lagoon.text2motion.tokenizer import MotionTokenizer, reconstruction_loss

WINDOW = 64
"""Frames of a training window, 3.2 s; a multiple of 4."""
SPEEDS = (1.0, 0.85, 1.2)
"""Speeds at which every clip is shown."""


def clip_weights(clips: list[Clip]) -> np.ndarray:
    """Probability of each clip: common verbs and recordings cut into many windows count less than in proportion.

    A verb with n clips gets a share of sqrt(n), and a recording with m windows a share of sqrt(m).
    """
    verbs: dict[str, int] = {}
    windows: dict[str, int] = {}
    for clip in clips:
        verbs[clip.verb] = verbs.get(clip.verb, 0) + 1
        windows[clip.recording] = windows.get(clip.recording, 0) + 1
    weights = np.array([1.0 / np.sqrt(verbs[clip.verb] * windows[clip.recording]) for clip in clips])
    return weights / weights.sum()


def _windows(
    bank: list[list[np.ndarray]], weights: np.ndarray, batch: int, rng: np.random.Generator
) -> tuple[torch.Tensor, torch.Tensor]:
    out = np.zeros((batch, WINDOW, features.NUM_FEATURES), np.float32)
    mask = np.zeros((batch, WINDOW), np.float32)
    for row, index in enumerate(rng.choice(len(bank), batch, p=weights)):
        variant = bank[index][rng.integers(len(bank[index]))]
        start = int(rng.integers(max(1, len(variant) - WINDOW + 1)))
        part = variant[start : start + WINDOW]
        out[row, : len(part)], mask[row, : len(part)] = part, 1.0
        out[row, len(part) :] = part[-1]
        out[row, len(part) :, : features.HEIGHT.start] = 0.0
    return torch.from_numpy(out), torch.from_numpy(mask)


def train_tokenizer(
    clips: list[Clip], config: TrainConfig, folder: Path, progress: Progress = silent
) -> MotionTokenizer:
    """Fit the codebooks, train the refiner, and return the averaged weights.

    Args:
        clips: training clips.
        config: sizes, steps, seed.
        folder: where the checkpoint lies.
        progress: told about loss and step.
    """
    torch.manual_seed(config.seed)
    tokenizer, average = MotionTokenizer(config.model), MotionTokenizer(config.model)
    bank = []
    for clip in clips:
        motions = [augment.resample(clip.joint_pos_w, speed) for speed in SPEEDS]
        bank.append([features.encode(m).astype(np.float32) for pos in motions for m in (pos, augment.mirror(pos))])
    weights = clip_weights(clips)
    optimizer = torch.optim.AdamW(tokenizer.refiner.parameters(), lr=config.refiner_lr, weight_decay=1e-4)
    schedule = Schedule("tokenizer", config.refiner_steps, config.refiner_lr, config.ema, config.checkpoint_seconds)
    path = folder / "tokenizer.checkpoint.safetensors"
    training = Training(tokenizer, average, optimizer, schedule, path)
    if training.step == 0:
        progress(0.0, "tokenizer: fitting the codebooks")
        tokenizer.fit(*_pieces(bank, weights), torch.Generator().manual_seed(config.seed))
        average.load_state_dict(tokenizer.state_dict())

    def loss(step: int) -> torch.Tensor:
        rng = np.random.default_rng((config.seed, 1, step))
        batch, mask = _windows(bank, weights, config.refiner_batch, rng)
        with torch.no_grad():
            partial = tokenizer.quantiser.partial(tokenizer.encode(batch))
            # Now and then the finest codes are left out, so that wrong ones do little harm later.
            kept = config.model.groups - 1 - rng.integers(0, max(1, config.model.groups // 2)) * (rng.random() < 0.3)
        return reconstruction_loss(tokenizer, tokenizer.decode_latents(partial[..., int(kept), :]), batch, mask)

    training.run(loss, progress)
    return average.eval().requires_grad_(False)


def _pieces(bank: list[list[np.ndarray]], weights: np.ndarray) -> tuple[torch.Tensor, torch.Tensor]:
    """Pieces of 4 frames (M, 4, 71), cut at every second frame, and their weights (M,)."""
    pieces, shares = [], []
    for variants, weight in zip(bank, weights, strict=True):
        for variant in variants:
            for offset in (0, FRAMES_PER_STEP // 2):
                count = (len(variant) - offset) // FRAMES_PER_STEP
                pieces.append(variant[offset : offset + count * FRAMES_PER_STEP].reshape(count, FRAMES_PER_STEP, -1))
                shares.append(np.full(count, weight))
    return torch.from_numpy(np.concatenate(pieces)), torch.from_numpy(np.concatenate(shares))


def padded(feature_rows: np.ndarray) -> np.ndarray:
    """Repeat the last frame, at rest, until the length is a multiple of 4. Shape (T, 71)."""
    missing = -len(feature_rows) % FRAMES_PER_STEP
    tail = np.repeat(feature_rows[-1:], missing, axis=0)
    tail[:, : features.HEIGHT.start] = 0.0
    return np.concatenate([feature_rows, tail])


@torch.no_grad()
def reconstruct(tokenizer: MotionTokenizer, joint_pos_w: np.ndarray) -> np.ndarray:
    """The motion (T, 22, 3) after a round trip through tokens."""
    rows = torch.from_numpy(padded(features.encode(joint_pos_w)).astype(np.float32))[None]
    return features.decode(tokenizer.decode(tokenizer.encode(rows))[0].double().numpy())[: len(joint_pos_w)]


def reconstruction_error(tokenizer: MotionTokenizer, clips: list[Clip]) -> tuple[float, float]:
    """Mean joint error [m] relative to the pelvis, and of the pelvis in world, over clips."""
    local, root = [], []
    for clip in clips:
        real, made = clip.joint_pos_w, reconstruct(tokenizer, clip.joint_pos_w)
        local.append(np.linalg.norm((made - made[:, :1]) - (real - real[:, :1]), axis=-1).mean())
        root.append(np.linalg.norm(made[:, 0] - real[:, 0], axis=-1).mean())
    return float(np.mean(local)), float(np.mean(root))
