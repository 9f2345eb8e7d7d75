"""Settings of PPO and of the processes that run it; plain data, no torch.

What enters: values from the section ``train.ppo``, or code. What leaves: a frozen, checked ``PPOConfig``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from lagoon.errors import BadSettingError

ACTIVATIONS = ("elu", "relu", "silu", "tanh")
TOPOLOGIES = ("colocated", "decoupled", "async")


@dataclass(frozen=True)
class GraphConfig:
    """How actors and the trainer work side by side; read by the topologies ``decoupled`` and ``async`` alone."""

    actors: int = 0
    """Processes that step environments; 0 means one per core that the trainer leaves, at least one."""
    policy_workers: int = 1
    """Processes that answer the actors' questions; with ``async`` every actor has the policy itself."""
    ring: int = 2
    """Environments per actor: while one waits for its actions, the next one steps."""
    listen: str | None = None
    """tcp://HOST:PORT where actors of other machines may join (``lagoon join``); null lets nobody. 127.0.0.1 is this
    machine alone. There is no password: other addresses only in networks that you trust."""
    remote_seats: int = 16
    """Environments that actors of other machines may have at once. Only with ``listen``."""
    max_staleness: int = 1
    """Updates that may lie between choosing an action and learning from it; 0 makes actors wait for every update."""
    lockstep: bool = False
    """Learn from every environment in turn, acted on by exactly the parameters of ``max_staleness`` updates before: two
    runs then end with equal bits, and the slowest actor sets the pace."""
    interruptible: bool = True
    """Take over new parameters in the middle of a rollout; False waits for its end. Only with ``async``."""
    objective: Literal["decoupled", "coupled"] = "decoupled"
    """decoupled corrects for older samples; coupled is PPO as if there were none."""
    prox: Literal["recompute", "loglinear"] = "recompute"
    """Log-probabilities of the policy that an update starts from: by a forward pass, or on a line between versions."""
    behavior_cap: float = 5.0
    """Greatest weight of a sample, the ratio between the policy that an update starts from and the one that acted."""
    max_kl: float = 0.5
    """Samples of an environment whose policy has moved on by a larger KL divergence count less, by the share of this in
    it [nat]; 0 sets no limit. Needs ``prox`` recompute."""
    advantages: Literal["gae", "vtrace"] = "gae"
    """vtrace also corrects the value targets for older samples. Needs ``prox`` recompute."""

    def __post_init__(self) -> None:
        """Check every value.

        Raises:
            BadInputError: a value is outside its range; the text names the field.
        """
        if self.listen is not None:
            good = re.fullmatch(r"tcp://[^\s/:]+:(\d{1,5}|\*)", self.listen) is not None
            _require(self, "listen", good, "tcp://HOST:PORT, or null")
            _require(self, "lockstep", not self.lockstep, "false with listen: who has joined is not repeatable")
        lows = (("actors", 0), ("policy_workers", 1), ("ring", 1), ("max_staleness", 0), ("remote_seats", 1))
        for name, low in lows:
            _require(self, name, getattr(self, name) >= low, f"a whole number of at least {low}")
        _require(self, "behavior_cap", self.behavior_cap >= 1, "a number of at least 1")
        _require(self, "max_kl", self.max_kl >= 0, "0 (no limit) or more")
        for name, words in (
            ("objective", ("decoupled", "coupled")),
            ("prox", ("recompute", "loglinear")),
            ("advantages", ("gae", "vtrace")),
        ):
            _require(self, name, getattr(self, name) in words, " or ".join(words))
        good = self.advantages == "gae" or (self.prox == "recompute" and self.objective == "decoupled")
        _require(self, "advantages", good, "gae, unless objective is decoupled and prox is recompute")


def _require(config: object, name: str, good: bool, expected: str) -> None:
    if not good:
        raise BadSettingError.of(config, name, expected)


@dataclass(frozen=True)
class PPOConfig:
    """Everything PPO needs to know besides the environment and the seed.

    The defaults are the recipe of docs/engine.md: short rollouts of many robots, a learning rate steered by
    the KL divergence, and a noise that follows a schedule instead of being learned.
    """

    num_envs: int = 256
    """Environments of the whole run; they are split evenly over the workers."""
    horizon: int = 32
    """Control steps per environment between two updates."""
    epochs: int = 5
    """Passes over each rollout."""
    minibatches: int = 4
    """Gradient steps per pass."""
    gamma: float = 0.98
    """Discount per control step."""
    lam: float = 0.95
    """Lambda of generalised advantage estimation."""
    clip: float = 0.2
    """Half width of the interval around 1 in which the probability ratio may earn."""
    lr: float = 1e-3
    """Learning rate of the first gradient step."""
    lr_min: float = 5e-5
    """The KL rule never goes below this learning rate."""
    lr_max: float = 1e-2
    """The KL rule never goes above this learning rate."""
    target_kl: float = 0.02
    """KL divergence per update that the learning rate aims at [nat]; 0 keeps ``lr`` fixed."""
    max_grad_norm: float = 1.0
    """Gradient norm limit, for actor and critic separately."""
    smoothness: float = 0.0
    """Weight of the squared change that noise in the observations makes in the mean action; 0 is off. It costs another
    pass of the actor in each gradient step."""
    smoothness_noise: float = 0.1
    """Standard deviation of that noise, in standard deviations of each observation."""
    value_coef: float = 1.0
    """Weight of the value loss."""
    std_start: float = 0.35
    """Standard deviation of the action noise at the start, in units of the action."""
    std_end: float = 0.06
    """Standard deviation of the action noise at the end."""
    std_hold: float = 0.1
    """Share of the run, at its end, that is trained with ``std_end``."""
    reward_scale: bool = True
    """Multiply rewards by 2 (1 - gamma), so that values stay near 1."""
    hidden: tuple[int, ...] = (256, 128)
    """Widths of the hidden layers, the same for actor and critic."""
    activation: str = "elu"
    """Activation of the hidden layers: elu, relu, silu or tanh."""
    obs_clip: float = 8.0
    """Normalised observations are clipped to plus or minus this many standard deviations."""
    fused_backward: bool = True
    """Use the hand-written backward pass of ``fused.py`` where it applies; False uses autograd everywhere."""
    amx: bool = True
    """Let the update's matrix products take bfloat16 where the processor multiplies it (AMX), which makes them several
    times faster; all else stays float32. Of the hand-written backward pass."""
    bf16: bool = False
    """Let them take bfloat16 on any processor; without AMX it is slower."""
    start_from: str = ""
    """Checkpoint whose networks and normalisers a new run begins with, by its .json file; empty begins with none. Not
    read by a run that goes on."""
    total_steps: int = 6_000_000
    """Environment steps over which all schedules run from their starts to their ends."""
    wait_steps: int = 0
    """Steps before that for which the schedules may wait at their starts; a hook that has seen enough lets them begin.
    With ``minutes`` they never wait."""
    settle_steps: int = 0
    """Steps that may follow with the schedules at their ends; a hook that has seen enough ends them early."""
    minutes: float | None = None
    """Also stop, and finish all schedules, after this many minutes of wall time, with nothing to follow; None sets
    no limit."""
    topology: Literal["colocated", "decoupled", "async"] = "colocated"
    """colocated: every process acts and learns in turn. decoupled: actors, policy workers and one trainer. async:
    actors that have the policy themselves, and one trainer that learns from samples of older policies."""
    graph: GraphConfig = field(default_factory=GraphConfig)
    """What decoupled and async need to know."""
    workers: int = 0
    """Processes; 0 means one per core that this process may use. Only with colocated."""
    checkpoint_seconds: float = 60.0
    """Save a checkpoint at least this often."""
    keep_checkpoints: int = 3
    """Older checkpoints are deleted."""
    profile: bool = False
    """Record where the time goes, into ``profile/`` of the run's folder; costs less than a hundredth of it."""
    tensorboard: bool = True
    """Write TensorBoard event files beside ``metrics.jsonl``."""

    def __post_init__(self) -> None:
        """Check every value.

        Raises:
            BadInputError: a value is outside its range; the text names the field.
        """
        object.__setattr__(self, "hidden", tuple(int(width) for width in self.hidden))
        if isinstance(self.graph, Mapping):  # As a checkpoint has it.
            object.__setattr__(self, "graph", GraphConfig(**self.graph))
        for name in ("num_envs", "horizon", "epochs", "minibatches", "total_steps", "keep_checkpoints"):
            self._require(name, getattr(self, name) >= 1, "a whole number of at least 1")
        for name in ("lr", "lr_min", "lr_max", "max_grad_norm", "std_start", "std_end", "obs_clip"):
            self._require(name, getattr(self, name) > 0, "a number above 0")
        for name in ("clip", "gamma"):
            self._require(name, 0 < getattr(self, name) < 1, "a number between 0 and 1, both excluded")
        self._require("lam", 0 <= self.lam <= 1, "a number from 0 to 1")
        self._require("std_hold", 0 <= self.std_hold < 1, "a number from 0 up to, but not including, 1")
        self._require("target_kl", self.target_kl >= 0, "0 or more")
        self._require("smoothness", self.smoothness >= 0, "0 (off) or more")
        self._require("smoothness_noise", self.smoothness_noise > 0, "a number above 0")
        self._require("value_coef", self.value_coef >= 0, "0 or more")
        self._require("topology", self.topology in TOPOLOGIES, f"one of {', '.join(TOPOLOGIES)}")
        self._require("workers", self.workers >= 0, "0 (one per core) or more")
        self._require("settle_steps", self.settle_steps >= 0, "0 or more")
        self._require("wait_steps", self.wait_steps >= 0, "0 or more")
        self._require("checkpoint_seconds", self.checkpoint_seconds >= 0, "0 or more")
        self._require("lr_max", self.lr_min <= self.lr <= self.lr_max, "such that lr_min <= lr <= lr_max")
        self._require("minutes", self.minutes is None or self.minutes > 0, "above 0, or null for no limit")
        self._require("hidden", bool(self.hidden) and min(self.hidden) >= 1, "one or more widths of at least 1")
        self._require("activation", self.activation in ACTIVATIONS, f"one of {', '.join(ACTIVATIONS)}")
        self._require(
            "minibatches",
            self.minibatches <= self.num_envs * self.horizon,
            f"at most num_envs x horizon = {self.num_envs * self.horizon}",
        )

    def _require(self, name: str, good: bool, expected: str) -> None:
        _require(self, name, good, expected)

    @property
    def reward_factor(self) -> float:
        """What rewards are multiplied by before learning sees them."""
        return 2.0 * (1.0 - self.gamma) if self.reward_scale else 1.0

    @property
    def unit(self) -> str:
        """What ``total_steps`` counts."""
        return "steps"

    @property
    def if_diverged(self) -> str:
        """What to do when numbers stop being finite."""
        return (
            "Lower train.ppo.lr_max, or look for values that are not finite with "
            "lagoon.engine.environment.check_vec_env"
        )
