"""The formulas by hand, and that they learn."""

import math

import pytest
import torch
from toy_writer import Writer

from lagoon.engine.tokens.config import TokenPPOConfig
from lagoon.engine.tokens.packing import Packed
from lagoon.engine.tokens.ppo import PromptBaseline, TokenPPO, clipped, reference_kl
from lagoon.engine.tokens.schema import Sizes, token_schema
from lagoon.engine.trajectory import Trajectory

ONE = TokenPPOConfig(batch=4, minibatches=1, kl_coef=0.0, lr=1e-2, row_tokens=20)


def test_the_surrogate_by_hand():
    ratios = torch.tensor([1.5, 1.5, 0.5, 0.5, 1.1]).log()
    found = clipped(ratios, torch.tensor([2.0, -2.0, 2.0, -2.0, 3.0]), 0.2)
    assert torch.allclose(found, torch.tensor([2.4, -3.0, 1.0, -1.6, 3.3]))


def test_the_divergence_by_hand():
    logp, reference = torch.tensor([0.5]).log(), torch.tensor([0.25]).log()
    assert float(reference_kl(logp, reference)) == pytest.approx(0.5 - 1 - math.log(0.5))
    assert float(reference_kl(logp, logp)) == 0.0


def test_a_reward_is_compared_with_the_others_of_its_prompt():
    baseline = PromptBaseline(3, decay=0.5)
    first = baseline.advantages(torch.tensor([1.0, 3.0, 5.0, 10.0]), torch.tensor([0, 0, 0, 1]))
    assert first.tolist() == pytest.approx([1 - 4, 3 - 3, 5 - 2, 10 - 4.75])  # The last is alone: against the batch.
    second = baseline.advantages(torch.tensor([4.0, 6.0]), torch.tensor([0, 1]))
    assert second.tolist() == pytest.approx([4 - 3.0, 6 - 10.0])  # Means of before: 9 / 3 and 10.


def batch_of(model, lengths, version=0, seed=0):
    """Sequences that the model drew, more or less: random codes with their true log-probabilities."""
    generator = torch.Generator().manual_seed(seed)
    batch = Trajectory(token_schema(Sizes(max(lengths), 2), 1, len(lengths)))
    batch["code"].copy_(torch.randint(5, batch["code"].shape, generator=generator))
    batch["length"].copy_(torch.tensor(lengths))
    batch["prompt"].copy_(torch.arange(len(lengths)) % 2)
    batch["terms"][:, 0] = torch.rand(len(lengths), generator=generator)
    batch["version"].fill_(version)
    packed = Packed.of(lengths, 40)
    with torch.no_grad():
        logp = model.log_probs(packed.gather(batch["code"]), packed, batch["length"], batch["prompt"])
    for index, length in enumerate(lengths):
        batch["logp"][:length, index] = logp[packed.sequence == index]
    return batch


def learner(config=ONE, seed=0, reference=False):
    model = Writer(seed=seed)
    return TokenPPO(model, Writer(seed=seed) if reference else None, config, 3, 0)


def changed(**settings):
    return TokenPPOConfig(**{"batch": 4, "minibatches": 1, "kl_coef": 0.0, "lr": 1e-2, "row_tokens": 20, **settings})


def test_the_gradient_is_that_of_the_formula_worked_out_sequence_by_sequence():
    ppo, lengths = learner(), [5, 2, 7, 4]
    acted = Writer(seed=1)
    batch = batch_of(acted, lengths)
    ppo.update(batch, version=3)

    model, reward = Writer(seed=0), batch["terms"][:, 0]
    advantage = PromptBaseline(3, 0.8).advantages(reward, batch["prompt"])
    advantage = (advantage - advantage.mean()) / (advantage.std(correction=0) + 1e-6)
    loss = torch.zeros(())
    for index, length in enumerate(lengths):
        packed = Packed.of([length], length)
        codes = batch["code"][None, :length, index]
        logp = model.log_probs(codes, packed, torch.tensor([length]), batch["prompt"][index : index + 1])[0]
        log_ratio = logp.detach() - batch["logp"][:length, index]
        kl = (torch.expm1(log_ratio) - log_ratio).mean()
        trust = min(1.0, 0.05 / float(kl))
        weight = log_ratio.exp().clamp_max(5.0)
        # At the first gradient step u is 1, so that the clip does nothing.
        loss = loss - (weight * trust * advantage[index] * (logp - logp.detach()).exp()).sum()
    (loss / (2 * sum(lengths))).backward()
    expected = torch.cat([p.grad.flatten() if p.grad is not None else 0 * p.flatten() for p in model.parameters()])
    expected = expected * min(1.0, 1.0 / float(expected.norm()))
    assert torch.allclose(ppo._flat.gradients, expected, atol=1e-6)


def test_samples_of_the_newest_policy_are_learned_from_without_correction():
    ppo = learner()
    stats = ppo.update(batch_of(Writer(seed=0), [5, 2, 7, 4], version=3), version=3)
    assert (stats["behaviour_kl"], stats["behaviour_weight"]) == (0.0, 1.0)
    assert stats["kl"] == pytest.approx(0.0, abs=1e-9) and stats["clip_fraction"] == 0.0


def test_far_samples_count_less():
    near, far = batch_of(Writer(seed=0), [5, 2, 7, 4]), batch_of(Writer(seed=5), [5, 2, 7, 4])
    assert learner().update(near, version=1)["kl_trust"] == pytest.approx(1.0)
    assert learner().update(far, version=1)["kl_trust"] < 0.9
    assert learner(changed(max_kl=0.0)).update(far, version=1)["kl_trust"] == 1.0


@pytest.mark.parametrize("objective", ["coupled", "loglinear", "recompute"])
def test_all_objectives_agree_where_nothing_is_old(objective):
    settings = {"objective": "coupled"} if objective == "coupled" else {"prox": objective}
    plain, other = learner(), learner(changed(**settings))
    batch = batch_of(Writer(seed=0), [5, 2, 7, 4])
    for ppo in (plain, other):
        ppo.update(batch, version=0)
    assert torch.allclose(plain._flat.values, other._flat.values, atol=1e-6)


def test_the_reference_pulls_back():
    batch = batch_of(Writer(seed=0), [5, 2, 7, 4])
    batch["terms"].zero_()
    ppo = TokenPPO(Writer(seed=0), Writer(seed=6), changed(kl_coef=1.0), 3, 0)
    distances = [ppo.update(batch, version=0)["reference_kl"] for _ in range(20)]
    assert distances[-1] < 0.6 * distances[0]
    with pytest.raises(ValueError, match="no reference"):
        TokenPPO(Writer(), None, changed(kl_coef=1.0), 3, 0)


def test_a_moving_reference_and_the_optimiser_survive_a_checkpoint():
    config, batch = changed(kl_coef=0.1, reference_ema=0.1, minibatches=2), batch_of(Writer(seed=2), [5, 2, 7, 4])
    whole, first, second = (learner(config, reference=True) for _ in range(3))
    for _ in range(2):
        whole.update(batch, version=1)
    first.update(batch, version=1)
    second.model.load_state_dict(first.model.state_dict())
    second.load({name: value.clone() for name, value in first.tensors().items()})
    second.update(batch, version=1)
    assert torch.equal(whole._flat.values, second._flat.values)
    moved, begun = next(whole.reference.parameters()), next(Writer(seed=0).parameters())
    assert not torch.equal(moved, begun)
