"""The gradient of the PPO loss written out by hand, for the plain networks of ``policy.py``.

What enters: a minibatch. What leaves: its gradient and statistics in the flat buffer, equal to autograd's up to
rounding (tests/engine/test_fused.py). It exists because the update is most of the training time on a processor:
work goes through blocks of rows that stay in the cache, into memory that exists, without a graph.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from lagoon.engine.config import PPOConfig
from lagoon.engine.cores import multiplies_bf16
from lagoon.engine.networks import ACTIVATIONS, Network, ShortNetwork
from lagoon.engine.params import FlatParameters
from lagoon.engine.policy import GaussianActorCritic
from lagoon.engine.proximal import towards_proximal

_BLOCK_ROWS, _SHORT_BLOCK_ROWS = 1024, 2048


class FusedBackward:
    """Fills ``FlatParameters.reduced`` with gradients and statistics."""

    def __init__(self, policy: GaussianActorCritic, flat: FlatParameters, config: PPOConfig) -> None:
        short = config.bf16 or (config.amx and multiplies_bf16())
        network, rows = (ShortNetwork, _SHORT_BLOCK_ROWS) if short else (Network, _BLOCK_ROWS)
        self._rows = rows
        self._actor = network(policy.actor, policy.activation, rows)
        self._critic = network(policy.critic, policy.activation, rows)
        self._valuer = Network(policy.critic, policy.activation, _BLOCK_ROWS) if short else self._critic
        self._flat, self._config = flat, config

    @classmethod
    def build(cls, policy: GaussianActorCritic, flat: FlatParameters, config: PPOConfig) -> FusedBackward | None:
        """Return the fused backward pass, or None where autograd has to do it."""
        applies = config.fused_backward and policy.activation in ACTIVATIONS
        return cls(policy, flat, config) if applies else None

    @torch.no_grad()
    def gradients(self, minibatch: dict[str, Tensor], std: float) -> None:
        """Write the gradient of the mean loss over a minibatch, and ``ppo.STATS``, into the flat buffer."""
        self._flat.reduced.zero_()
        self._actor.refresh()
        self._critic.refresh()
        rows = len(minibatch["advantage"])
        for start in range(0, rows, self._rows):
            block = {name: tensor[start : start + self._rows] for name, tensor in minibatch.items()}
            self._actor_block(block, std, 1.0 / rows)
            self._critic_block(block, 1.0 / rows)

    def values(self, obs: Tensor) -> Tensor:
        """Return the critic's values (N,) of normalised observations (N, O)."""
        return torch.cat([self._valuer.forward(block).squeeze(1).clone() for block in obs.split(_BLOCK_ROWS)])

    def _actor_block(self, block: dict[str, Tensor], std: float, share: float) -> None:
        clip, precision = self._config.clip, 1.0 / std**2
        mean = self._actor.forward(block["actor"])
        calm = mean.clone() if "shaken" in block else None
        miss = block["action"] - mean
        constant = miss.shape[1] * (math.log(std) + 0.5 * math.log(2 * math.pi))
        log_ratio = miss.square().sum(1).mul_(-0.5 * precision).sub_(constant).sub_(block["logp"])
        advantage = block["advantage"]
        if "proximal_share" in block:
            log_ratio, advantage = towards_proximal(log_ratio, block)
        ratio = log_ratio.exp()
        gain = ratio * advantage
        limited = ratio.clamp(1 - clip, 1 + clip).mul_(advantage)
        # Where the clipped term is the smaller one, the surrogate does not depend on the policy.
        slope = gain.masked_fill(limited < gain, 0.0).mul_(-share * precision)
        self._actor.backward(miss.mul_(slope[:, None]))
        if calm is not None:
            moved = self._actor.forward(block["shaken"]).sub(calm)
            self._actor.backward(moved.mul_(2.0 * self._config.smoothness * share / moved.shape[1]))
        clipped = ((ratio - 1).abs_() > clip).sum()
        kl = torch.expm1(log_ratio).sub_(log_ratio).sum()
        surrogate = torch.minimum(gain, limited).sum().neg_()
        self._flat.extra[:3].add_(torch.stack([kl, clipped, surrogate]), alpha=share)

    def _critic_block(self, block: dict[str, Tensor], share: float) -> None:
        error = self._critic.forward(block["critic"]).squeeze(1) - block["target"]
        self._flat.extra[3].add_(error.square().sum(), alpha=share)
        self._critic.backward(error.mul_(2.0 * self._config.value_coef * share)[:, None])
