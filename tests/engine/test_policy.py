import math

import pytest
import torch
from torch.distributions import Independent, Normal

from lagoon.engine.policy import GaussianActorCritic, Normalizer, gaussian_log_prob

DIMS = {"actor": 6, "critic": 9}


def rng(seed=0):
    return torch.Generator().manual_seed(seed)


def test_normalizer_equals_the_statistics_of_all_data():
    data = torch.randn(1000, 4, generator=rng()) * torch.tensor([1.0, 10.0, 0.1, 3.0]) + torch.tensor([0.0, 100, -5, 2])
    normalizer = Normalizer(4)
    for part in data.split([1, 299, 400, 300]):
        normalizer.update(normalizer.moments(part))
    torch.testing.assert_close(normalizer.mean, data.double().mean(0), rtol=1e-6, atol=1e-6)
    torch.testing.assert_close(normalizer.var, data.double().var(0, unbiased=False), rtol=1e-4, atol=1e-7)
    assert normalizer.count == 1000


def test_moments_of_workers_add_up_to_the_moments_of_their_union():
    data = torch.randn(600, 4, generator=rng()) * 3 + 50
    together, apart = Normalizer(4), Normalizer(4)
    for part in data.split(200):
        together.update(together.moments(part))
        apart.update(sum(apart.moments(share) for share in part.split([70, 130])))
    torch.testing.assert_close(apart.mean, together.mean, rtol=1e-6, atol=0)
    torch.testing.assert_close(apart.var, together.var, rtol=1e-5, atol=0)


def test_normalizer_clips_and_survives_a_constant():
    normalizer = Normalizer(2, clip=8.0)
    data = torch.stack([torch.full((50,), 7.0), torch.randn(50, generator=rng())], 1)
    normalizer.update(normalizer.moments(data))
    out = normalizer(torch.tensor([[7.0, 1e6], [7.001, -1e6]]))
    assert out[:, 1].tolist() == [8.0, -8.0]
    assert out[0, 0] == pytest.approx(0.0, abs=1e-4)
    assert abs(float(out[1, 0])) < 0.2
    assert torch.equal(normalizer.normalize_into(data, torch.empty_like(data)), normalizer(data))


def test_loading_a_normalizer_takes_effect():
    one, other = Normalizer(2), Normalizer(2)
    one.update(one.moments(torch.randn(50, 2, generator=rng()) * 4 + 3))
    other.load_state_dict(one.state_dict())
    x = torch.randn(3, 2, generator=rng(1))
    assert torch.equal(one(x), other(x))


def test_log_prob_equals_torch_distributions():
    action, mean = torch.randn(5, 12, generator=rng()), torch.randn(5, 12, generator=rng(1))
    expected = Independent(Normal(mean, torch.tensor(0.3)), 1).log_prob(action)
    torch.testing.assert_close(gaussian_log_prob(action, mean, 0.3), expected)


def test_act_draws_around_the_mean_with_the_std_it_is_given():
    policy = GaussianActorCritic(DIMS, 3, hidden=(8,))
    obs = torch.randn(1, 6, generator=rng()).expand(20_000, 6)
    with torch.no_grad():
        action, logp = policy.act(obs, 0.2, rng(1))
        mean, _ = policy.act(obs, 0.2, None)
    assert (action - mean).std() == pytest.approx(0.2, rel=0.02)
    assert (action - mean).mean() == pytest.approx(0.0, abs=0.005)
    torch.testing.assert_close(logp, gaussian_log_prob(action, mean, 0.2), rtol=1e-4, atol=1e-4)


def test_initial_weights_depend_on_the_seed_alone():
    first = GaussianActorCritic(DIMS, 3, seed=1)
    torch.rand(10)
    again, other = GaussianActorCritic(DIMS, 3, seed=1), GaussianActorCritic(DIMS, 3, seed=2)
    assert all(torch.equal(a, b) for a, b in zip(first.parameters(), again.parameters(), strict=True))
    assert not torch.equal(first.actor[0].weight, other.actor[0].weight)


def test_the_first_actions_are_small():
    policy = GaussianActorCritic(DIMS, 3)
    with torch.no_grad():
        mean, _ = policy.act(torch.randn(200, 6, generator=rng()), 0.1, None)
    assert mean.abs().max() < 0.2
    assert mean.std() > 0.001


def test_facts_rebuild_the_policy():
    policy = GaussianActorCritic(DIMS, 3, hidden=(8, 4), activation="tanh", obs_clip=5.0)
    copy = GaussianActorCritic(**policy.facts())
    copy.load_state_dict(policy.state_dict())
    obs = torch.randn(4, 9, generator=rng())
    assert torch.equal(copy.value(obs), policy.value(obs))
    assert copy.normalizer["actor"].clip == 5.0


def test_the_mean_alone_is_a_density_too():
    policy = GaussianActorCritic(DIMS, 3)
    _, logp = policy.act(torch.zeros(1, 6), 0.5, None)
    assert float(logp.detach()) == pytest.approx(-3 * math.log(0.5 * math.sqrt(2 * math.pi)), rel=1e-5)


@pytest.mark.parametrize("activation", ["elu", "silu"])
def test_many_rows_are_answered_as_few_are(activation):
    """In memory that is used again, for more rows, for fewer, and after the weights changed."""
    policy = GaussianActorCritic({"actor": 6, "critic": 7}, 3, (16, 8), activation, seed=0)
    policy.normalizer["actor"].update(policy.normalizer["actor"].moments(3.0 + torch.randn(500, 6, generator=rng())))
    obs = torch.randn(300, 6, generator=rng(2))
    with torch.no_grad():
        for rows in (200, 300, 130):
            action, logp = policy.act(obs[:rows], 0.2, None)
            few = torch.cat([policy.act(part, 0.2, None)[0] for part in obs[:rows].split(10)])
            torch.testing.assert_close(action, few, atol=1e-6, rtol=1e-5)
            policy.actor[0].weight.mul_(1.5)
        kept = action.clone()
        policy.act(obs[130:270], 0.2, None)
        assert torch.equal(action, kept) and logp.shape == (130,), "an answer is not overwritten by the next one"
