"""Three policies instead of two: the one that acted, the one an update starts from, the one that learns.

What enters: log-probabilities and versions. What leaves: the weights and ratios of ``decoupled_ppo``.
Sources: Hilton, Cobbe, Schulman 2022, "Batch size-invariance for policy optimization"; Fu et al. 2025, "AReaL", for the
cap and for the log-linear approximation.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import torch
from torch import Tensor


def behaviour_weight(log_ratio: Tensor, cap: float) -> Tensor:
    """Return min(pi_prox / pi_behav, cap), capped before the exponential so that it cannot overflow.

    Args:
        log_ratio: (...), log pi_prox - log pi_behav.
        cap: greatest weight of a sample.
    """
    return log_ratio.clamp_max(math.log(cap)).exp()


def proximal_share(lag: Tensor) -> Tensor:
    """Return how far pi_prox lies on the way from pi_behav to the policy that learns, by versions: lag / (lag + 1).

    pi_behav is of version v - lag, pi_prox of v, and the policy that learns becomes v + 1.

    Args:
        lag: (...), versions between behaviour and the start of the update, at least 0.
    """
    return lag / (lag + 1.0)


def mean_kl(log_ratio: Tensor) -> Tensor:
    """Estimate KL(behaviour || proximal) [nat] of each environment, (B,), from log pi_prox - log pi_behav [T, B].

    Source: Schulman 2020, "Approximating KL divergence", estimator k3.
    """
    return (torch.expm1(log_ratio) - log_ratio).mean(0)


def towards_proximal(log_ratio: Tensor, minibatch: Mapping[str, Tensor]) -> tuple[Tensor, Tensor]:
    """Put the proximal policy on the straight line, in log-probabilities, between behaviour and the one that learns.

    Args:
        log_ratio: (M,), log pi - log pi_behav.
        minibatch: with "advantage", "proximal_share" and "weight_cap", all (M,).

    Returns:
        log pi - log pi_prox, with the gradient of log pi, and advantages weighted with min(pi_prox / pi_behav, cap).
    """
    behind = minibatch["proximal_share"] * log_ratio.detach()
    return log_ratio - behind, minibatch["advantage"] * torch.minimum(behind, minibatch["weight_cap"].log()).exp()
