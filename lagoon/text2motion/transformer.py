"""Text to motion tokens: a small causal transformer with cross attention on the words.

What enters: word states and a length. What leaves: codes (L, G), drawn or scored. A step's G codes are
drawn one after the other by a small head, so the probability of a motion is exact (log_prob).

Source: depth-wise head after RQ-Transformer (Lee et al. 2022); guidance after Ho and Salimans 2022, eq. 6, on logits.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from lagoon.text2motion.attention import Block
from lagoon.text2motion.config import ModelConfig
from lagoon.text2motion.texts import TextBatch


class MotionTransformer(nn.Module):
    """p(codes | words, length)."""

    books: Tensor

    def __init__(self, config: ModelConfig) -> None:
        """Build the network; weights come from training or load_state_dict."""
        super().__init__()
        self.config = config
        width, groups = config.width, config.groups
        self.register_buffer("books", torch.zeros(groups, config.codes, config.latent), persistent=False)
        self.code = nn.Linear(config.latent, width)
        self.start = nn.Parameter(torch.zeros(width))
        self.position = nn.Embedding(config.max_steps + 1, width)
        self.remaining = nn.Embedding(config.max_steps + 1, width)
        self.word = nn.Sequential(nn.Linear(config.text_width, width), nn.LayerNorm(width))
        self.nothing = nn.Parameter(torch.zeros(width))
        self.sentence = nn.Linear(config.text_width, width)
        self.blocks = nn.ModuleList(Block(config) for _ in range(config.layers))
        self.norm = nn.LayerNorm(width)
        self.depth_code = nn.Linear(config.latent, width)
        self.depth = nn.Sequential(
            nn.LayerNorm(width), nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width)
        )
        self.depth_norm = nn.LayerNorm(width)
        self.group = nn.Parameter(torch.zeros(groups, width))
        self.out_weight = nn.Parameter(torch.zeros(groups, width, config.codes))
        self.out_bias = nn.Parameter(torch.zeros(groups, config.codes))
        self.apply(_initialise)
        for parameter in (self.start, self.nothing, self.group, self.out_weight):
            nn.init.normal_(parameter, std=0.02)

    def use_books(self, books: Tensor, scale: float | None = None) -> None:
        """Take the tokenizer's codebooks (G, K, D): codes enter as the latents they stand for.

        They are divided by the spread of the first codebook, so that inputs are near unit size.
        """
        spread = float(books[0].std()) if scale is None else scale
        self.books = books / max(spread, 1e-6)

    def entries(self, codes: Tensor) -> Tensor:
        """Codebook entries (..., G, D) of codes (..., G)."""
        return torch.stack([book[codes[..., group]] for group, book in enumerate(self.books)], dim=-2)

    def forward(self, codes: Tensor, lengths: Tensor, text: TextBatch, inputs: Tensor | None = None) -> Tensor:
        """Logits (N, L, G, V) of codes (N, L, G), each seen only by what comes after it.

        Args:
            codes: targets; also the codes within a step that the later groups see.
            lengths: (N,) steps of each motion; what lies beyond is padding.
            text: the words.
            inputs: codes that the following steps see, if others than ``codes`` (noise in training).
        """
        return self.code_logits(self._hidden(codes, lengths, text, inputs), codes)

    def _hidden(self, codes: Tensor, lengths: Tensor, text: TextBatch, inputs: Tensor | None) -> Tensor:
        """States (N, L, width) from which the codes of each step are told."""
        seen = codes if inputs is None else inputs
        n, steps, _ = codes.shape
        past = self.code(self.entries(seen[:, :-1]).sum(2))
        x = torch.cat([self.start.expand(n, 1, -1), past], dim=1)
        x = (
            x
            + self.place(torch.arange(steps).expand(n, steps), lengths[:, None])
            + self.sentence(text.sentence)[:, None]
        )
        words, mask = self.project_words(text)
        for block in self.blocks:
            x = block(x, block.words.keys(words), mask)  # type: ignore[union-attr,operator]
        return self.norm(x)

    def loss(
        self, codes: Tensor, lengths: Tensor, text: TextBatch, inputs: Tensor | None = None, share: float = 1.0
    ) -> Tensor:
        """Mean negative log-likelihood per code [nat] over real steps.

        Args:
            codes: as in forward.
            lengths: as in forward.
            text: as in forward.
            inputs: as in forward.
            share: share of the real steps, drawn at random, that the head is run on; the head is half of the work.
        """
        hidden = self._hidden(codes, lengths, text, inputs)
        real = torch.arange(codes.shape[1]) < lengths[:, None]
        if share < 1.0:
            real = real & (torch.rand(real.shape) < share)
        logits = self.code_logits(hidden[real], codes[real])
        return cross_entropy(logits.flatten(0, -2), codes[real].flatten())

    @torch.no_grad()
    def log_prob(self, codes: Tensor, lengths: Tensor, text: TextBatch) -> Tensor:
        """Log-probability (N,) [nat] of motions (N, L, G) given texts and lengths; exact."""
        logits = self(codes, lengths, text)
        chosen = torch.log_softmax(logits, -1).gather(-1, codes[..., None])[..., 0].sum(-1)
        return (chosen * (torch.arange(codes.shape[1]) < lengths[:, None])).sum(-1)

    @torch.no_grad()
    def sample(
        self,
        steps: int,
        text: TextBatch,
        generator: torch.Generator,
        guidance: float = 1.0,
        temperature: float | Tensor = 1.0,
        top_p: float = 1.0,
        prefix: Tensor | None = None,
    ) -> Tensor:
        """Draw codes (N, steps, G), one motion per text.

        Args:
            steps: length in token steps, the same for all, the prefix included.
            text: N texts.
            generator: source of randomness.
            guidance: 1 samples p(codes | words); more moves away from p(codes).
            temperature: divides the logits; one number or (N, 1).
            top_p: nucleus.
            prefix: (N, P, G) codes that the motion begins with, P below ``steps``; what is drawn goes on from them.
        """
        count, guided = len(text.states), guidance != 1.0
        both = text.joined(text.without_text()) if guided else text
        words, mask = self.project_words(both)
        keys = [block.words.keys(words) for block in self.blocks]  # type: ignore[union-attr,operator]
        past: list[tuple[Tensor, Tensor] | None] = [None] * len(self.blocks)
        rows = len(both.states)
        sentence = self.sentence(both.sentence)[:, None]
        lengths = torch.full((rows,), steps)
        x = self.start.expand(rows, 1, -1)
        drawn = []
        for step in range(steps):
            x = x + self.place(torch.full((rows, 1), step), lengths[:, None]) + sentence
            for index, block in enumerate(self.blocks):
                x, past[index] = block.step(x, past[index], keys[index], mask)  # type: ignore[operator]
            hidden = self.norm(x[:, 0])
            within = torch.zeros(rows, self.config.latent)
            codes = []
            for group in range(self.config.groups):
                if prefix is not None and step < prefix.shape[1]:
                    code = prefix[:, step, group]
                else:
                    logits = self.head(hidden + self.depth_code(within) + self.group[group], group)
                    if guided:
                        logits = logits[count:] + guidance * (logits[:count] - logits[count:])
                    code = draw(logits / temperature, top_p, generator)
                codes.append(code)
                again = code.repeat(2) if guided else code
                within = within + self.books[group][again]
            drawn.append(torch.stack(codes, dim=-1))
            x = self.code(within)[:, None]
        return torch.stack(drawn, dim=1)

    def place(self, position: Tensor, lengths: Tensor) -> Tensor:
        """What is added (..., width) at positions in motions of given lengths, both (...) or broadcast."""
        most = self.config.max_steps
        left = (lengths - position).clamp(0, most)
        return self.position(position.clamp(max=most)) + self.remaining(left)

    def project_words(self, text: TextBatch) -> tuple[Tensor, Tensor]:
        """Projected words (N, 1 + W, width), the first standing for "no text", and their mask."""
        words = self.word(text.states) * text.mask[..., None]
        words = torch.cat([self.nothing.expand(len(words), 1, -1), words], dim=1)
        mask = torch.cat([torch.ones(len(words), 1, dtype=torch.bool), text.mask], dim=1)
        return words, mask[:, None, None]

    def code_logits(self, hidden: Tensor, codes: Tensor) -> Tensor:
        """Logits (..., G, K) from states (..., width) and codes (..., G), of which each group sees the earlier ones."""
        entries = self.entries(codes)
        earlier = entries.cumsum(-2) - entries
        x = hidden[..., None, :] + self.depth_code(earlier) + self.group
        x = self.depth_norm(x + self.depth(x))
        return torch.einsum("...gw,gwv->...gv", x, self.out_weight) + self.out_bias

    def head(self, x: Tensor, group: int) -> Tensor:
        """Logits (..., K) of one group from its input (..., width)."""
        x = self.depth_norm(x + self.depth(x))
        return x @ self.out_weight[group] + self.out_bias[group]


def draw(logits: Tensor, top_p: float, generator: torch.Generator) -> Tensor:
    """Draw one code per row of logits (N, V) from the smallest set that holds ``top_p`` of the probability."""
    probability = torch.softmax(logits.double(), dim=-1)
    ordered, order = probability.sort(dim=-1, descending=True, stable=True)
    ordered = torch.where(ordered.cumsum(-1) - ordered < top_p, ordered, 0.0)
    pick = torch.multinomial(ordered, 1, generator=generator)
    return order.gather(-1, pick)[:, 0]


def _initialise(module: nn.Module) -> None:
    if isinstance(module, nn.Linear | nn.Embedding):
        nn.init.normal_(module.weight, std=0.02)
        if isinstance(module, nn.Linear):
            nn.init.zeros_(module.bias)
