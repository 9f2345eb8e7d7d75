import pytest
import torch

from lagoon.engine import fused
from lagoon.engine.config import PPOConfig
from lagoon.engine.cores import multiplies_bf16
from lagoon.engine.fused import FusedBackward
from lagoon.engine.networks import ShortNetwork
from lagoon.engine.policy import GaussianActorCritic
from lagoon.engine.ppo import PPO

DIMS, ACTIONS, STD = {"actor": 11, "critic": 17}, 4, 0.3


def batch(rows, policy, seed=0):
    rng = torch.Generator().manual_seed(seed)
    obs = {name: torch.randn(rows, dim, generator=rng) for name, dim in DIMS.items()}
    with torch.no_grad():
        mean = policy.actor(obs["actor"])
        action = mean + STD * torch.randn(rows, ACTIONS, generator=rng)
        # The old policy differs, so that ratios lie on both sides of the clipping interval.
        old = mean + 0.1 * torch.randn(rows, ACTIONS, generator=rng)
        logp = torch.distributions.Normal(old, STD).log_prob(action).sum(1)
    advantage, target = torch.randn(rows, generator=rng), torch.randn(rows, generator=rng)
    return {**obs, "action": action, "logp": logp, "advantage": advantage, "target": target}


@pytest.mark.parametrize("activation", ["elu", "relu", "tanh"])
@pytest.mark.parametrize("rows", [7, 1024, 2600])
def test_gradients_and_statistics_equal_autograd(activation, rows):
    reduced = []
    for by_hand in (True, False):
        config = PPOConfig(hidden=(32, 16), activation=activation, fused_backward=by_hand, value_coef=0.7, amx=False)
        policy = GaussianActorCritic.from_config(DIMS, ACTIONS, config, seed=3)
        ppo = PPO(policy, config, torch.Generator())
        assert (ppo.fused is not None) == by_hand
        data = batch(rows, policy)
        ppo.gradients(data, STD)
        ppo.gradients(data, STD)  # Twice, since a second call must not add to the first.
        reduced.append(ppo.flat.reduced.clone())
    assert reduced[1][-3] > 0.1  # Some ratios are clipped, or the test would not see the clipping.
    torch.testing.assert_close(reduced[0], reduced[1], rtol=1e-4, atol=2e-6)


def test_the_gradient_of_smoothness_equals_autograd_and_makes_the_actor_calmer():
    reduced, change = [], []
    for by_hand in (True, False):
        config = PPOConfig(hidden=(32, 16), fused_backward=by_hand, smoothness=5.0, smoothness_noise=0.3, amx=False)
        policy = GaussianActorCritic.from_config(DIMS, ACTIONS, config, seed=3)
        ppo = PPO(policy, config, torch.Generator().manual_seed(1))
        data = batch(1300, policy)
        ppo.gradients(data, STD)
        reduced.append(ppo.flat.reduced.clone())
        shaken = data["actor"] + 0.3 * torch.randn(data["actor"].shape, generator=torch.Generator().manual_seed(9))
        for _ in range(2):
            with torch.no_grad():
                change.append(float((policy.actor(shaken) - policy.actor(data["actor"])).square().mean()))
            for _ in range(30):
                ppo.gradients(data | {"advantage": 0.0 * data["advantage"]}, STD)
                ppo.optimizer.step()
    torch.testing.assert_close(reduced[0], reduced[1], rtol=1e-4, atol=2e-6)
    assert change[1] < 0.5 * change[0] and change[3] < 0.5 * change[2]


@pytest.mark.parametrize("activation", ["elu", "relu", "tanh"])
def test_with_short_products_gradients_are_near_and_values_are_the_same(activation):
    reduced, values = [], []
    for short in (True, False):
        config = PPOConfig(hidden=(64, 32, 16), activation=activation, bf16=short, smoothness=1.0, amx=False)
        policy = GaussianActorCritic.from_config(DIMS, ACTIONS, config, seed=3)
        ppo = PPO(policy, config, torch.Generator().manual_seed(0))
        data = batch(2600, policy)
        ppo.gradients(data, STD)
        ppo.flat.values.data.mul_(1.1)  # The copies of the weights have to follow.
        ppo.gradients(data, STD)
        reduced.append(ppo.flat.reduced.clone())
        with torch.no_grad():
            values.append(ppo.fused.values(data["critic"]))
    assert torch.equal(*values)
    (near, wanted), stats = ([row[:-4] for row in reduced], [row[-4:] for row in reduced])
    torch.testing.assert_close(stats[0], stats[1], rtol=0.02, atol=2e-3)
    assert 0 < (near - wanted).norm() < 0.02 * wanted.norm()


def test_with_short_products_the_first_ratios_are_near_one():
    """The mean action is float32 from the last hidden layer on: divided by a small noise, rounding would show here."""
    config = PPOConfig(bf16=True)
    policy = GaussianActorCritic.from_config(DIMS, ACTIONS, config, seed=3)
    ppo = PPO(policy, config, torch.Generator().manual_seed(0))
    data = batch(4096, policy)
    with torch.no_grad():
        policy.actor[-1].weight.mul_(20.0)
        mean = policy.actor(data["actor"])
        data["action"] = mean + 0.06 * torch.randn(mean.shape, generator=torch.Generator().manual_seed(1))
        data["logp"] = torch.distributions.Normal(mean, 0.06).log_prob(data["action"]).sum(1)
    assert mean.std() > 0.2  # As large as those of a policy that has learned something.
    ppo.gradients(data, 0.06)
    kl, clipped = ppo.flat.extra[:2].tolist()
    assert kl < 0.1 * config.target_kl and clipped < 0.001


@pytest.mark.parametrize(("able", "amx", "short"), [(True, True, True), (True, False, False), (False, True, False)])
def test_short_products_are_taken_where_the_processor_has_them_unless_told_otherwise(monkeypatch, able, amx, short):
    monkeypatch.setattr(fused, "multiplies_bf16", lambda: able)
    config = PPOConfig(hidden=(16,), amx=amx)
    policy = GaussianActorCritic.from_config(DIMS, ACTIONS, config, seed=0)
    ppo = PPO(policy, config, torch.Generator())
    assert isinstance(ppo.fused._actor, ShortNetwork) == short


def test_a_processor_is_known_by_what_the_kernel_says_of_it(tmp_path):
    facts = tmp_path / "cpuinfo"
    assert not multiplies_bf16(facts)
    facts.write_text("flags\t: fpu avx512_bf16 amx_tile\n")
    assert not multiplies_bf16(facts)
    facts.write_text("flags\t: fpu avx512_bf16 amx_bf16 amx_tile\n")
    assert multiplies_bf16(facts)


def test_it_is_left_out_where_it_does_not_apply():
    for config in (PPOConfig(activation="silu"), PPOConfig(fused_backward=False)):
        policy = GaussianActorCritic.from_config(DIMS, ACTIONS, config, seed=0)
        assert FusedBackward.build(policy, PPO(policy, config, torch.Generator()).flat, config) is None


def test_values_equal_the_critic():
    config = PPOConfig(hidden=(32, 16))
    policy = GaussianActorCritic.from_config(DIMS, ACTIONS, config, seed=3)
    ours = PPO(policy, config, torch.Generator()).fused
    assert ours is not None
    obs = torch.randn(1300, DIMS["critic"], generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        torch.testing.assert_close(ours.values(obs), policy.critic(obs).squeeze(1), rtol=1e-4, atol=1e-6)
