"""Encoded texts as torch batches.

What enters: Encoding objects of the sentence encoder. What leaves: TextBatch objects of the transformer.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from lagoon.text2motion.text_encoder import Encoding
from lagoon.text2motion.transformer import TextBatch


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
