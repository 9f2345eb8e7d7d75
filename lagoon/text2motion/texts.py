"""Encoded texts as torch batches.

What enters: Encoding objects of the sentence encoder. What leaves: TextBatch objects, padded.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from lagoon.text2motion.text_encoder import Encoding


@dataclass(frozen=True)
class TextBatch:
    """Encoded texts of a batch; all zero where a text was dropped."""

    states: Tensor
    """(N, W, 384) word states, zero-padded."""
    mask: Tensor
    """(N, W) True where there is a word."""
    sentence: Tensor
    """(N, 384) sentence vectors."""

    def without_text(self) -> TextBatch:
        """The same batch with every text dropped."""
        return TextBatch(torch.zeros_like(self.states), torch.zeros_like(self.mask), torch.zeros_like(self.sentence))

    def some(self, rows: Tensor) -> TextBatch:
        """Some texts of the batch, by their rows."""
        return TextBatch(self.states[rows], self.mask[rows], self.sentence[rows])

    def joined(self, other: TextBatch) -> TextBatch:
        """Both batches, one after the other; their widths must agree."""
        cat = torch.cat
        return TextBatch(
            cat([self.states, other.states]), cat([self.mask, other.mask]), cat([self.sentence, other.sentence])
        )


def text_batch(encodings: Sequence[Encoding | None]) -> TextBatch:
    """Pad encodings into one batch; None is a dropped text.

    Args:
        encodings: N encodings with states (W_i, D) and sentence (D,).
    """
    sizes = [len(e.states) for e in encodings if e is not None]
    width = next((e.states.shape[1] for e in encodings if e is not None), 384)
    states = np.zeros((len(encodings), max(sizes, default=1), width), np.float32)
    mask = np.zeros(states.shape[:2], bool)
    sentence = np.zeros((len(encodings), width), np.float32)
    for row, e in enumerate(encodings):
        if e is not None:
            states[row, : len(e.states)], mask[row, : len(e.states)], sentence[row] = e.states, True, e.sentence
    return TextBatch(torch.from_numpy(states), torch.from_numpy(mask), torch.from_numpy(sentence))
