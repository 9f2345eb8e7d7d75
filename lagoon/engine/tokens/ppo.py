"""Decoupled PPO for sequences of tokens that are rewarded once, at their end.

What enters: judged sequences, each code with the log-probability and the version it was drawn with. What leaves: better
parameters, in place. Every code of a sequence gets the sequence's advantage: its reward less the mean reward of its
prompt, standardised over the batch. With u = pi / pi_prox and w = min(pi_prox / pi_behav, cap)

    J = sum over codes of  w min(u A, clip(u, 1 - c, 1 + c) A) - k KL(pi || reference)

divided by the codes of an average minibatch: what a sequence weighs does not depend on which others are in its
minibatch, nor on weights that were cut.
Sources: Fu et al. 2025, "AReaL", section 5; Xu et al. 2024, "Is DPO superior to PPO for LLM alignment?", for large
batches, standardised advantages and the moving reference.
"""

from __future__ import annotations

from typing import Any, cast

import torch
from torch import Tensor, nn

from lagoon.engine.params import FlatParameters
from lagoon.engine.ppo import clip_norm_
from lagoon.engine.proximal import behaviour_weight, mean_kl, proximal_share, towards_proximal
from lagoon.engine.tokens.config import TokenPPOConfig
from lagoon.engine.tokens.packing import Packed
from lagoon.engine.tokens.schema import TokenModel
from lagoon.engine.trajectory import Trajectory

_INFERENCE_ROWS = 8


def clipped(log_ratio: Tensor, advantage: Tensor, clip: float) -> Tensor:
    """Return min(u A, clip(u, 1 - c, 1 + c) A) with u = exp(log_ratio), elementwise."""
    ratio = log_ratio.exp()
    return torch.minimum(ratio * advantage, ratio.clamp(1 - clip, 1 + clip) * advantage)


def reference_kl(logp: Tensor, reference: Tensor) -> Tensor:
    """Estimate KL(pi || reference) [nat] of codes drawn by pi: r - 1 - log r with r = reference / pi, never negative.

    Source: Schulman 2020, "Approximating KL divergence", estimator k3.
    """
    log_ratio = reference - logp
    return torch.expm1(log_ratio) - log_ratio


class PromptBaseline:
    """Mean reward of each prompt, older batches counting less; what a sequence's reward is compared with."""

    def __init__(self, prompts: int, decay: float) -> None:
        """Start without any reward seen."""
        self.decay = decay
        self.sum, self.weight = torch.zeros(prompts), torch.zeros(prompts)

    def advantages(self, reward: Tensor, prompt: Tensor) -> Tensor:
        """Take a batch in and return rewards (B,) less the means of their prompts (B,).

        The others of a prompt in this batch count along with the batches before; a sequence's own reward does not,
        since that would shrink its advantage. One that is alone is compared with the whole batch.
        """
        self.sum *= self.decay
        self.weight *= self.decay
        self.sum.index_add_(0, prompt, reward)
        self.weight.index_add_(0, prompt, torch.ones_like(reward))
        others, total = self.weight[prompt] - 1.0, self.sum[prompt] - reward
        # A weight this small is what has faded away, not a reward.
        alone = others < 1e-3
        return reward - torch.where(alone, reward.mean(), total / others.clamp_min(1e-3))


class TokenPPO:
    """PPO on a ``TokenModel``."""

    def __init__(
        self, model: nn.Module, reference: nn.Module | None, config: TokenPPOConfig, prompts: int, seed: int
    ) -> None:
        """Prepare.

        Args:
            model: a ``TokenModel``; its parameters move into one vector.
            reference: another with the weights to stay near; needed where ``kl_coef`` is above 0.
            config: the recipe.
            prompts: how many there are.
            seed: of the order of minibatches.
        """
        self.model, self.reference, self.config = model, reference, config
        if config.kl_coef > 0 and reference is None:
            raise ValueError("kl_coef is above 0 and there is no reference.")
        self._flat = FlatParameters({"model": model})
        self._adam = torch.optim.Adam([self._flat.values], lr=config.lr, betas=(0.9, 0.98), fused=True)
        self.baseline = PromptBaseline(prompts, config.baseline_decay)
        self.order = torch.Generator().manual_seed(seed)

    def update(self, batch: Trajectory, version: int) -> dict[str, float]:
        """Learn from a batch; returns numbers for the log."""
        config = self.config
        lengths = batch["length"]
        packed = Packed.of(lengths.tolist(), max(config.row_tokens, int(lengths.max())))
        reward = batch["terms"].sum(1)
        advantage = self.baseline.advantages(reward, batch["prompt"])
        stats = {"reward": float(reward.mean()), "advantage_std": float(advantage.std(correction=0))}
        advantage = (advantage - advantage.mean()) / (advantage.std(correction=0) + 1e-6)
        fields = {
            "logp": packed.gather(batch["logp"]),
            "lag": (version - packed.gather(batch["version"])).clamp_min(0).float(),
            "advantage": advantage[packed.sequence.clamp_min(0)],
        }
        stats |= self._correct(batch, packed, fields)
        if self.reference is not None and config.kl_coef > 0:
            fields["reference"] = self._evaluate(self.reference, batch, packed)
        stats |= self._learn(batch, packed, fields)
        self._move_reference()
        real = packed.real
        return stats | {"padding": 1.0 - float(real.float().mean()), "length": float(lengths.float().mean())}

    def _correct(self, batch: Trajectory, packed: Packed, fields: dict[str, Tensor]) -> dict[str, float]:
        """Find out who acted and who the update starts from; adds "prox" and weighs "advantage"."""
        config, real = self.config, packed.real
        fresh = not bool((fields["lag"][real] > 0).any())
        fields["prox"] = fields["logp"]
        if config.objective == "coupled" or config.prox == "loglinear" or fresh:
            fields["advantage"] = fields["advantage"][..., None].expand_as(fields["logp"])
            return {"behaviour_kl": 0.0, "behaviour_weight": 1.0}
        fields["prox"] = self._evaluate(self.model, batch, packed)
        log_ratio = torch.where(real[..., None], fields["prox"] - fields["logp"], 0.0)
        weight = behaviour_weight(log_ratio, config.behavior_cap)
        kl = self._kl_of_sequences(log_ratio, packed, len(batch["length"]))
        trust = (config.max_kl / kl.clamp_min(1e-12)).clamp_max(1.0) if config.max_kl > 0 else torch.ones_like(kl)
        scale = trust[packed.sequence.clamp_min(0)] * fields["advantage"]
        fields["advantage"] = weight * scale[..., None]
        return {
            "behaviour_kl": float(kl.mean()),
            "behaviour_weight": float(weight[real].mean()),
            "kl_trust": float(trust.mean()),
        }

    @staticmethod
    def _kl_of_sequences(log_ratio: Tensor, packed: Packed, count: int) -> Tensor:
        """Mean KL(behaviour || proximal) per code [nat] of each sequence (B,)."""
        real = packed.real
        kl = mean_kl(log_ratio[real].T)  # Over the codes of a step.
        where = packed.sequence[real]
        total = torch.zeros(count).index_add_(0, where, kl)
        return total / torch.bincount(where, minlength=count).clamp_min(1)

    @torch.no_grad()
    def _evaluate(self, model: nn.Module, batch: Trajectory, packed: Packed) -> Tensor:
        """Return log-probabilities (R, C, G) under a model; what is padding stays 0."""
        found = torch.zeros(*packed.sequence.shape, batch["code"].shape[-1])
        for some in torch.arange(len(packed.sequence)).split(_INFERENCE_ROWS):
            part = packed.rows(some)
            found[some, : part.sequence.shape[1]] = self._log_probs(model, batch, part)
        return found

    @staticmethod
    def _log_probs(model: nn.Module, batch: Trajectory, part: Packed) -> Tensor:
        codes = part.gather(batch["code"])
        return cast(TokenModel, model).log_probs(codes, part, batch["length"], batch["prompt"])

    def _learn(self, batch: Trajectory, packed: Packed, fields: dict[str, Tensor]) -> dict[str, float]:
        config, count = self.config, len(packed.sequence)
        parts = min(config.minibatches, count)
        per_part = float(batch["length"].sum()) * batch["code"].shape[-1] / parts
        sums = torch.zeros(4)
        norm = 0.0
        for _ in range(config.epochs):
            for some in torch.randperm(count, generator=self.order).tensor_split(parts):
                part = packed.rows(some)
                cut = {name: value[some, : part.sequence.shape[1]][part.real] for name, value in fields.items()}
                logp = self._log_probs(self.model, batch, part)[part.real]
                self._flat.gradients.zero_()
                loss, seen = self._loss(logp, cut)
                (loss / per_part).backward()
                norm += clip_norm_(self._flat.gradients, config.max_grad_norm)
                self._adam.step()
                sums += seen
        steps, codes = config.epochs * parts, config.epochs * parts * per_part
        names = ("kl", "clip_fraction", "entropy_estimate", "reference_kl")
        return dict(zip(names, (sums / codes).tolist(), strict=True)) | {"gradient_norm": norm / steps}

    def _loss(self, logp: Tensor, fields: dict[str, Tensor]) -> tuple[Tensor, Tensor]:
        """Return the loss, summed over the codes (M, G) of a minibatch, and sums for the log."""
        config = self.config
        log_ratio, advantage = logp - fields["prox"], fields["advantage"]
        if config.objective == "decoupled" and config.prox == "loglinear":
            share = proximal_share(fields["lag"])[:, None].expand_as(logp)
            cap = torch.full_like(share, config.behavior_cap)
            minibatch = {"advantage": advantage, "proximal_share": share, "weight_cap": cap}
            log_ratio, advantage = towards_proximal(log_ratio, minibatch)
        loss = -clipped(log_ratio, advantage, config.clip).sum()
        away = torch.zeros(())
        if "reference" in fields:
            kl = reference_kl(logp, fields["reference"])
            loss = loss + config.kl_coef * kl.sum()
            away = kl.detach().sum()
        with torch.no_grad():
            kl = (torch.expm1(log_ratio) - log_ratio).sum()
            outside = (torch.expm1(log_ratio).abs() > config.clip).float().sum()
            return loss, torch.stack([kl, outside, -logp.sum(), away])

    @torch.no_grad()
    def _move_reference(self) -> None:
        if self.reference is not None and self.config.reference_ema > 0:
            for kept, new in zip(self.reference.parameters(), self.model.parameters(), strict=True):
                kept.lerp_(new, self.config.reference_ema)

    def tensors(self) -> dict[str, Tensor]:
        """Return the optimiser's state, the baselines and a moving reference, for a checkpoint."""
        found = {"baseline_sum": self.baseline.sum, "baseline_weight": self.baseline.weight}
        found["order"] = self.order.get_state()
        for name, value in self._adam.state_dict()["state"].get(0, {}).items():
            found[f"adam_{name}"] = torch.as_tensor(value)
        if self.reference is not None and self.config.reference_ema > 0:
            found |= {f"reference/{name}": value for name, value in self.reference.state_dict().items()}
        return found

    def load(self, tensors: dict[str, Tensor]) -> None:
        """Take over what ``tensors`` returned."""
        self.baseline.sum, self.baseline.weight = (tensors[f"baseline_{k}"].clone() for k in ("sum", "weight"))
        self.order.set_state(tensors["order"])
        state = {name[5:]: value for name, value in tensors.items() if name.startswith("adam_")}
        if state:
            groups: list[dict[str, Any]] = self._adam.state_dict()["param_groups"]
            self._adam.load_state_dict({"state": {0: state}, "param_groups": groups})
        reference = {name[10:]: value for name, value in tensors.items() if name.startswith("reference/")}
        if self.reference is not None and reference:
            self.reference.load_state_dict(reference)
