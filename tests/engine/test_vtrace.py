import pytest
import torch

from lagoon.engine.gae import generalized_advantages
from lagoon.engine.vtrace import vtrace

F = torch.zeros(2, 1, dtype=torch.bool)


def column(*values):
    return torch.tensor(values)[:, None]


def test_two_steps_by_hand():
    # rho = (min(1, 2), min(1, 0.5)) = (1, 0.5); gamma = 0.5, lambda = 0.8; values 1, 2, last 4.
    advantage, target = vtrace(
        column(2.0, 0.5).log(),
        column(3.0, 1.0),
        column(1.0, 2.0),
        torch.tensor([4.0]),
        column(9.0, 9.0),
        F,
        F,
        0.5,
        0.8,
    )
    # delta_1 = 0.5 (1 + 0.5 * 4 - 2) = 0.5; target_1 = 2.5.
    # delta_0 = 1 (3 + 0.5 * 2 - 1) = 3; c_0 = 0.8 * min(1, 2) = 0.8; d_0 = 3 + 0.5 * 0.8 * 0.5 = 3.2; target_0 = 4.2.
    assert target.flatten().tolist() == pytest.approx([4.2, 2.5])
    # advantage_0 = 3 + 0.5 * 2.5 - 1, advantage_1 = 1 + 0.5 * 4 - 2.
    assert advantage.flatten().tolist() == pytest.approx([3.25, 1.0])


def test_bounds_of_the_weights():
    _, target = vtrace(
        column(2.0, 4.0).log(),
        column(0.0, 1.0),
        column(0.0, 0.0),
        torch.zeros(1),
        column(0.0, 0.0),
        F,
        F,
        0.5,
        1.0,
        3.0,
        1.5,
    )
    # rho = (2, 3), c_0 = 1.5: d_1 = 3, d_0 = 0 + 0.5 * 1.5 * 3.
    assert target.flatten().tolist() == pytest.approx([2.25, 3.0])


def test_ends_of_episodes_cut_the_trace():
    end = column(True, False)
    for terminated, truncated, first in ((end, F, 1.0), (F, end, 1.0 + 0.5 * 8.0)):
        _, target = vtrace(
            column(0.0, 0.0),
            column(1.0, 7.0),
            column(0.5, 2.0),
            torch.ones(1),
            column(8.0, 8.0),
            terminated,
            truncated,
            0.5,
        )
        assert target[0, 0] == pytest.approx(first)  # Nothing of the next episode, neither its value nor its reward.


def test_without_a_difference_it_is_generalised_advantage_estimation():
    rng = torch.Generator().manual_seed(0)
    reward, value, final = (torch.randn(20, 5, generator=rng) for _ in range(3))
    last = torch.randn(5, generator=rng)
    terminated, truncated = (torch.rand(20, 5, generator=rng) < 0.1 for _ in range(2))
    _, expected = generalized_advantages(reward, value, last, final, terminated, truncated, 0.9, 1.0)
    _, target = vtrace(torch.zeros(20, 5), reward, value, last, final, terminated, truncated, 0.9)
    assert torch.allclose(target, expected, atol=1e-5)
