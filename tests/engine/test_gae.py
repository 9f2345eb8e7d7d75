import pytest
import torch

from lagoon.engine.gae import generalized_advantages

GAMMA, LAM = 0.5, 0.8


def compute(reward, value, last, final, terminated, truncated, gamma=GAMMA, lam=LAM):
    column = [torch.tensor(x, dtype=torch.float32)[:, None] for x in (reward, value)]
    ends = [torch.tensor(x)[:, None] for x in (terminated, truncated)]
    final = torch.tensor(final, dtype=torch.float32)[:, None]
    advantage, target = generalized_advantages(*column, torch.tensor([float(last)]), final, *ends, gamma, lam)
    return advantage[:, 0].tolist(), target[:, 0].tolist()


NO = [False, False, False]
UNUSED = [float("nan")] * 3


def test_no_end_of_episode():
    # delta_2 = 3 + .5*40 - 30 = -7
    # delta_1 = 2 + .5*30 - 20 = -3,    A_1 = -3 + .4*-7   = -5.8
    # delta_0 = 1 + .5*20 - 10 =  1,    A_0 =  1 + .4*-5.8 = -1.32
    advantage, target = compute([1, 2, 3], [10, 20, 30], 40, UNUSED, NO, NO)
    assert advantage == pytest.approx([-1.32, -5.8, -7.0])
    assert target == pytest.approx([8.68, 14.2, 23.0])


def test_termination_is_worth_nothing_afterwards():
    # Step 1 terminates: delta_1 = 2 + 0 - 20 = -18 and A_2 does not flow back.
    # A_0 = 1 + .4*-18 = -6.2
    advantage, _ = compute([1, 2, 3], [10, 20, 30], 40, UNUSED, [False, True, False], NO)
    assert advantage == pytest.approx([-6.2, -18.0, -7.0])


def test_truncation_bootstraps_from_the_true_last_observation():
    # Step 1 is cut at an observation of value 100; the 30 of the next episode must not be used.
    # delta_1 = 2 + .5*100 - 20 = 32;  A_0 = 1 + .4*32 = 13.8
    advantage, target = compute(
        [1, 2, 3], [10, 20, 30], 40, [float("nan"), 100, float("nan")], NO, [False, True, False]
    )
    assert advantage == pytest.approx([13.8, 32.0, -7.0])
    assert target == pytest.approx([23.8, 52.0, 23.0])


def test_truncation_at_the_end_of_the_rollout():
    # The observation after the rollout belongs to the next episode: 40 must not be used, 100 must.
    advantage, _ = compute([1, 2, 3], [10, 20, 30], 40, [0, 0, 100], NO, [False, False, True])
    assert advantage[2] == pytest.approx(3 + 50 - 30)


def test_termination_wins_over_truncation():
    both = [False, True, False]
    advantage, _ = compute([1, 2, 3], [10, 20, 30], 40, [0, 100, 0], both, both)
    assert advantage[1] == pytest.approx(-18.0)


def test_lambda_one_is_the_discounted_return_and_zero_is_one_step():
    advantage, target = compute([1, 2, 3], [10, 20, 30], 40, UNUSED, NO, NO, lam=1.0)
    assert target[0] == pytest.approx(1 + 0.5 * 2 + 0.25 * 3 + 0.125 * 40)
    advantage, _ = compute([1, 2, 3], [10, 20, 30], 40, UNUSED, NO, NO, lam=0.0)
    assert advantage == pytest.approx([1.0, -3.0, -7.0])


def test_environments_do_not_mix():
    generator = torch.Generator().manual_seed(0)
    reward, value, final = (torch.randn(7, 5, generator=generator) for _ in range(3))
    last = torch.randn(5, generator=generator)
    terminated, truncated = (torch.rand(7, 5, generator=generator) < 0.2 for _ in range(2))
    whole, _ = generalized_advantages(reward, value, last, final, terminated, truncated, 0.9, 0.9)
    for b in range(5):
        columns = [x[:, b : b + 1] for x in (reward, value)]
        ends = [x[:, b : b + 1] for x in (final, terminated, truncated)]
        alone, _ = generalized_advantages(*columns, last[b : b + 1], *ends, 0.9, 0.9)
        torch.testing.assert_close(alone, whole[:, b : b + 1])
