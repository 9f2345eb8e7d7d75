import pytest
import torch

from lagoon.engine.config import PPOConfig
from lagoon.engine.fused import FusedBackward
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
@pytest.mark.parametrize("rows", [7, 512, 1300])
def test_gradients_and_statistics_equal_autograd(activation, rows):
    reduced = []
    for fused in (True, False):
        config = PPOConfig(hidden=(32, 16), activation=activation, fused_backward=fused, value_coef=0.7)
        policy = GaussianActorCritic.from_config(DIMS, ACTIONS, config, seed=3)
        ppo = PPO(policy, config, torch.Generator())
        assert (ppo.fused is not None) == fused
        data = batch(rows, policy)
        ppo.gradients(data, STD)
        ppo.gradients(data, STD)  # Twice, since a second call must not add to the first.
        reduced.append(ppo.flat.reduced.clone())
    assert reduced[1][-3] > 0.1  # Some ratios are clipped, or the test would not see the clipping.
    torch.testing.assert_close(reduced[0], reduced[1], rtol=1e-4, atol=2e-6)


def test_the_gradient_of_smoothness_equals_autograd_and_makes_the_actor_calmer():
    reduced, change = [], []
    for fused in (True, False):
        config = PPOConfig(hidden=(32, 16), fused_backward=fused, smoothness=5.0, smoothness_noise=0.3)
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


def test_it_is_left_out_where_it_does_not_apply():
    for config in (PPOConfig(activation="silu"), PPOConfig(bf16=True), PPOConfig(fused_backward=False)):
        policy = GaussianActorCritic.from_config(DIMS, ACTIONS, config, seed=0)
        assert FusedBackward.build(policy, PPO(policy, config, torch.Generator()).flat, config) is None


def test_values_equal_the_critic():
    config = PPOConfig(hidden=(32, 16))
    policy = GaussianActorCritic.from_config(DIMS, ACTIONS, config, seed=3)
    fused = PPO(policy, config, torch.Generator()).fused
    assert fused is not None
    obs = torch.randn(1300, DIMS["critic"], generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        torch.testing.assert_close(fused.values(obs), policy.critic(obs).squeeze(1), rtol=1e-4, atol=1e-6)
