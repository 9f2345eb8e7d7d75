"""Trains the transformer on the tokens of the training examples.

What enters: a trained tokenizer, examples, encoded texts. What leaves: a MotionTransformer, and its
negative log-likelihood on held-out examples. Resumes like the tokenizer's training.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
import torch

from lagoon.progress import Progress, silent
from lagoon.text2motion import features
from lagoon.text2motion.config import TrainConfig
from lagoon.text2motion.corpus import Example
from lagoon.text2motion.optimise import Schedule, Training
from lagoon.text2motion.text_encoder import Encoding
from lagoon.text2motion.texts import TextBatch, text_batch
from lagoon.text2motion.tokenizer import MotionTokenizer
from lagoon.text2motion.train_tokenizer import padded
from lagoon.text2motion.transformer import MotionTransformer

POOL = 4
"""Batches drawn together and sorted by length, so that little of a batch is padding."""


@dataclass(frozen=True)
class TokenSet:
    """Examples as tokens."""

    codes: list[torch.Tensor]
    """(L_i, G) codes of each example."""
    texts: list[tuple[str, ...]]
    """Texts of each example."""


@torch.no_grad()
def tokenize(tokenizer: MotionTokenizer, examples: list[Example]) -> TokenSet:
    """Encode every example; the last frame is held to fill its last step."""
    codes = []
    for example in examples:
        rows = torch.from_numpy(padded(features.encode(example.joint_pos_w)).astype(np.float32))[None]
        codes.append(tokenizer.encode(rows)[0])
    return TokenSet(codes, [example.texts for example in examples])


def batch_of(
    tokens: TokenSet, rows: np.ndarray, encodings: Mapping[str, Encoding], rng: np.random.Generator, drop: float = 0.0
) -> tuple[torch.Tensor, torch.Tensor, TextBatch]:
    """Codes (N, L, G), lengths (N,) and one text each, drawn at random or dropped."""
    lengths = torch.tensor([len(tokens.codes[row]) for row in rows])
    codes = torch.zeros(len(rows), int(lengths.max()), tokens.codes[0].shape[1], dtype=torch.long)
    chosen: list[Encoding | None] = []
    for i, row in enumerate(rows):
        codes[i, : lengths[i]] = tokens.codes[row]
        options = tokens.texts[row]
        chosen.append(None if rng.random() < drop else encodings[options[rng.integers(len(options))]])
    return codes, lengths, text_batch(chosen)


def train_transformer(
    tokens: TokenSet,
    books: torch.Tensor,
    weights: np.ndarray,
    encodings: Mapping[str, Encoding],
    config: TrainConfig,
    folder: Path,
    progress: Progress = silent,
) -> MotionTransformer:
    """Train and return the averaged weights.

    Args:
        tokens: training examples.
        books: (G, K, D) codebooks of the tokenizer.
        weights: probability of each example.
        encodings: every text of the examples, encoded.
        config: sizes, steps, seed.
        folder: where the checkpoint lies.
        progress: told about loss and step.
    """
    torch.manual_seed(config.seed + 1)
    model, average = MotionTransformer(config.model), MotionTransformer(config.model)
    for network in (model, average):
        network.use_books(books)
    average.load_state_dict(model.state_dict())
    optimizer = torch.optim.AdamW(model.parameters(), lr=config.transformer_lr, betas=(0.9, 0.98), weight_decay=0.02)
    schedule = Schedule(
        "transformer", config.transformer_steps, config.transformer_lr, config.ema, config.checkpoint_seconds
    )
    training = Training(model, average, optimizer, schedule, folder / "transformer.checkpoint.safetensors")

    @lru_cache(maxsize=1)
    def pool(number: int) -> list[np.ndarray]:
        """Batches of similar lengths, by the number of their pool, so that a resumed run sees the same ones."""
        draw = np.random.default_rng((config.seed, 2, number))
        rows = draw.choice(len(weights), POOL * config.transformer_batch, p=weights)
        rows = rows[np.argsort([len(tokens.codes[row]) for row in rows], kind="stable")]
        return np.split(rows, POOL)

    def loss(step: int) -> torch.Tensor:
        rng = np.random.default_rng((config.seed, 3, step))
        torch.manual_seed(int(rng.integers(2**31)))
        rows = pool(step // POOL)[step % POOL]
        codes, lengths, text = batch_of(tokens, rows, encodings, rng, config.text_drop)
        noise = torch.from_numpy(rng.random(codes.shape) < config.token_noise)
        random = torch.from_numpy(rng.integers(config.model.codes, size=tuple(codes.shape)))
        return model.loss(codes, lengths, text, torch.where(noise, random, codes), config.head_share)

    training.run(loss, progress)
    return average.eval()


@torch.no_grad()
def likelihood(model: MotionTransformer, tokens: TokenSet, encodings: Mapping[str, Encoding], drop: bool) -> float:
    """Mean negative log-likelihood per code [nat] of examples, each with its first text or with none."""
    model.eval()
    rng, total, count = np.random.default_rng(0), 0.0, 0
    first = TokenSet(tokens.codes, [texts[:1] for texts in tokens.texts])
    for start in range(0, len(tokens.codes), 16):
        rows = np.arange(start, min(start + 16, len(tokens.codes)))
        codes, lengths, text = batch_of(first, rows, encodings, rng, 1.0 if drop else 0.0)
        total -= float(model.log_prob(codes, lengths, text).sum())
        count += int(lengths.sum()) * codes.shape[2]
    return total / count
