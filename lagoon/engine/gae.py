"""Generalised advantage estimation that knows a fall from a time limit.

What enters: rewards, values and ends of episodes, [T, B]. What leaves: advantages and value targets, [T, B].
Source: Schulman et al. 2016, "High-dimensional continuous control using generalized advantage estimation".
"""

from __future__ import annotations

import torch
from torch import Tensor


def generalized_advantages(
    reward: Tensor,
    value: Tensor,
    last_value: Tensor,
    final_value: Tensor,
    terminated: Tensor,
    truncated: Tensor,
    gamma: float,
    lam: float,
) -> tuple[Tensor, Tensor]:
    """Compute advantages and value targets.

    With v'_t the value of what truly follows step t,

        delta_t = r_t + gamma v'_t - v_t,   A_t = delta_t + gamma lam (1 - ended_t) A_{t+1},   target_t = A_t + v_t

    v'_t is 0 where the episode terminated, the value of the true last observation where it was truncated, and
    v_{t+1} elsewhere. The observation at t + 1 of an ended episode belongs to the next one and is never used.

    Args:
        reward: [T, B] float32.
        value: [T, B], value of the observation before step t.
        last_value: [B], value of the observation after step T - 1.
        final_value: [T, B], value of the true last observation; read only where ``truncated``.
        terminated: [T, B] bool; wins where both are set.
        truncated: [T, B] bool.
        gamma: discount per step.
        lam: 0 gives one-step advantages, 1 gives Monte Carlo returns.

    Returns:
        Advantages [T, B] and value targets [T, B].
    """
    following = torch.cat([value[1:], last_value[None]])
    following = torch.where(truncated, final_value, following).masked_fill(terminated, 0.0)
    advantage = reward + gamma * following - value
    carry = (gamma * lam) * (~(terminated | truncated)).to(reward.dtype)
    for t in range(len(reward) - 2, -1, -1):
        advantage[t].addcmul_(carry[t], advantage[t + 1])
    return advantage, advantage + value
