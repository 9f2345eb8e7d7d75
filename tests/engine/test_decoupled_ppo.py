import math
from dataclasses import replace

import pytest
import torch

from lagoon.engine.config import GraphConfig, PPOConfig
from lagoon.engine.decoupled_ppo import DecoupledPPO
from lagoon.engine.policy import GaussianActorCritic
from lagoon.engine.ppo import PPO
from lagoon.engine.proximal import behaviour_weight, mean_kl, proximal_share, towards_proximal
from lagoon.engine.trajectory import Trajectory, ppo_schema
from lagoon.errors import BadInputError

DIMS, STD = {"actor": 4, "critic": 6}, 0.3
CONFIG = PPOConfig(num_envs=8, horizon=10, hidden=(16,), epochs=3, minibatches=2, amx=False)


def make(kind=DecoupledPPO, **graph):
    config = replace(CONFIG, graph=GraphConfig(**graph))
    policy = GaussianActorCritic.from_config(DIMS, 2, config, seed=0)
    return policy, kind(policy, config, torch.Generator().manual_seed(0))


def rollout(behaviour, version=5, seed=3):
    """What a policy does, as if it were of a version."""
    rng = torch.Generator().manual_seed(seed)
    slot = Trajectory(ppo_schema(10, 8, DIMS, 2))
    for name in ("actor", "critic", "reward", "final_critic", "last_critic"):
        slot[name].normal_(0.0, 1.0, generator=rng)
    with torch.no_grad():
        slot["action"][:], slot["logp"][:] = behaviour.act(slot["actor"], STD, rng)
    slot["version"].fill_(version)
    return slot


def moved(seed, size):
    """A policy near the initial one: what it was some versions ago."""
    policy = GaussianActorCritic.from_config(DIMS, 2, CONFIG, seed=0)
    rng = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in policy.actor.parameters():
            parameter.add_(torch.randn(parameter.shape, generator=rng) * size)
    return policy


def test_weights_by_hand():
    log_ratio = torch.tensor([0.0, math.log(2.0), math.log(9.0), 1000.0, -math.log(4.0)])
    assert behaviour_weight(log_ratio, 5.0).tolist() == pytest.approx([1.0, 2.0, 5.0, 5.0, 0.25])
    # k3: r - 1 - log r.
    kl = mean_kl(torch.tensor([[0.0, math.log(2.0)], [0.0, math.log(0.5)]]))
    assert kl.tolist() == pytest.approx([0.0, ((1 - math.log(2)) + (-0.5 + math.log(2))) / 2])


def test_the_line_between_versions_by_hand():
    lag = torch.tensor([0.0, 1.0, 3.0])
    assert proximal_share(lag).tolist() == pytest.approx([0.0, 0.5, 0.75])
    batch = {
        "advantage": torch.tensor([2.0, 2.0]),
        "proximal_share": torch.tensor([0.75, 0.0]),
        "weight_cap": torch.tensor([1.5, 1.5]),
    }
    log_ratio, advantage = towards_proximal(torch.tensor([math.log(16.0), math.log(16.0)]), batch)
    # pi / pi_behav = 16: pi_prox / pi_behav = 16^0.75 = 8, capped at 1.5; pi / pi_prox = 2.
    assert log_ratio.exp().tolist() == pytest.approx([2.0, 16.0])
    assert advantage.tolist() == pytest.approx([3.0, 2.0])


@pytest.mark.parametrize("prox", ["recompute", "loglinear"])
def test_on_new_samples_it_is_ppo(prox):
    policy, decoupled = make(prox=prox)
    twin, ppo = make(PPO)
    stats = decoupled.update(rollout(policy), STD, version=5)
    expected = ppo.update(rollout(twin), STD, version=5)
    for name, parameter in policy.state_dict().items():
        assert torch.allclose(parameter, twin.state_dict()[name], atol=1e-5), name
    assert stats["kl"] == pytest.approx(expected["kl"], rel=1e-2)


def test_the_objective_by_its_formula():
    policy, decoupled = make(max_kl=0.0, behavior_cap=1.2)
    slot = rollout(moved(1, 0.2), version=3)
    decoupled._std = STD
    batch, stats = decoupled.prepare(slot)
    order = decoupled._order
    with torch.no_grad():
        prox = -0.5 * ((slot["action"] - policy.actor(slot["actor"].clamp(-8, 8))) / STD).square().sum(-1)
        prox = prox - 2 * math.log(STD) - math.log(2 * math.pi)
    # The fresh normaliser divides by sqrt(1 + 1e-4): a difference of 5e-5, which log-probabilities magnify.
    assert torch.allclose(batch["logp"], prox.flatten()[order], atol=5e-2)
    weight = (batch["logp"] - slot["logp"].flatten()[order]).exp()
    assert weight.max() > 1.2 > weight.min()
    _, ppo = make(PPO)
    plain, _ = ppo.prepare(slot)
    assert torch.allclose(batch["advantage"], plain["advantage"] * weight.clamp_max(1.2), atol=1e-5)
    assert 0 < stats["weight_capped"] < 1
    assert stats["behavior_kl"] > 0


def test_samples_beyond_the_kl_budget_count_less():
    policy, decoupled = make(max_kl=0.05)
    slot, far = rollout(policy), rollout(moved(2, 0.2))
    for name in ("actor", "action", "logp"):
        slot[name][:, :2] = far[name][:, :2]
    decoupled._std = STD
    batch, stats = decoupled.prepare(slot)
    _, free = make(max_kl=0.0)
    free._std = STD
    plain, _ = free.prepare(slot)
    trust = batch["advantage"] / plain["advantage"]
    far = (decoupled._order % 8) < 2
    assert torch.allclose(trust[~far], torch.ones(60))
    kl = mean_kl(free._log_ratio)[:2]
    assert (kl > 0.05).all()
    assert torch.allclose(trust[far], (0.05 / kl)[decoupled._order[far] % 8], rtol=1e-4)
    assert stats["kl_trust"] == pytest.approx((6 + float((0.05 / kl).sum())) / 8, rel=1e-4)


@pytest.mark.parametrize("graph", [{"prox": "loglinear"}, {"advantages": "vtrace"}, {"prox": "recompute"}])
def test_hand_written_gradient_and_autograd_agree(graph):
    results = []
    for fused in (True, False):
        _, decoupled = make(**graph)
        if not fused:
            decoupled.fused = None
        decoupled.update(rollout(moved(1, 0.1), version=3), STD, version=5)
        results.append(decoupled.flat.values.detach().clone())
    assert torch.allclose(*results, atol=2e-5)
    assert not torch.equal(results[0], make()[1].flat.values)


def test_the_line_comes_near_the_forward_pass():
    # Behaviour one version back, and the update moves on: the line finds the start of the update between them.
    results = []
    for prox in ("recompute", "loglinear"):
        _, decoupled = make(prox=prox, max_kl=0.0)
        decoupled.update(rollout(moved(1, 0.05), version=4), STD, version=5)
        results.append(decoupled.flat.values.detach() - make()[1].flat.values.detach())
    cosine = torch.nn.functional.cosine_similarity(results[0], results[1], dim=0)
    assert cosine > 0.9


def test_settings_that_cannot_go_together():
    with pytest.raises(BadInputError, match=r"advantages is 'vtrace'; expected gae, unless"):
        GraphConfig(advantages="vtrace", prox="loglinear")
    with pytest.raises(BadInputError, match=r"behavior_cap is 0\.5; expected a number of at least 1"):
        GraphConfig(behavior_cap=0.5)
    with pytest.raises(BadInputError, match="max_staleness is -1"):
        GraphConfig(max_staleness=-1)
    with pytest.raises(BadInputError, match="topology is 'ring'; expected one of colocated, decoupled, async"):
        PPOConfig(topology="ring")
    assert PPOConfig(graph={"actors": 3}).graph == GraphConfig(actors=3)
