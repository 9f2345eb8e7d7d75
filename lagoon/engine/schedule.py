"""How the action noise shrinks over a run.

What enters: the share of the run that is done. What leaves: a standard deviation.
"""

from __future__ import annotations

import math

from lagoon.engine.config import PPOConfig


def noise_std(fraction: float, config: PPOConfig) -> float:
    """Return the standard deviation of the action noise, in units of the action.

    It falls on a straight line in its logarithm from ``std_start`` to ``std_end``, then holds ``std_end`` for
    the last ``std_hold`` of the run. The noise is a schedule and not a parameter because a policy that may
    keep its noise learns to lean on it: it survives while noisy and falls when the mean action is exported.

    Args:
        fraction: done share of the run; values outside [0, 1] are clamped.
        config: holds the three numbers.
    """
    ramp = min(max(fraction, 0.0) / (1.0 - config.std_hold), 1.0)
    return math.exp((1.0 - ramp) * math.log(config.std_start) + ramp * math.log(config.std_end))
