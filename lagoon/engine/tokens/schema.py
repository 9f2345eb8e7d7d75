"""What a generated sequence is made of, and what a generator owes the engine.

What enters: sizes. What leaves: the layout of slots, and the protocols that a user's generator and judge keep.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from lagoon.engine.tokens.packing import Packed
from lagoon.engine.trajectory import Field, TrajectorySchema


@dataclass(frozen=True)
class Sizes:
    """How large sequences may be."""

    steps: int
    """Most token steps of a sequence, T."""
    codes: int
    """Codes drawn one after the other in each step, G."""


class Sequence(NamedTuple):
    """A sequence to be drawn, or one that was."""

    number: int
    """Counts the sequences of a run; with the run's seed it names the sequence."""
    prompt: int
    """Which prompt it answers."""
    length: int
    """Token steps."""
    codes: NDArray[np.int64] | None = None
    """(length, G), once it is drawn."""


class Drawn(NamedTuple):
    """One token step of all sequences that a sampler is drawing, in the order of ``Sampler.running``."""

    codes: Tensor
    """(N, G)."""
    logp: Tensor
    """(N, G) log-probability of each code under the parameters that drew it [nat]."""


class Sampler(Protocol):
    """Draws several sequences at once, each at a step of its own; lives in a rollout worker.

    What is drawn for a sequence depends on the seed, its number and the parameters, not on what else is running.
    """

    @property
    def running(self) -> list[int]:
        """Numbers of the sequences that are being drawn."""
        ...

    def take(self, tensors: Mapping[str, Tensor]) -> None:
        """Take over parameters, in the middle of sequences too: whatever was cached is computed anew."""
        ...

    def begin(self, sequence: Sequence, seed: int) -> None:
        """Add a sequence to those that are drawn."""
        ...

    def step(self) -> Drawn:
        """Draw the next step of every running sequence."""
        ...

    def drop(self, number: int) -> None:
        """Forget a sequence; its lane is free again."""
        ...


class TokenModel(Protocol):
    """The generator as the trainer sees it, an ``nn.Module``."""

    def log_probs(self, codes: Tensor, packed: Packed, lengths: Tensor, prompts: Tensor) -> Tensor:
        """Return the log-probability (R, C, G) of every code given all before it, with gradients.

        Args:
            codes: (R, C, G), packed.
            packed: where the sequences lie.
            lengths: (B,) steps of each.
            prompts: (B,) prompt of each.
        """
        ...


Score = Callable[[Sequence], NDArray[np.float64]]
"""The terms (K,) of a finished sequence's reward; their sum is learned from. Where it raises, it is dropped."""


class Task(Protocol):
    """What a run is about; picklable, since every process makes its own part of it."""

    @property
    def sizes(self) -> Sizes:
        """How large sequences may be."""
        ...

    @property
    def prompts(self) -> tuple[str, ...]:
        """Names of the prompts, for messages."""
        ...

    @property
    def terms(self) -> tuple[str, ...]:
        """Names of the reward's terms."""
        ...

    def length(self, prompt: int, draw: float) -> int:
        """Return how many steps a sequence shall have, given a number drawn uniformly from [0, 1)."""
        ...

    def model(self) -> nn.Module:
        """Return a ``TokenModel`` with the weights to begin with."""
        ...

    def sampler(self, lanes: int) -> Sampler:
        """Return a sampler of up to so many sequences at once."""
        ...

    def scorer(self) -> Score:
        """Return a judge."""
        ...

    def facts(self) -> dict[str, Any]:
        """Return, as JSON values, what must be the same for a run to go on."""
        ...


def token_schema(sizes: Sizes, terms: int, batch: int = 1) -> TrajectorySchema:
    """Return the fields of sequences: T steps of G codes, each step with the version of the parameters that drew it."""
    fields = {
        "code": Field((sizes.codes,), torch.int64),
        "logp": Field((sizes.codes,)),
        "version": Field((), torch.int64),
        "number": Field((), torch.int64, per_step=False),
        "prompt": Field((), torch.int64, per_step=False),
        "length": Field((), torch.int64, per_step=False),
        "terms": Field((terms,), per_step=False),
        "failed": Field((), torch.bool, per_step=False),
    }
    return TrajectorySchema(sizes.steps, batch, fields)


def sequence_of(task: Task, seed: int, number: int) -> Sequence:
    """Return the prompt and the length of the sequence of a number: all prompts in turn, shuffled each time."""
    count = len(task.prompts)
    order = np.random.default_rng((seed, 1, number // count)).permutation(count)
    prompt = int(order[number % count])
    draw = float(np.random.default_rng((seed, 2, number)).random())
    return Sequence(number, prompt, task.length(prompt, draw))


def uniforms(seed: int, sequence: Sequence, codes: int) -> NDArray[np.float64]:
    """Return the random numbers (length, G) in [0, 1) that a sequence is drawn with, interrupted or not."""
    return np.random.default_rng((seed, 3, sequence.number)).random((sequence.length, codes))
