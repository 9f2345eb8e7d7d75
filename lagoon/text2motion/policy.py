"""The generator as a policy for reinforcement learning: the log-probability of every code, with gradients.

What enters: a transformer and prompts. What leaves: the distribution that generated motions are drawn from,
guidance and temperature included, so that what is learned is what will be used.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from lagoon.engine.tokens.packing import Packed
from lagoon.text2motion.text_encoder import Encoding
from lagoon.text2motion.texts import text_batch
from lagoon.text2motion.transformer import MotionTransformer


class MotionPolicy(nn.Module):
    """p(codes | prompt, length) at a guidance and a temperature."""

    def __init__(
        self,
        transformer: MotionTransformer,
        prompts: Sequence[Encoding],
        guidance: float = 1.0,
        temperature: float = 1.0,
    ) -> None:
        """Take a network over.

        Args:
            transformer: its weights are the policy's parameters.
            prompts: P encoded texts.
            guidance: as in ``MotionTransformer.sample``.
            temperature: divides the logits.
        """
        super().__init__()
        self.transformer = transformer
        self.guidance, self.temperature = guidance, temperature
        self.texts = text_batch([*prompts, None])
        """The prompts, and after them no text."""

    @property
    def guided(self) -> bool:
        """Whether the network without words is asked as well."""
        return self.guidance != 1.0

    def mixed(self, logits: Sequence[Tensor]) -> Tensor:
        """Logits of the policy from those with words and, if guided, those without."""
        if not self.guided:
            return logits[0] / self.temperature
        return (logits[1] + self.guidance * (logits[0] - logits[1])) / self.temperature

    def log_probs(self, codes: Tensor, packed: Packed, lengths: Tensor, prompts: Tensor) -> Tensor:
        """Log-probability (R, C, G) of codes (R, C, G); see ``lagoon.engine.tokens.schema.TokenModel``."""
        of_token = prompts[packed.sequence.clamp_min(0)]
        left = lengths[packed.sequence.clamp_min(0)]
        asked = [of_token, torch.full_like(of_token, len(self.texts.sentence) - 1)][: 2 if self.guided else 1]
        logits = self.mixed([self._logits(codes, packed, left, prompt) for prompt in asked])
        return torch.log_softmax(logits, -1).gather(-1, codes[..., None])[..., 0]

    def _logits(self, codes: Tensor, packed: Packed, lengths: Tensor, prompt: Tensor) -> Tensor:
        """Logits (R, C, G, V), each place (R, C) with a length and a prompt of its own."""
        model = self.transformer
        past = model.code(model.entries(codes).sum(2)).roll(1, 1)
        x = torch.where(packed.step[..., None] == 0, model.start, past)
        x = x + model.place(packed.step, lengths) + model.sentence(self.texts.sentence)[prompt]
        used, index = prompt.unique(return_inverse=True)
        words, real = model.project_words(self.texts.some(used))
        # All words that some place of these rows needs, in one line; a place sees those of its own prompt.
        owner = torch.arange(len(used)).repeat_interleave(words.shape[1])
        mask = ((index[..., None] == owner) & real.flatten())[:, None]
        same = packed.sequence[:, :, None] == packed.sequence[:, None]
        own = (same & torch.ones(same.shape[1:], dtype=torch.bool).tril())[:, None]
        for block in model.blocks:
            normed = block.norms[0](x)  # type: ignore[union-attr,operator,index]
            keys = tuple(
                part.transpose(0, 1).flatten(1, 2).expand(len(x), -1, -1, -1)
                for part in block.words.keys(words)  # type: ignore[union-attr,operator]
            )
            x = block.after(x, normed, block.own.keys(normed), own, keys, mask)  # type: ignore[union-attr,operator]
        return model.code_logits(model.norm(x), codes)
