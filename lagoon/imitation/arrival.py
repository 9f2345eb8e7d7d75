"""When targets reach the motors: late by a time of each robot's own, now and then later still, sometimes never.

What enters: this step's targets and what each robot remembers. What leaves: the targets that each motor follows in each
physics step.
"""

from __future__ import annotations

import math

import torch

from lagoon.imitation.config import RandomizationConfig
from lagoon.imitation.memory import Memory

Tensor = torch.Tensor


def depth_of(config: RandomizationConfig, control_dt: float) -> int:
    """Number of past targets that the longest delay reaches back to."""
    return max(1, math.ceil((config.delay[1] + config.delay_jitter) / control_dt - 1e-9))


def arriving(
    target: Tensor,
    memory: Memory,
    config: RandomizationConfig,
    ramp: float,
    substeps: int,
    control_dt: float,
    generator: torch.Generator,
) -> Tensor:
    """(S, N, J) targets that the motors follow [rad]; ``memory.past_targets`` moves on.

    Args:
        target: (N, J) of this control step [rad].
        memory: of the robots.
        config: delays, jitter and losses.
        ramp: share of them in use, in [0, 1].
        substeps: physics steps S in a control step.
        control_dt: [s].
        generator: source of randomness; untouched without jitter and losses.
    """
    past, late = memory.past_targets, memory.delay
    if config.packet_loss > 0.0:
        lost = torch.rand(len(target), generator=generator) < ramp * config.packet_loss
        target = torch.where(lost.unsqueeze(-1), past[:, 0], target)
    if config.delay_jitter > 0.0:
        most = round(ramp * config.delay_jitter * substeps / control_dt)
        late = late + torch.randint(0, most + 1, late.shape, generator=generator)
    if past.shape[1] == 1:
        waits = late.unsqueeze(-1)
        targets = torch.stack([torch.where(waits > s, past[:, 0], target) for s in range(substeps)])
        memory.past_targets = target.unsqueeze(1)
    else:
        known = torch.cat([target.unsqueeze(1), past], dim=1)
        step = torch.arange(substeps).unsqueeze(-1)
        age = torch.div(late + substeps - 1 - step, substeps, rounding_mode="floor").clamp(0, past.shape[1])
        targets = known[torch.arange(len(target)), age]
        memory.past_targets = known[:, :-1]
    return targets - memory.zero_offset if config.zero_offset > 0.0 else targets
