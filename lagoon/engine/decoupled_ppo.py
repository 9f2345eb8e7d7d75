"""Decoupled PPO: learning from samples of older policies without being held to them.

What enters: a trajectory whose steps tell the version and log-probability they were chosen with. What leaves: better
parameters. PPO's clip does two things at once: it corrects for who acted and it limits the step. Here two policies do
them: the **behaviour** policy acted, the **proximal** policy, that of the start of the update, is not to be left far:

    J = E[ w min(u A, clip(u, 1 - c, 1 + c) A) ],   u = pi / pi_prox,   w = min(pi_prox / pi_behav, cap)

Since w >= 0, this is PPO's objective with pi_prox in place of pi_behav and w A in place of A.
Sources: see ``proximal``.
"""

from __future__ import annotations

import torch
from torch import Tensor

from lagoon.engine.config import PPOConfig
from lagoon.engine.group import Group
from lagoon.engine.policy import GaussianActorCritic, gaussian_log_prob
from lagoon.engine.ppo import PPO, Batch, Estimates
from lagoon.engine.proximal import behaviour_weight, mean_kl, proximal_share
from lagoon.engine.trajectory import Trajectory
from lagoon.engine.vtrace import vtrace


class DecoupledPPO(PPO):
    """PPO with the decoupled objective; for samples of the newest policy it is PPO."""

    def __init__(
        self, policy: GaussianActorCritic, config: PPOConfig, generator: torch.Generator, group: Group | None = None
    ) -> None:
        """Prepare as ``PPO`` does; ``config.graph`` says how to correct."""
        super().__init__(policy, config, generator, group)
        self._graph = config.graph
        self._log_ratio = torch.empty(0)
        self._std, self._version = 1.0, 0

    def update(self, trajectory: Trajectory, std: float, version: int = 0) -> dict[str, float]:
        """Learn from one trajectory; see ``Algorithm.update``."""
        self._std, self._version = std, version
        return super().update(trajectory, std, version)

    @torch.no_grad()
    def prepare(self, trajectory: Trajectory) -> tuple[Batch, dict[str, float]]:
        """Do what ``PPO.prepare`` does, then correct for who acted."""
        if self._graph.prox == "loglinear":
            batch, stats = super().prepare(trajectory)
            lag = (self._version - trajectory.flat("version")).clamp_min(0).float()
            share = proximal_share(lag).index_select(0, self._order)
            cap = torch.full_like(share, self._graph.behavior_cap)
            return batch | {"proximal_share": share, "weight_cap": cap}, stats
        self._log_ratio = self._proximal(trajectory) - trajectory["logp"]
        batch, stats = super().prepare(trajectory)
        kl = mean_kl(self._log_ratio)
        weight = behaviour_weight(self._log_ratio, self._graph.behavior_cap)
        stats["behavior_kl"] = float(kl.mean())
        stats["weight_capped"] = float((weight >= self._graph.behavior_cap).float().mean())
        if self._graph.max_kl > 0:
            # The mean is still taken over all samples, so that trusting some less makes no gradient larger. None is
            # dropped: where all are far, as with a noise that shrinks fast, nothing would be learned at all.
            trust = (self._graph.max_kl / kl.clamp_min(1e-9)).clamp_max(1.0)
            weight = weight * trust
            stats["kl_trust"] = float(trust.mean())
        batch["logp"] = batch["logp"] + self._log_ratio.flatten().index_select(0, self._order)
        batch["advantage"] = batch["advantage"] * weight.flatten().index_select(0, self._order)
        return batch, stats

    def _proximal(self, trajectory: Trajectory) -> Tensor:
        """Return log pi_prox of the actions [T, B], by one forward pass."""
        logps = []
        for obs, action in zip(trajectory["actor"], trajectory["action"], strict=True):
            mean = self.policy.actor(self.policy.normalizer["actor"](obs))
            logps.append(gaussian_log_prob(action, mean, self._std))
        return torch.stack(logps)

    def _targets(self, estimates: Estimates) -> tuple[Tensor, Tensor]:
        if self._graph.advantages != "vtrace":
            return super()._targets(estimates)
        return vtrace(self._log_ratio, *estimates.evidence(self.config))
