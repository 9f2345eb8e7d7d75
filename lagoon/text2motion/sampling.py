"""Draws candidate motions: tokens, frames, clean-up.

What enters: a model, encoded words, a duration. What leaves: N motions on their feet, and how much the words
raise each one's probability. A motion longer than one pass is gone on with from its own last steps.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor

from lagoon.text2motion.config import FPS, FRAMES_PER_STEP, GenerateConfig
from lagoon.text2motion.grounding import Grounded, ground
from lagoon.text2motion.model import Model
from lagoon.text2motion.text_encoder import Encoding
from lagoon.text2motion.texts import TextBatch, text_batch

TEMPERATURE_SPREAD = 0.15
"""Candidates are drawn at temperatures from this share below the one set to this share above it: calm motions
come out cleaner cool, lively ones only warm, and the choice between them is made on the result."""
ENDING = 8
"""Token steps at the end of a pass that are left away when the motion goes on: there it would come to its end."""
MEMORY = 15
"""Token steps of what came before that a further pass goes on from, 3 s."""


def sample(
    model: Model, encoding: Encoding, seconds: float, config: GenerateConfig, seed: int
) -> tuple[list[Grounded], list[float]]:
    """Draw, decode and clean ``config.candidates`` motions of one text.

    Args:
        model: trained networks.
        encoding: the words.
        seconds: duration [s].
        config: sampling settings.
        seed: seed of the generator.

    Returns:
        The motions, and the gain in log-probability by the words [nat per token] of each.
    """
    frames = max(2, round(seconds * FPS) + 1)
    steps = -(-frames // FRAMES_PER_STEP)
    generator = torch.Generator().manual_seed(seed)
    text = text_batch([encoding] * config.candidates)
    spread = torch.linspace(-TEMPERATURE_SPREAD, TEMPERATURE_SPREAD, config.candidates)[:, None]
    warmth = config.temperature * (1.0 + (spread if config.candidates > 1 else 0.0 * spread))
    with torch.no_grad():
        codes = _codes(model, steps, text, generator, config, warmth)
        first = codes[:, : model.config.max_steps]
        lengths = torch.full((len(first),), first.shape[1])
        with_words = model.transformer.log_prob(first, lengths, text)
        without = model.transformer.log_prob(first, lengths, text.without_text())
        decoded = model.tokenizer.decode(codes).double().numpy()[:, :frames]
    gain = ((with_words - without) / first.shape[1] / model.config.groups).tolist()
    return [ground(rows, model.bone_lengths, model.rest, config.settle) for rows in decoded], gain


def _codes(
    model: Model, steps: int, text: TextBatch, generator: torch.Generator, config: GenerateConfig, warmth: Tensor
) -> Tensor:
    """Codes (N, steps, G); beyond one pass each pass sees the last MEMORY steps of the one before."""
    most, draw = model.config.max_steps, model.transformer.sample
    codes = draw(min(steps, most), text, generator, config.guidance, warmth, config.top_p)
    while codes.shape[1] < steps:
        codes = codes[:, :-ENDING]
        memory = codes[:, -MEMORY:]
        length = min(most, steps - codes.shape[1] + memory.shape[1])
        more = draw(length, text, generator, config.guidance, warmth, config.top_p, memory)
        codes = torch.cat([codes, more[:, memory.shape[1] :]], dim=1)
    return codes


@contextmanager
def one_thread() -> Iterator[None]:
    """Run torch on one thread: sums are then taken in one order, so that a seed gives the same bits everywhere."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
