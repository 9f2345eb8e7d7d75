from __future__ import annotations

import numpy as np
import pytest
import torch

from lagoon.text2motion.mdm.checkpoint import Noise
from lagoon.text2motion.mdm.diffusion import sample, schedule


def test_the_cosine_schedule_has_its_published_values() -> None:
    plan = schedule(Noise(1000, "cosine", True), 1000)
    t = np.arange(1, 1001) / 1000
    bar = np.cos((t + 0.008) / 1.008 * np.pi / 2) ** 2 / np.cos(0.008 / 1.008 * np.pi / 2) ** 2
    assert np.allclose(plan.signal[:-1], bar[:-1], rtol=1e-9)
    assert (np.diff(plan.signal) < 0).all() and plan.signal[-1] < 1e-5


def test_the_linear_schedule_has_its_published_values() -> None:
    plan = schedule(Noise(1000, "linear", True), 1000)
    assert plan.signal[0] == pytest.approx(1 - 1e-4) and plan.signal[-1] == pytest.approx(4.04e-5, rel=0.01)


@pytest.mark.parametrize(("steps", "count"), [(1, 1), (7, 7), (50, 50), (1000, 50)])
def test_fewer_steps_keep_both_ends(steps: int, count: int) -> None:
    plan, full = schedule(Noise(50, "cosine", True), steps), schedule(Noise(50, "cosine", True), 50)
    assert len(plan.levels) == count and plan.levels[-1] == 49 and (count == 1 or plan.levels[0] == 0)
    assert np.array_equal(plan.signal, full.signal[plan.levels])


@pytest.mark.parametrize(("deterministic", "small"), [(True, True), (False, True), (False, False)])
def test_samples_have_the_distribution_of_the_data(deterministic: bool, small: bool) -> None:
    """For Gaussian data the best denoiser is known, so a correct sampler must give the data's mean and spread."""
    mean, std = 1.5, 0.4
    plan = schedule(Noise(1000, "cosine", small), 200)
    signal = schedule(Noise(1000, "cosine", small), 1000).signal

    def denoise(x: torch.Tensor, level: int) -> torch.Tensor:
        a = float(signal[level])
        return mean + std**2 * a**0.5 / (std**2 * a + 1 - a) * (x - a**0.5 * mean)

    drawn = sample(denoise, (20_000,), plan, torch.Generator().manual_seed(0), deterministic)
    assert drawn.mean().item() == pytest.approx(mean, abs=0.02)
    assert drawn.std().item() == pytest.approx(std, rel=0.05)


def test_the_same_seed_gives_the_same_bits_and_progress_is_told() -> None:
    plan, told = schedule(Noise(50, "cosine", True), 10), []
    draw = lambda seed, **more: sample(  # noqa: E731
        lambda x, level: x * 0.5, (3,), plan, torch.Generator().manual_seed(seed), **more
    )
    first = draw(1, progress=lambda share, words="": told.append((share, words)))
    assert torch.equal(first, draw(1)) and not torch.equal(first, draw(2))
    assert told[0] == (0.0, "denoising, step 1 of 10") and len(told) == 10
