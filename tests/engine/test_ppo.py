import math

import pytest
import torch

from lagoon.engine.config import PPOConfig
from lagoon.engine.group import Solo
from lagoon.engine.policy import GaussianActorCritic
from lagoon.engine.ppo import PPO, adapted_lr, clip_norm_, kl_divergence, standardize_, surrogate_loss, value_loss
from lagoon.engine.trajectory import Trajectory, ppo_schema

DIMS = {"actor": 3, "critic": 5}


def test_surrogate_worked_out_by_hand():
    # r A, clipped r A -> the smaller of both:
    # r = 1.5, A =  1:  1.5,  1.2 ->  1.2
    # r = 1.5, A = -1: -1.5, -1.2 -> -1.5
    # r = 0.5, A =  1:  0.5,  0.8 ->  0.5
    # r = 0.5, A = -1: -0.5, -0.8 -> -0.8
    log_ratio = torch.tensor([1.5, 1.5, 0.5, 0.5]).log()
    loss = surrogate_loss(log_ratio, torch.tensor([1.0, -1.0, 1.0, -1.0]), clip=0.2)
    assert float(loss) == pytest.approx(-(1.2 - 1.5 + 0.5 - 0.8) / 4)


def test_surrogate_has_no_slope_where_clipping_already_gained():
    log_ratio = torch.tensor([1.5, 1.5, 0.5, 0.5]).log().requires_grad_()
    surrogate_loss(log_ratio, torch.tensor([1.0, -1.0, 1.0, -1.0]), clip=0.2).backward()
    assert log_ratio.grad is not None
    assert log_ratio.grad.tolist() == pytest.approx([0.0, 1.5 / 4, -0.5 / 4, 0.0])


def test_value_loss():
    assert float(value_loss(torch.tensor([1.0, 3.0]), torch.tensor([0.0, 1.0]))) == pytest.approx(2.5)


def test_kl_estimate_of_two_gaussians():
    rng = torch.Generator().manual_seed(0)
    std, shift = 0.3, 0.06
    x = torch.randn(200_000, generator=rng) * std
    log_ratio = (x.square() - (x - shift).square()) / (2 * std**2)
    assert float(kl_divergence(log_ratio)) == pytest.approx(shift**2 / (2 * std**2), rel=0.02)
    assert float(kl_divergence(torch.zeros(3))) == 0.0


def test_learning_rate_follows_the_kl_and_its_limits():
    config = PPOConfig(target_kl=0.02, lr=1e-3, lr_min=9e-4, lr_max=1.2e-3)
    assert adapted_lr(1e-3, 0.02, config) == 1e-3
    assert adapted_lr(1e-3, 0.05, config) == 9e-4
    assert adapted_lr(1e-3, 0.005, config) == 1.2e-3
    wide = PPOConfig(target_kl=0.02)
    assert adapted_lr(1e-3, 0.05, wide) == pytest.approx(1e-3 / 1.5)
    assert adapted_lr(1e-3, 0.005, wide) == pytest.approx(1.5e-3)
    assert adapted_lr(1e-3, 0.5, PPOConfig(target_kl=0.0)) == 1e-3


def test_clip_norm():
    gradient = torch.tensor([3.0, 4.0])
    assert clip_norm_(gradient, 1.0) == pytest.approx(5.0)
    assert gradient.tolist() == pytest.approx([0.6, 0.8])
    assert clip_norm_(gradient, 2.0) == pytest.approx(1.0)
    assert gradient.tolist() == pytest.approx([0.6, 0.8])


def test_standardize():
    x = standardize_(torch.tensor([1.0, 2.0, 3.0, 6.0]), Solo())
    assert float(x.mean()) == pytest.approx(0.0, abs=1e-6)
    assert float(x.square().mean()) == pytest.approx(1.0)
    assert torch.isfinite(standardize_(torch.ones(4), Solo())).all()


def filled(config, policy, seed=0):
    rng = torch.Generator().manual_seed(seed)
    slot = Trajectory(ppo_schema(config.horizon, config.num_envs, DIMS, 2))
    for name in ("actor", "critic", "reward", "final_critic", "last_critic"):
        slot[name].normal_(generator=rng)
    slot["truncated"].copy_(torch.rand(slot["truncated"].shape, generator=rng) < 0.1)
    with torch.no_grad():
        for t in range(config.horizon):
            slot["action"][t], slot["logp"][t] = policy.act(slot["actor"][t], 0.3, rng)
    return slot


def make(**changes):
    config = PPOConfig(**{"num_envs": 8, "horizon": 16, "hidden": (16,), **changes})
    policy = GaussianActorCritic.from_config(DIMS, 2, config, seed=0)
    return config, policy, PPO(policy, config, torch.Generator().manual_seed(0))


def order(config):
    """Return the shuffle that ``make`` leads to."""
    return torch.randperm(config.num_envs * config.horizon, generator=torch.Generator().manual_seed(0))


def test_the_first_ratio_is_one():
    config, policy, ppo = make()
    batch, _ = ppo.prepare(filled(config, policy))
    ppo.gradients(batch, 0.3)
    kl, clip_fraction = ppo.flat.extra[:2].tolist()
    assert kl == pytest.approx(0.0, abs=1e-6)
    assert clip_fraction == 0.0


def test_truncated_steps_use_the_value_of_their_true_last_observation():
    config, policy, ppo = make(lam=0.0, gamma=0.9, reward_scale=False)
    slot = filled(config, policy)
    batch, _ = ppo.prepare(slot)
    with torch.no_grad():
        value = policy.value(slot["critic"])
        following = torch.cat([value[1:], policy.value(slot["last_critic"])[None]])
        following = torch.where(slot["truncated"], policy.value(slot["final_critic"]), following)
    assert slot["truncated"].sum() > 3
    expected = (slot["reward"] + 0.9 * following).flatten()[order(config)]
    torch.testing.assert_close(batch["target"], expected, rtol=1e-4, atol=1e-5)


def test_rewards_are_scaled():
    config, policy, ppo = make(lam=0.0, gamma=0.9)
    slot = filled(config, policy)
    slot["terminated"].fill_(True)
    batch, _ = ppo.prepare(slot)
    torch.testing.assert_close(batch["target"], 0.2 * slot.flat("reward")[order(config)])


def test_rows_are_shuffled_together_and_normalised():
    config, policy, ppo = make()
    slot = filled(config, policy)
    for name in ("actor", "critic"):
        policy.normalizer[name].update(policy.normalizer[name].moments(slot.flat(name) * 3 + 1))
    batch, _ = ppo.prepare(slot)
    for name in ("action", "logp"):
        assert torch.equal(batch[name], slot.flat(name)[order(config)])
    for name in ("actor", "critic"):
        assert torch.equal(batch[name], policy.normalizer[name](slot.flat(name)[order(config)]))
    assert float(batch["advantage"].mean()) == pytest.approx(0.0, abs=1e-5)


def test_an_update_is_deterministic_and_changes_everything_it_should():
    results = []
    for _ in range(2):
        config, policy, ppo = make()
        before = {name: tensor.clone() for name, tensor in policy.state_dict().items()}
        stats = ppo.update(filled(config, policy), 0.3)
        assert all(math.isfinite(value) for value in stats.values())
        after = policy.state_dict()
        changed = {name for name in before if not torch.equal(before[name], after[name])}
        assert changed == set(before) - {"std"}
        results.append(torch.cat([tensor.double().flatten() for tensor in after.values()]))
    assert torch.equal(*results)


def test_state_goes_through_a_checkpoint():
    config, policy, ppo = make()
    slot = filled(config, policy)
    ppo.update(slot, 0.3)
    _, copy_policy, copy = make()
    copy_policy.load_state_dict(policy.state_dict())
    copy.load(ppo.tensors(), ppo.facts())
    copy.generator.set_state(ppo.generator.get_state())
    assert copy.lr == ppo.lr
    ppo.update(slot, 0.3)
    copy.update(slot, 0.3)
    assert torch.equal(ppo.flat.values, copy.flat.values)


@pytest.mark.parametrize("fused", [False, True])
def test_bf16_follows_fp32(fused):
    values = []
    for bf16 in (False, True):
        config, policy, ppo = make(bf16=bf16, amx=False, fused_backward=fused, epochs=1, minibatches=1)
        batch, _ = ppo.prepare(filled(config, policy))
        ppo.gradients(batch, 0.3)
        values.append(ppo.flat.gradients.clone())
    cosine = torch.nn.functional.cosine_similarity(values[0], values[1], dim=0)
    assert float(cosine) > 0.99
    assert not torch.equal(*values)
