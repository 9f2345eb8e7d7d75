"""When targets reach the motors: late by a time of each robot's own, now and then later still, sometimes never.

What enters: this step's targets and what each robot remembers. What leaves: the targets that each motor follows in each
physics step.
"""

from __future__ import annotations

import math

import numpy as np
import torch

from lagoon.imitation.arrays import clipped
from lagoon.imitation.config import RandomizationConfig
from lagoon.imitation.memory import Memory

Array = np.ndarray


def depth_of(config: RandomizationConfig, control_dt: float) -> int:
    """Number of past targets that the longest delay reaches back to."""
    return max(1, math.ceil((config.delay[1] + config.delay_jitter) / control_dt - 1e-9))


def arriving(
    target: Array,
    memory: Memory,
    config: RandomizationConfig,
    ramp: float,
    substeps: int,
    control_dt: float,
    generator: torch.Generator,
) -> Array:
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
        lost = torch.rand(len(target), generator=generator).numpy() < ramp * config.packet_loss
        target = np.where(lost[:, None], past[:, 0], target)
    if config.delay_jitter > 0.0:
        most = round(ramp * config.delay_jitter * substeps / control_dt)
        late = late + torch.randint(0, most + 1, late.shape, generator=generator).numpy()
    if past.shape[1] == 1:
        waits = late > np.arange(substeps)[:, None]
        targets = np.where(waits[:, :, None], past[:, 0], target)
        memory.past_targets = target[:, None]
    else:
        known = np.concatenate([target[:, None], past], axis=1)
        age = clipped((late + substeps - 1 - np.arange(substeps)[:, None]) // substeps, 0, past.shape[1])
        targets = known[np.arange(len(target)), age]
        memory.past_targets = known[:, :-1]
    return targets - memory.zero_offset if config.zero_offset > 0.0 else targets
