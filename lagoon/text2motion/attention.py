"""The attention block of the motion transformer.

What enters: states (N, L, width), keys and values of the words. What leaves: states of the same shape.

Source: Vaswani et al. 2017, with the norm before each part.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention

from lagoon.text2motion.config import ModelConfig


class Attention(nn.Module):
    """Multi-head attention; keys and values are given, as ``keys`` makes them."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.query, self.key_value = nn.Linear(width, width), nn.Linear(width, 2 * width)
        self.out = nn.Linear(width, width)

    def keys(self, source: Tensor) -> tuple[Tensor, Tensor]:
        """Keys and values (N, heads, S, width / heads) of what is attended to, (N, S, width)."""
        key, value = self.key_value(source).chunk(2, dim=-1)
        return self._split(key), self._split(value)

    def forward(
        self, x: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None, causal: bool = False
    ) -> Tensor:
        """What (N, L, width) gathers from keys and values; ``mask`` is True where it may look."""
        mixed = scaled_dot_product_attention(self._split(self.query(x)), key, value, attn_mask=mask, is_causal=causal)
        return self.out(mixed.transpose(1, 2).flatten(2))

    def _split(self, x: Tensor) -> Tensor:
        return x.unflatten(-1, (self.heads, -1)).transpose(1, 2)


class Block(nn.Module):
    """Self attention over past steps, cross attention over words, feed-forward; pre-norm residuals."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        width = config.width
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(3))
        self.own, self.words = Attention(width, config.heads), Attention(width, config.heads)
        self.feed = nn.Sequential(nn.Linear(width, config.feedforward), nn.GELU(), nn.Linear(config.feedforward, width))
        self.dropout = config.dropout

    def drop(self, x: Tensor) -> Tensor:
        """Dropout of whole channels of a sequence: as good here as of single values, and cheap to draw."""
        if not self.training or self.dropout == 0.0:
            return x
        keep = torch.rand(len(x), 1, x.shape[-1]) >= self.dropout
        return x * (keep / (1.0 - self.dropout))

    def forward(self, x: Tensor, words: tuple[Tensor, Tensor], mask: Tensor) -> Tensor:
        """States after the block of x (N, L, width), of which each step sees itself and those before it."""
        normed = self.norms[0](x)
        return self.after(x, normed, self.own.keys(normed), None, words, mask)

    def after(
        self,
        x: Tensor,
        normed: Tensor,
        past: tuple[Tensor, Tensor],
        seen: Tensor | None,
        words: tuple[Tensor, Tensor],
        mask: Tensor,
    ) -> Tensor:
        """What the block makes of x (N, L, width) with its norm, keys and values of what it may see, and the words.

        ``seen`` (N, 1, L, S) is True where a step sees a past one; None stands for each and all before it.
        """
        x = x + self.drop(self.own(normed, *past, mask=seen, causal=seen is None))
        x = x + self.drop(self.words(self.norms[1](x), *words, mask=mask))
        return x + self.drop(self.feed(self.norms[2](x)))

    def step(
        self, x: Tensor, past: tuple[Tensor, Tensor] | None, words: tuple[Tensor, Tensor], mask: Tensor
    ) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        """One step (N, 1, width) after the past; returns the new past too."""
        normed = self.norms[0](x)
        key, value = self.own.keys(normed)
        if past is not None:
            key, value = torch.cat([past[0], key], dim=2), torch.cat([past[1], value], dim=2)
        x = x + self.own(normed, key, value)
        x = x + self.words(self.norms[1](x), *words, mask=mask)
        return x + self.feed(self.norms[2](x)), (key, value)
