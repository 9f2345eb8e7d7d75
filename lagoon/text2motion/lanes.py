"""Draws motion tokens for many prompts at once, each lane at a step of its own, while weights may change.

What enters: prompts, the weights of a policy, sequences to draw. What leaves: one step of every running lane. A lane
remembers keys and values of its past; when weights change, they are computed anew from its codes in one pass.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from lagoon.engine.tokens.schema import Drawn, Sequence, uniforms
from lagoon.text2motion.policy import MotionPolicy


class LaneSampler:
    """A sampler as the engine wants it; running lanes are the first ones, so that a step works on no idle lane."""

    def __init__(self, policy: MotionPolicy, lanes: int) -> None:
        """Allocate.

        Args:
            policy: the networks and prompts; its weights are replaced by ``take``.
            lanes: most sequences at once.
        """
        self.policy, self._model = policy, policy.transformer
        config = self._model.config
        self._copies = 2 if policy.guided else 1
        rows, steps = lanes * self._copies, config.max_steps
        shape = (2, len(self._model.blocks), rows, config.heads, steps, config.width // config.heads)
        self._past = torch.zeros(shape)
        self._who = torch.zeros(rows, dtype=torch.int64)
        self._position, self._length = torch.zeros(lanes, dtype=torch.int64), torch.zeros(lanes, dtype=torch.int64)
        self._codes = torch.zeros(lanes, steps, config.groups, dtype=torch.int64)
        self._random = torch.zeros(lanes, steps, config.groups, dtype=torch.float64)
        self._numbers: list[int] = []
        self._prepare()

    @property
    def running(self) -> list[int]:
        """Numbers of the sequences that are being drawn."""
        return list(self._numbers)

    @torch.no_grad()
    def take(self, tensors: Mapping[str, Tensor]) -> None:
        """Take over weights; what was cached of running sequences is computed anew."""
        self.policy.load_state_dict(dict(tensors))
        self._prepare()
        if self._numbers:
            self._refill()

    @torch.no_grad()
    def _prepare(self) -> None:
        """What depends on weights and prompts alone; the last row of each is that of no text."""
        words, self._mask = self._model.project_words(self.policy.texts)
        self._keys = [block.words.keys(words) for block in self._model.blocks]  # type: ignore[union-attr,operator]
        self._sentence = self._model.sentence(self.policy.texts.sentence)

    def begin(self, sequence: Sequence, seed: int) -> None:
        """Add a sequence.

        Raises:
            ValueError: all lanes are in use.
        """
        lane = len(self._numbers)
        if lane == len(self._position):
            raise ValueError(f"All {lane} lanes are in use.")
        self._numbers.append(sequence.number)
        self._position[lane], self._length[lane] = 0, sequence.length
        drawn = uniforms(seed, sequence, self._codes.shape[2])
        self._random[lane, : sequence.length] = torch.from_numpy(drawn)
        rows = slice(lane * self._copies, (lane + 1) * self._copies)
        self._who[rows] = torch.tensor([sequence.prompt, -1][: self._copies]) % len(self._sentence)

    def drop(self, number: int) -> None:
        """Free a lane; the last running one moves there."""
        lane, last = self._numbers.index(number), len(self._numbers) - 1
        if lane != last:
            for tensor in (self._position, self._length, self._codes, self._random):
                tensor[lane] = tensor[last]
            new, old = (slice(i * self._copies, (i + 1) * self._copies) for i in (lane, last))
            self._who[new] = self._who[old]
            self._past[:, :, new] = self._past[:, :, old]
        self._numbers[lane] = self._numbers[last]
        self._numbers.pop()

    def _inputs(self, lanes: int, steps: Tensor) -> Tensor:
        """What enters the blocks at some steps (lanes, S) of the first lanes: (lanes * copies, S, width)."""
        model = self._model
        before = self._codes[torch.arange(lanes)[:, None], (steps - 1).clamp_min(0)]
        x = model.code(model.entries(before).sum(2))
        x = torch.where(steps[..., None] == 0, model.start, x) + model.place(steps, self._length[:lanes, None])
        return x.repeat_interleave(self._copies, 0) + self._sentence[self._who[: lanes * self._copies]][:, None]

    def _words(self, layer: int, rows: int) -> tuple[tuple[Tensor, Tensor], Tensor]:
        who = self._who[:rows]
        key, value = self._keys[layer]
        return (key[who], value[who]), self._mask[who]

    def _refill(self) -> None:
        """Compute keys and values of all that was drawn so far."""
        lanes = len(self._numbers)
        rows, steps = lanes * self._copies, int(self._position[:lanes].max())
        if not steps:
            return
        x = self._inputs(lanes, torch.arange(steps).expand(lanes, steps))
        for layer, block in enumerate(self._model.blocks):
            # Beyond a lane's own position this is rubbish, which is written over when the lane gets there.
            past = block.own.keys(block.norms[0](x))  # type: ignore[union-attr,operator,index]
            for kind in (0, 1):
                self._past[kind, layer, :rows, :, :steps] = past[kind]
            words, mask = self._words(layer, rows)
            x = block(x, words, mask)

    @torch.no_grad()
    def step(self) -> Drawn:
        """Draw the next step of every running sequence."""
        lanes, model = len(self._numbers), self._model
        rows = lanes * self._copies
        position = self._position[:lanes]
        longest = int(position.max()) + 1
        at = position.repeat_interleave(self._copies)
        seen = (torch.arange(longest) <= at[:, None])[:, None, None]
        x = self._inputs(lanes, position[:, None])
        for layer, block in enumerate(model.blocks):
            normed = block.norms[0](x)  # type: ignore[union-attr,operator,index]
            for kind, part in enumerate(block.own.keys(normed)):  # type: ignore[union-attr,operator]
                self._past[kind, layer, torch.arange(rows), :, at] = part[:, :, 0]
            past = self._past[:, layer, :rows, :, :longest]
            words, mask = self._words(layer, rows)
            x = block.after(x, normed, (past[0], past[1]), seen, words, mask)  # type: ignore[operator]
        codes, logp = self._draw(model.norm(x[:, 0]), lanes)
        self._codes[torch.arange(lanes), position] = codes
        self._position[:lanes] += 1
        return Drawn(codes, logp)

    def _draw(self, hidden: Tensor, lanes: int) -> tuple[Tensor, Tensor]:
        """Codes and log-probabilities (lanes, G) of one step from states (lanes * copies, width)."""
        model = self._model
        random = self._random[torch.arange(lanes), self._position[:lanes]]
        within = torch.zeros(lanes, model.config.latent)
        codes, logps = [], []
        for group in range(model.config.groups):
            earlier = model.depth_code(within).repeat_interleave(self._copies, 0)
            logits = model.head(hidden + earlier + model.group[group], group)
            rows = torch.log_softmax(self.policy.mixed(logits.unflatten(0, (lanes, self._copies)).unbind(1)), -1)
            share = rows.double().exp().cumsum(-1)
            code = (share <= random[:, group, None] * share[:, -1:]).sum(-1).clamp_max(rows.shape[-1] - 1)
            codes.append(code)
            logps.append(rows.gather(-1, code[:, None])[:, 0])
            within = within + model.books[group][code]
        return torch.stack(codes, -1), torch.stack(logps, -1)
