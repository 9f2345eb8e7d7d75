"""V-trace: advantages and value targets from samples of an older policy.

What enters: rewards, values, ends of episodes and probability ratios, [T, B]. What leaves: advantages and targets.
Source: Espeholt et al. 2018, "IMPALA: scalable distributed deep-RL with importance weighted actor-learner
architectures", equations 1 and 2; lambda as in their remark 2.
"""

from __future__ import annotations

import torch
from torch import Tensor


def vtrace(
    log_ratio: Tensor,
    reward: Tensor,
    value: Tensor,
    last_value: Tensor,
    final_value: Tensor,
    terminated: Tensor,
    truncated: Tensor,
    gamma: float,
    lam: float = 1.0,
    rho_max: float = 1.0,
    c_max: float = 1.0,
) -> tuple[Tensor, Tensor]:
    """Compute advantages and value targets of the policy that learns.

    With v'_t the value of what truly follows step t, as in ``gae``, rho_t = min(rho_max, pi / mu) and
    c_t = lam min(c_max, pi / mu),

        delta_t = rho_t (r_t + gamma v'_t - v_t),   d_t = delta_t + gamma c_t (1 - ended_t) d_{t+1},
        target_t = v_t + d_t

    and the advantage is r_t + gamma w_t - v_t, where w_t is v'_t where an episode ended and target_{t+1} elsewhere.
    With pi = mu and lam = 1 target equals that of generalised advantage estimation with lambda 1.

    Args:
        log_ratio: [T, B], log pi(a | s) - log mu(a | s), pi the policy that learns and mu the one that acted.
        reward: [T, B].
        value: [T, B], value of the observation before step t.
        last_value: [B], value of the observation after step T - 1.
        final_value: [T, B], value of the true last observation; read only where ``truncated``.
        terminated: [T, B] bool; wins where both are set.
        truncated: [T, B] bool.
        gamma: discount per step.
        lam: 0 gives one-step targets, 1 the paper's.
        rho_max: bound of the weight of a step; decides towards which policy's value the targets go.
        c_max: bound of the weight of what comes later; decides how fast they go there.

    Returns:
        Advantages [T, B], not weighted by rho, and value targets [T, B].
    """
    ratio = log_ratio.exp()
    ended = terminated | truncated
    following = torch.cat([value[1:], last_value[None]])
    following = torch.where(truncated, final_value, following).masked_fill(terminated, 0.0)
    correction = ratio.clamp_max(rho_max) * (reward + gamma * following - value)
    carry = (gamma * lam) * ratio.clamp_max(c_max).masked_fill(ended, 0.0)
    for t in range(len(reward) - 2, -1, -1):
        correction[t].addcmul_(carry[t], correction[t + 1])
    target = value + correction
    later = torch.cat([target[1:], last_value[None]])
    return reward + gamma * torch.where(ended, following, later) - value, target
