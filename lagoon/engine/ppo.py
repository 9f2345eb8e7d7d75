"""Proximal policy optimisation: its formulas as functions, and the algorithm that applies them.

What enters: a trajectory. What leaves: better parameters, in place, and numbers for the log.
Source: Schulman et al. 2017, "Proximal policy optimization algorithms"; the learning-rate rule follows rsl_rl.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

import torch
from torch import Tensor

from lagoon.engine.config import PPOConfig
from lagoon.engine.fused import FusedBackward
from lagoon.engine.gae import generalized_advantages
from lagoon.engine.group import Group, Solo
from lagoon.engine.params import FlatParameters
from lagoon.engine.policy import GaussianActorCritic, gaussian_log_prob
from lagoon.engine.proximal import towards_proximal
from lagoon.engine.trajectory import Trajectory

Batch = dict[str, Tensor]
STATS = ("kl", "clip_fraction", "surrogate_loss", "value_loss")
_INFERENCE_ROWS = 2048  # Rows per forward pass without gradients: activations stay in the cache.
_LR_FACTOR = 1.5


def surrogate_loss(log_ratio: Tensor, advantage: Tensor, clip: float) -> Tensor:
    """Return the clipped surrogate, -mean(min(r A, clip(r, 1 - c, 1 + c) A)) with r = exp(log_ratio); inputs (M,)."""
    ratio = log_ratio.exp()
    return -torch.minimum(ratio * advantage, ratio.clamp(1 - clip, 1 + clip) * advantage).mean()


def value_loss(value: Tensor, target: Tensor) -> Tensor:
    """Return the mean squared error of values (M,)."""
    return (value - target).square().mean()


def smoothness_loss(shaken: Tensor, mean: Tensor) -> Tensor:
    """Return the mean squared difference of actions (M, A) under noise to those without, which are the target.

    Source: Mysore et al. 2021, "Regularizing action policies for smooth control" (CAPS), the spatial term.
    """
    return (shaken - mean).square().mean()


def kl_divergence(log_ratio: Tensor) -> Tensor:
    """Estimate KL(old || new) [nat] from samples of the old policy: mean(r - 1 - log r), never negative.

    Source: Schulman 2020, "Approximating KL divergence", estimator k3.
    """
    return (torch.expm1(log_ratio) - log_ratio).mean()


def adapted_lr(lr: float, kl: float, config: PPOConfig) -> float:
    """Return the next learning rate: smaller after a KL above twice the target, larger below half of it."""
    if config.target_kl > 0 and kl > 2 * config.target_kl:
        return max(config.lr_min, lr / _LR_FACTOR)
    if config.target_kl > 0 and kl < config.target_kl / 2:
        return min(config.lr_max, lr * _LR_FACTOR)
    return lr


def clip_norm_(gradient: Tensor, limit: float) -> float:
    """Scale a gradient in place so that its norm is at most ``limit``; returns the norm before."""
    norm = float(gradient.norm())
    if norm > limit:
        gradient.mul_(limit / norm)
    return norm


def standardize_(advantage: Tensor, group: Group) -> Tensor:
    """Give advantages mean 0 and standard deviation 1 over the batches of all workers, in place."""
    sums = torch.stack([advantage.sum(), advantage.new_tensor(advantage.numel())]).double()
    group.sum_(sums)
    advantage.sub_(float(sums[0] / sums[1]))
    square = group.sum_(advantage.square().sum().double().reshape(1))
    return advantage.div_(float((square / sums[1]).sqrt()) + 1e-8)


def update_normalizers(policy: GaussianActorCritic, obs: Mapping[str, Tensor], group: Group) -> None:
    """Let the normalisers take in the observations (N, O) of all workers, with one sum over the group."""
    moments = [policy.normalizer[name].moments(rows) for name, rows in obs.items()]  # type: ignore[operator]
    total = group.sum_(torch.cat(moments))
    for name, part in zip(obs, total.split([len(part) for part in moments]), strict=True):
        policy.normalizer[name].update(part)  # type: ignore[operator]


class Algorithm(Protocol):
    """Turns trajectories into better parameters; the trainer worker knows no more than this."""

    def update(self, trajectory: Trajectory, std: float, version: int = 0) -> dict[str, float]:
        """Learn from one trajectory; returns numbers for the log.

        Args:
            trajectory: complete; it is only read.
            std: the noise of the policy that learns.
            version: of the parameters that learn; the trajectory may be from older ones.
        """
        ...

    def tensors(self) -> dict[str, Tensor]:
        """Return the optimiser's state for a checkpoint."""
        ...

    def facts(self) -> dict[str, Any]:
        """Return the rest of the state for a checkpoint, as JSON values."""
        ...

    def load(self, tensors: dict[str, Tensor], facts: dict[str, Any]) -> None:
        """Take over a checkpoint."""
        ...


class Estimates(NamedTuple):
    """A trajectory and what the critic says about it."""

    trajectory: Trajectory
    value: Tensor
    """[T, B], of the observation before each step."""
    last_value: Tensor
    """[B], of the observation after the last step."""
    final_value: Tensor
    """[T, B], of the true last observation where an episode was truncated."""

    def evidence(self, config: PPOConfig) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, float, float]:
        """Return what every estimator of advantages asks for, in the order in which all of them take it."""
        return (
            self.trajectory["reward"] * config.reward_factor,
            self.value,
            self.last_value,
            self.final_value,
            self.trajectory["terminated"],
            self.trajectory["truncated"],
            config.gamma,
            config.lam,
        )


class PPO:
    """PPO with an asymmetric critic, a scheduled noise and a learning rate steered by the KL divergence."""

    def __init__(
        self, policy: GaussianActorCritic, config: PPOConfig, generator: torch.Generator, group: Group | None = None
    ) -> None:
        """Flatten the policy's parameters and prepare the optimiser.

        Args:
            policy: learned in place.
            config: the recipe.
            generator: source of the minibatch order.
            group: workers to share gradients with; None for a single one.
        """
        self.policy, self.config, self.generator = policy, config, generator
        self.group: Group = group or Solo()
        self.flat = FlatParameters({"actor": policy.actor, "critic": policy.critic}, extra=len(STATS))
        self.group.lead_(self.flat.values.data)
        self.optimizer = torch.optim.Adam([self.flat.values], lr=config.lr, eps=1e-8, fused=True)
        self.lr = config.lr
        self.fused = FusedBackward.build(policy, self.flat, config)
        self._rows: dict[str, Tensor] = {}
        self._order = torch.empty(0, dtype=torch.int64)

    def update(self, trajectory: Trajectory, std: float, version: int = 0) -> dict[str, float]:
        """Learn from one trajectory, then let the normalisers take its observations in.

        Args:
            trajectory: complete; it is only read.
            std: the noise that its actions were drawn with.
            version: of the parameters; read only by what corrects for older samples.

        Returns:
            Means over all gradient steps, for the log.
        """
        batch, stats = self.prepare(trajectory)
        sums = torch.zeros(len(STATS))
        norms = dict.fromkeys(self.flat.slices, 0.0)
        parts = {name: tensor.tensor_split(self.config.minibatches) for name, tensor in batch.items()}
        for number in list(range(self.config.minibatches)) * self.config.epochs:
            self.gradients({name: tensors[number] for name, tensors in parts.items()}, std)
            self.group.sum_(self.flat.reduced).div_(self.group.size)
            sums += self.flat.extra
            for name, part in self.flat.slices.items():
                norms[name] += clip_norm_(self.flat.gradients[part], self.config.max_grad_norm)
            self.lr = adapted_lr(self.lr, float(self.flat.extra[0]), self.config)
            self.optimizer.param_groups[0]["lr"] = self.lr
            self.optimizer.step()
        update_normalizers(self.policy, {name: trajectory.flat(name) for name in ("actor", "critic")}, self.group)
        steps = self.config.epochs * self.config.minibatches
        stats |= {name: value / steps for name, value in zip(STATS, sums.tolist(), strict=True)}
        return stats | {f"{name}_grad_norm": value / steps for name, value in norms.items()} | {"lr": self.lr}

    @torch.no_grad()
    def prepare(self, trajectory: Trajectory) -> tuple[Batch, dict[str, float]]:
        """Shuffle and normalise observations, compute values, advantages and targets.

        Values are computed here, in large batches and with the newest critic, and not while acting. The rows are
        shuffled once, and all epochs use the same minibatches: gathering rows anew costs more than it helps.

        Returns:
            The batch with rows [T * B], and numbers for the log.
        """
        schema, normalizer = trajectory.schema, self.policy.normalizer
        order = self._order = torch.randperm(trajectory.samples, generator=self.generator)
        obs = {}
        for name in ("actor", "critic"):
            rows = torch.index_select(trajectory.flat(name), 0, order, out=self._memory(name, trajectory.flat(name)))
            obs[name] = normalizer[name].normalize_into(rows, rows)  # type: ignore[operator]
        value = torch.empty(trajectory.samples)
        value[order] = self._values(obs["critic"])
        value = value.view(schema.horizon, schema.batch)
        last_value = self._values(normalizer["critic"](trajectory["last_critic"]))
        truncated = trajectory["truncated"]
        final_value = torch.zeros_like(value)
        if truncated.any():
            final_value[truncated] = self._values(normalizer["critic"](trajectory["final_critic"][truncated]))
        advantage, target = self._targets(Estimates(trajectory, value, last_value, final_value))
        spread = target.var()
        stats = {
            "reward": float(trajectory["reward"].mean()),
            "value_mean": float(value.mean()),
            "explained_variance": float(1 - advantage.var() / spread) if spread > 0 else 0.0,
        }
        standardize_(advantage, self.group)
        flat = {"advantage": advantage.flatten(), "target": target.flatten()}
        flat |= {name: trajectory.flat(name) for name in ("action", "logp")}
        return obs | {name: tensor.index_select(0, order) for name, tensor in flat.items()}, stats

    def _targets(self, estimates: Estimates) -> tuple[Tensor, Tensor]:
        """Return advantages and value targets [T, B]."""
        return generalized_advantages(*estimates.evidence(self.config))

    def gradients(self, minibatch: Batch, std: float) -> None:
        """Write the gradient of the loss on a minibatch, and ``STATS``, into the flat buffer."""
        if self.config.smoothness > 0.0:
            minibatch = minibatch | {"shaken": self._shaken(minibatch["actor"])}
        if self.fused is not None:
            self.fused.gradients(minibatch, std)
            return
        self.flat.reduced.zero_()
        loss, stats = self.loss(minibatch, std)
        loss.backward()
        self.flat.extra.copy_(stats)

    def loss(self, minibatch: Batch, std: float) -> tuple[Tensor, Tensor]:
        """Return the loss to differentiate, and ``STATS`` (4,)."""
        with torch.autocast("cpu", torch.bfloat16, enabled=self.config.bf16):
            mean = self.policy.actor(minibatch["actor"]).float()
            value = self.policy.critic(minibatch["critic"]).squeeze(-1).float()
        log_ratio = gaussian_log_prob(minibatch["action"], mean, std) - minibatch["logp"]
        advantage = minibatch["advantage"]
        if "proximal_share" in minibatch:
            log_ratio, advantage = towards_proximal(log_ratio, minibatch)
        surrogate = surrogate_loss(log_ratio, advantage, self.config.clip)
        error = value_loss(value, minibatch["target"])
        with torch.no_grad():
            clipped = ((log_ratio.exp() - 1).abs() > self.config.clip).float().mean()
            stats = torch.stack([kl_divergence(log_ratio), clipped, surrogate, error])
        loss = surrogate + self.config.value_coef * error
        if "shaken" in minibatch:
            with torch.autocast("cpu", torch.bfloat16, enabled=self.config.bf16):
                shaken = self.policy.actor(minibatch["shaken"]).float()
            loss = loss + self.config.smoothness * smoothness_loss(shaken, mean.detach())
        return loss, stats

    def _shaken(self, obs: Tensor) -> Tensor:
        """Return normalised observations with noise on them."""
        return obs + self.config.smoothness_noise * torch.randn(obs.shape, generator=self.generator)

    def _values(self, obs: Tensor) -> Tensor:
        if self.fused is not None:
            return self.fused.values(obs)
        return torch.cat([self.policy.critic(rows).squeeze(-1) for rows in obs.split(_INFERENCE_ROWS)])

    def _memory(self, name: str, like: Tensor) -> Tensor:
        if name not in self._rows or self._rows[name].shape != like.shape:
            self._rows[name] = torch.empty_like(like)
        return self._rows[name]

    def tensors(self) -> dict[str, Tensor]:
        """Return the optimiser's moments, for a checkpoint; empty before the first step."""
        state = self.optimizer.state.get(self.flat.values, {})
        return {name: state[name] for name in ("step", "exp_avg", "exp_avg_sq") if name in state}

    def facts(self) -> dict[str, Any]:
        """Return the learning rate, for a checkpoint."""
        return {"lr": self.lr}

    def load(self, tensors: dict[str, Tensor], facts: dict[str, Any]) -> None:
        """Take over what ``tensors`` and ``facts`` returned."""
        self.lr = float(facts["lr"])
        if tensors:
            self.optimizer.state[self.flat.values] = {name: tensor.clone() for name, tensor in tensors.items()}
