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
from lagoon.text2motion.checkpoints import Periodic, load_checkpoint, save_checkpoint
from lagoon.text2motion.config import FRAMES_PER_STEP, TrainConfig
from lagoon.text2motion.dataset import Clip
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
    path = folder / "tokenizer.checkpoint.safetensors"
    step = load_checkpoint(path, {"model": tokenizer, "average": average}, optimizer)
    if step == 0:
        progress(0.0, "tokenizer: fitting the codebooks")
        tokenizer.fit(*_pieces(bank, weights), torch.Generator().manual_seed(config.seed))
        average.load_state_dict(tokenizer.state_dict())
    save, mean_loss = Periodic(config.checkpoint_seconds), RunningMean()
    while step < config.refiner_steps:
        rng = np.random.default_rng((config.seed, 1, step))
        for group in optimizer.param_groups:
            group["lr"] = config.refiner_lr * cosine(step, config.refiner_steps)
        batch, mask = _windows(bank, weights, config.refiner_batch, rng)
        with torch.no_grad():
            partial = tokenizer.quantiser.partial(tokenizer.encode(batch))
            # Now and then the finest codes are left out, so that wrong ones do little harm later.
            kept = config.model.groups - 1 - rng.integers(0, max(1, config.model.groups // 2)) * (rng.random() < 0.3)
        loss = reconstruction_loss(tokenizer, tokenizer.decode_latents(partial[..., int(kept), :]), batch, mask)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(tokenizer.refiner.parameters(), 1.0)
        optimizer.step()
        move_average(average, tokenizer, min(config.ema, step / (step + 10.0)))
        step += 1
        mean_loss.add(loss.item())
        if step % 20 == 0:
            progress(step / config.refiner_steps, f"tokenizer {step}: loss {mean_loss.value:.4f}")
        if save.due() or step == config.refiner_steps:
            save_checkpoint(path, {"model": tokenizer, "average": average}, optimizer, step)
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


class RunningMean:
    """Exponential mean of a loss for display."""

    def __init__(self, keep: float = 0.98) -> None:
        """Start empty."""
        self.keep, self.total, self.weight = keep, 0.0, 0.0

    def add(self, value: float) -> None:
        """Take in one value."""
        self.total = self.keep * self.total + (1 - self.keep) * value
        self.weight = self.keep * self.weight + (1 - self.keep)

    @property
    def value(self) -> float:
        """The mean so far."""
        return self.total / max(self.weight, 1e-9)


def cosine(step: int, steps: int, warm: int = 100) -> float:
    """Share of the peak learning rate: linear warm-up, then half a cosine to 2 %."""
    if step < warm:
        return (step + 1) / warm
    return 0.02 + 0.98 * 0.5 * (1.0 + float(np.cos(np.pi * (step - warm) / max(1, steps - warm))))


@torch.no_grad()
def move_average(average: torch.nn.Module, model: torch.nn.Module, decay: float) -> None:
    """Exponential moving average of parameters, in place."""
    for kept, new in zip(average.state_dict().values(), model.state_dict().values(), strict=True):
        kept.lerp_(new, 1.0 - decay)


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
