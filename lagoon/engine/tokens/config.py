"""Settings of runs that fine-tune a generator; plain data, no torch.

What enters: values from the section ``align.ppo``, or code. What leaves: a frozen, checked ``TokenPPOConfig``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from lagoon.errors import BadSettingError


@dataclass(frozen=True)
class RolloutConfig:
    """Who generates and who judges, side by side with the trainer."""

    workers: int = 1
    """Processes that generate."""
    lanes: int = 16
    """Sequences that each of them generates at once."""
    max_staleness: int = 2
    """Updates that may lie between a sequence's first token and learning from it; 0 is the synchronous twin, in which
    generation waits for every update."""
    interruptible: bool = True
    """Take over new parameters in the middle of sequences; False lets all that are running end first."""
    reward_workers: int = 0
    """Processes that judge finished sequences; 0 means one per core that the others leave, at least one."""
    reward_queue: int = 2
    """Sequences that may wait at each of them; beyond that they wait where they were written, and generation with
    them."""
    reward_seconds: float = 120.0
    """A reward that takes longer has failed: its process is ended and started anew; 0 sets no limit."""

    def __post_init__(self) -> None:
        """Check every value.

        Raises:
            BadSettingError: a value is outside its range; the text names the field.
        """
        for name, low in (
            ("workers", 1),
            ("lanes", 1),
            ("reward_workers", 0),
            ("reward_queue", 1),
            ("max_staleness", 0),
        ):
            _require(self, name, getattr(self, name) >= low, f"a whole number of at least {low}")
        _require(self, "reward_seconds", self.reward_seconds >= 0, "0 (no limit) or more")


@dataclass(frozen=True)
class TokenPPOConfig:
    """PPO for sequences that get one reward at their end: no critic, no discount, the baseline is the prompt's mean."""

    batch: int = 64
    """Sequences per update."""
    epochs: int = 1
    """Passes over each batch."""
    minibatches: int = 4
    """Gradient steps per pass."""
    row_tokens: int = 128
    """Token steps that fit into a row; sequences of different lengths share rows, so that little is padding."""
    lr: float = 3e-5
    """Learning rate."""
    clip: float = 0.2
    """Half width of the interval around 1 in which the probability ratio of a code may earn."""
    objective: Literal["decoupled", "coupled"] = "decoupled"
    """decoupled corrects for older samples; coupled is PPO as if there were none."""
    prox: Literal["recompute", "loglinear"] = "recompute"
    """Log-probabilities of the policy that an update starts from: by a forward pass, or on a line between versions."""
    behavior_cap: float = 5.0
    """Greatest weight of a code, the ratio between the policy that an update starts from and the one that drew it."""
    max_kl: float = 0.05
    """Sequences from which the policy has moved on by a larger KL divergence per code count less, by the share of this
    in it [nat]; 0 sets no limit. Needs ``prox`` recompute."""
    kl_coef: float = 0.02
    """Weight of the KL divergence per code to the reference, the generator as it was; 0 leaves it out."""
    reference_ema: float = 0.0
    """Share of the way to the policy that the reference goes after each update; 0 holds it still."""
    baseline_decay: float = 0.8
    """How much of a prompt's mean reward is kept from update to update."""
    max_grad_norm: float = 1.0
    """Gradient norm limit."""
    total_steps: int = 6400
    """Sequences to learn from."""
    minutes: float | None = None
    """Also stop after this many minutes of wall time; null sets no limit."""
    checkpoint_seconds: float = 60.0
    """Save a checkpoint at least this often."""
    keep_checkpoints: int = 3
    """Older checkpoints are deleted."""
    tensorboard: bool = True
    """Write TensorBoard event files beside ``metrics.jsonl``."""
    rollout: RolloutConfig = field(default_factory=RolloutConfig)
    """Who generates and who judges."""

    def __post_init__(self) -> None:
        """Check every value.

        Raises:
            BadSettingError: a value is outside its range; the text names the field.
        """
        if isinstance(self.rollout, Mapping):  # As a checkpoint has it.
            object.__setattr__(self, "rollout", RolloutConfig(**self.rollout))
        for name in ("batch", "epochs", "minibatches", "row_tokens", "total_steps", "keep_checkpoints"):
            _require(self, name, getattr(self, name) >= 1, "a whole number of at least 1")
        for name in ("lr", "max_grad_norm"):
            _require(self, name, getattr(self, name) > 0, "a number above 0")
        _require(self, "clip", 0 < self.clip < 1, "a number between 0 and 1, both excluded")
        _require(self, "behavior_cap", self.behavior_cap >= 1, "a number of at least 1")
        for name in ("max_kl", "kl_coef", "checkpoint_seconds"):
            _require(self, name, getattr(self, name) >= 0, "0 or more")
        for name in ("reference_ema", "baseline_decay"):
            _require(self, name, 0 <= getattr(self, name) < 1, "a number from 0 up to, but not including, 1")
        for name, words in (("objective", ("decoupled", "coupled")), ("prox", ("recompute", "loglinear"))):
            _require(self, name, getattr(self, name) in words, " or ".join(words))
        _require(self, "minutes", self.minutes is None or self.minutes > 0, "above 0, or null for no limit")
        _require(self, "minibatches", self.minibatches <= self.batch, f"at most batch = {self.batch}")

    @property
    def wait_steps(self) -> int:
        """Nothing waits."""
        return 0

    @property
    def settle_steps(self) -> int:
        """Sequences after the schedules have ended: there are no schedules."""
        return 0

    @property
    def unit(self) -> str:
        """What ``total_steps`` counts."""
        return "sequences"

    @property
    def if_diverged(self) -> str:
        """What to do when numbers stop being finite."""
        return "Lower lr or clip, or raise kl_coef"


def _require(config: object, name: str, good: bool, expected: str) -> None:
    if not good:
        raise BadSettingError.of(config, name, expected)
