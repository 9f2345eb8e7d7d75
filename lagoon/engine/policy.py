"""The networks: running normalisers, a Gaussian actor and a critic with its own view.

What enters: raw observations. What leaves: actions with their log-probabilities, and values.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import torch
from torch import Tensor, nn

from lagoon.engine.config import PPOConfig
from lagoon.engine.networks import ACTIVATIONS, Network

_ACTIVATIONS = {"elu": nn.ELU, "relu": nn.ReLU, "silu": nn.SiLU, "tanh": nn.Tanh}
_VARIANCE_FLOOR = 1e-4  # (0.01)^2: a value that hardly varies must not be blown up into noise.
_IN_PLACE_ROWS = 128  # From here on memory that exists is faster than fresh one; see benchmarks/README.md.
_LAST_ACTOR_LAYER = 0.1  # Small first actions, so that a residual policy starts from its reference.


class Normalizer(nn.Module):
    """Running mean and variance of an observation, clipped after use.

    Statistics change only in ``update``, so that one rollout and the update on it see the same function.
    """

    mean: Tensor
    var: Tensor
    count: Tensor

    def __init__(self, dim: int, clip: float = 8.0) -> None:
        super().__init__()
        self.clip = clip
        self.register_buffer("mean", torch.zeros(dim, dtype=torch.float64))
        self.register_buffer("var", torch.ones(dim, dtype=torch.float64))
        self.register_buffer("count", torch.zeros((), dtype=torch.float64))
        self._refresh()
        self.register_load_state_dict_post_hook(lambda module, _: module._refresh())

    def _refresh(self) -> None:
        self._shift = self.mean.float()
        self._scale = (self.var + _VARIANCE_FLOOR).rsqrt().float()

    def forward(self, obs: Tensor) -> Tensor:
        """Return normalised observations, same shape, within plus or minus ``clip``."""
        return ((obs - self._shift) * self._scale).clamp(-self.clip, self.clip)

    def normalize_into(self, obs: Tensor, out: Tensor) -> Tensor:
        """Do what ``forward`` does into memory that exists."""
        return torch.sub(obs, self._shift, out=out).mul_(self._scale).clamp_(-self.clip, self.clip)

    def moments(self, obs: Tensor) -> Tensor:
        """Summarise observations so that summaries of several workers can be added.

        Args:
            obs: (N, O) float32.

        Returns:
            (2 O + 1,) float64: sums of x - mean, sums of (x - mean)^2, N. The shift by the current mean, which
            all workers share, keeps the sums accurate.
        """
        deviation = obs - self._shift
        count = torch.full((1,), len(obs), dtype=torch.float64)
        sums, squares = deviation.sum(0), deviation.square_().sum(0)
        return torch.cat([sums.double(), squares.double(), count])

    def forget(self, most: float) -> None:
        """Let what was seen so far count for ``most`` observations at the most."""
        self.count.clamp_(max=most)

    def update(self, moments: Tensor) -> None:
        """Take in observations summarised by ``moments``, from one worker or added up over several.

        Source: Chan, Golub, LeVeque 1983, pairwise update of mean and variance.
        """
        dim = len(self.mean)
        sums, squares, count = moments[:dim], moments[dim : 2 * dim], moments[-1]
        step = sums / count
        shift_error = self._shift.double() - self.mean
        batch_mean = self.mean + shift_error + step
        batch_var = (squares / count - step.square()).clamp_min(0.0)
        total = self.count + count
        delta = batch_mean - self.mean
        share = count / total
        self.var.copy_(self.var * (1 - share) + batch_var * share + delta.square() * share * (1 - share))
        self.mean.add_(delta * share)
        self.count.copy_(total)
        self._refresh()


def mlp(sizes: Sequence[int], activation: str) -> nn.Sequential:
    """Return linear layers of the given sizes with an activation between them."""
    layers: list[nn.Module] = []
    for i, (width_in, width_out) in enumerate(pairwise(sizes)):
        layers += [_ACTIVATIONS[activation]()] * (i > 0) + [nn.Linear(width_in, width_out)]
    return nn.Sequential(*layers)


def gaussian_log_prob(action: Tensor, mean: Tensor, std: float) -> Tensor:
    """Return the log-density of actions under N(mean, std^2 I).

    Args:
        action: (..., A).
        mean: (..., A).
        std: one standard deviation for all actions.

    Returns:
        (...,) log-densities [nat].
    """
    constant = action.shape[-1] * (math.log(std) + 0.5 * math.log(2 * math.pi))
    return (action - mean).square().sum(-1).mul(-0.5 / std**2).sub(constant)


def gaussian_entropy(dim: int, std: float) -> float:
    """Return the differential entropy of N(mean, std^2 I) over ``dim`` actions [nat]; negative for little noise."""
    return dim * (math.log(std) + 0.5 * math.log(2 * math.pi * math.e))


class GaussianActorCritic(nn.Module):
    """A policy N(actor(obs), std^2 I) and a value function, two separate networks.

    ``actor`` and ``critic`` take normalised observations; ``act`` and ``value`` take raw ones.
    """

    std: Tensor

    def __init__(
        self,
        obs_dims: dict[str, int],
        action_dim: int,
        hidden: Sequence[int] = (256, 128),
        activation: str = "elu",
        obs_clip: float = 8.0,
        seed: int = 0,
    ) -> None:
        """Build both networks.

        Args:
            obs_dims: sizes of the groups "actor" and "critic".
            action_dim: number of actions A.
            hidden: widths of the hidden layers.
            activation: name from ``config.ACTIVATIONS``.
            obs_clip: bound of normalised observations, in standard deviations.
            seed: seed of the initial weights.
        """
        super().__init__()
        self.obs_dims, self.action_dim = dict(obs_dims), action_dim
        self.hidden, self.activation, self.obs_clip = tuple(hidden), activation, obs_clip
        self.normalizer = nn.ModuleDict({group: Normalizer(dim, obs_clip) for group, dim in obs_dims.items()})
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.actor = mlp((obs_dims["actor"], *hidden, action_dim), activation)
            self.critic = mlp((obs_dims["critic"], *hidden, 1), activation)
        last = self.actor[-1]
        assert isinstance(last, nn.Linear)
        with torch.no_grad():
            last.weight.mul_(_LAST_ACTOR_LAYER)
            last.bias.zero_()
        self.register_buffer("std", torch.ones(()))
        self._acting: tuple[Network, Tensor] | None = None

    @classmethod
    def from_config(
        cls, obs_dims: dict[str, int], action_dim: int, config: PPOConfig, seed: int
    ) -> GaussianActorCritic:
        """Build the networks that a ``PPOConfig`` describes."""
        return cls(obs_dims, action_dim, config.hidden, config.activation, config.obs_clip, seed)

    def facts(self) -> dict[str, object]:
        """Return the constructor arguments, for ``GaussianActorCritic(**facts)`` when loading."""
        return {
            "obs_dims": self.obs_dims,
            "action_dim": self.action_dim,
            "hidden": list(self.hidden),
            "activation": self.activation,
            "obs_clip": self.obs_clip,
        }

    def act(self, obs: Tensor, std: float, generator: torch.Generator | None) -> tuple[Tensor, Tensor]:
        """Choose actions.

        Args:
            obs: (N, O) raw actor observations.
            std: standard deviation of the noise.
            generator: source of the noise; None returns the mean action, which is what gets exported.

        Returns:
            Actions (N, A) and their log-probabilities (N,).
        """
        action = self._means(obs)
        if generator is None:
            return action.clone(), gaussian_log_prob(action, action, std)
        noise = torch.empty_like(action).normal_(0.0, std, generator=generator)
        return action + noise, gaussian_log_prob(noise, torch.zeros(()), std)

    def _means(self, obs: Tensor) -> Tensor:
        """Mean actions (N, A) of raw observations, by the fastest way for so many; overwritten by the next call."""
        normalizer = self.normalizer["actor"]
        if len(obs) < _IN_PLACE_ROWS or torch.is_grad_enabled() or self.activation not in ACTIVATIONS:
            return self.actor(normalizer(obs))
        if self._acting is None or len(self._acting[1]) < len(obs):
            self._acting = Network(self.actor, self.activation, len(obs)), torch.empty_like(obs)
        network, memory = self._acting
        return network.forward(normalizer.normalize_into(obs, memory[: len(obs)]))  # type: ignore[operator]

    def value(self, obs: Tensor) -> Tensor:
        """Return values (N,) of raw critic observations (N, O)."""
        return self.critic(self.normalizer["critic"](obs)).squeeze(-1)
