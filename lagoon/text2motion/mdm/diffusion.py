"""Sampling from a denoiser that predicts x0, with fewer steps than it was trained with.

What enters: a function from noisy data and level to x0. What leaves: a sample. Knows nothing of motion.

Source: Ho et al. 2020 (DDPM), eqs. 4, 6, 7; Nichol & Dhariwal 2021 (cosine schedule, eq. 17; fewer steps, sec. 4);
Song et al. 2021 (DDIM, eq. 12 with eta = 0).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from lagoon.progress import Progress, silent
from lagoon.text2motion.mdm.checkpoint import Noise

MAX_BETA = 0.999
"""Largest share of noise that one step of the cosine schedule adds."""


@dataclass(frozen=True)
class Schedule:
    """S noise levels to sample with, the least noisy first."""

    levels: NDArray[np.int64]
    """(S,) the level of training that each stands for."""
    signal: NDArray[np.float64]
    """(S,) share of the data's variance that is left at each (alpha bar)."""
    sigma_small: bool
    """Which variance DDPM steps use."""

    @property
    def signal_before(self) -> NDArray[np.float64]:
        """(S,) the signal one level down; all of it below the first."""
        return np.concatenate([[1.0], self.signal[:-1]])


def schedule(noise: Noise, steps: int) -> Schedule:
    """Spread so many steps evenly over the levels of training; at most as many as there are."""
    if noise.schedule == "cosine":
        bar = lambda t: math.cos((t + 0.008) / 1.008 * math.pi / 2) ** 2  # noqa: E731
        n = noise.steps
        beta = np.array([min(1 - bar((i + 1) / n) / bar(i / n), MAX_BETA) for i in range(n)])
    else:
        scale = 1000.0 / noise.steps
        beta = np.linspace(scale * 1e-4, min(scale * 0.02, MAX_BETA), noise.steps)
    signal = np.cumprod(1.0 - beta, dtype=np.float64)
    count = min(steps, noise.steps)
    levels = np.round(np.linspace(0, noise.steps - 1, count)).astype(np.int64) if count > 1 else [noise.steps - 1]
    return Schedule(np.asarray(levels, np.int64), np.asarray(signal[levels], np.float64), noise.sigma_small)


def sample(
    denoise: Callable[[Tensor, int], Tensor],
    shape: tuple[int, ...],
    plan: Schedule,
    generator: torch.Generator,
    deterministic: bool = False,
    progress: Progress = silent,
) -> Tensor:
    """Draw one batch.

    Args:
        denoise: x0 of noisy data and a level of training.
        shape: of the batch.
        plan: noise levels.
        generator: of all noise.
        deterministic: DDIM; only the start is noise.
        progress: told after each step.
    """
    x = torch.randn(shape, generator=generator)
    before, count = plan.signal_before, len(plan.levels)
    for done, i in enumerate(reversed(range(count))):
        progress(done / count, f"denoising, step {done + 1} of {count}")
        clean = denoise(x, int(plan.levels[i]))
        now, then = float(plan.signal[i]), float(before[i])
        beta = 1.0 - now / then
        if deterministic:
            noise = (x - math.sqrt(now) * clean) / math.sqrt(1.0 - now)
            x = math.sqrt(then) * clean + math.sqrt(1.0 - then) * noise
            continue
        x = (math.sqrt(then) * beta * clean + math.sqrt(1.0 - beta) * (1.0 - then) * x) / (1.0 - now)
        if i > 0:
            variance = beta * (1.0 - then) / (1.0 - now) if plan.sigma_small else beta
            x = x + math.sqrt(variance) * torch.randn(shape, generator=generator)
    return x
