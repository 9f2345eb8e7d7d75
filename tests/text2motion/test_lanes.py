"""Motion tokens drawn lane by lane: the same numbers as the whole forward pass, whatever happens in between."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from lagoon.engine.metrics import Stopwatch
from lagoon.engine.params import MemoryParameterStore
from lagoon.engine.streams.inline import InlineSampleStream
from lagoon.engine.tokens.packing import Packed
from lagoon.engine.tokens.rollout import RolloutSpec, RolloutWorker
from lagoon.engine.tokens.schema import Sequence, Sizes, token_schema
from lagoon.text2motion.config import ModelConfig
from lagoon.text2motion.lanes import LaneSampler
from lagoon.text2motion.policy import MotionPolicy
from lagoon.text2motion.text_encoder import Encoding
from lagoon.text2motion.texts import text_batch
from lagoon.text2motion.transformer import MotionTransformer

SIZES = ModelConfig(
    groups=2, codes=7, latent=4, width=16, heads=2, layers=2, feedforward=32, max_steps=10, text_width=12, dropout=0.1
)
LENGTHS = [4, 9, 2, 10, 6, 3, 7]


def network(seed=0):
    torch.manual_seed(seed)
    made = MotionTransformer(SIZES).eval()
    made.use_books(torch.randn(2, 7, 4, generator=torch.Generator().manual_seed(9)), scale=1.0)
    for parameter in made.parameters():
        torch.nn.init.normal_(parameter, std=0.3)
    return made


def prompts():
    rng = np.random.default_rng(0)
    return [
        Encoding(rng.standard_normal((words, 12)).astype(np.float32), rng.standard_normal(12).astype(np.float32), ())
        for words in (3, 5, 2)
    ]


def policy(seed=0, guidance=1.0, temperature=1.0):
    return MotionPolicy(network(seed), prompts(), guidance, temperature)


class Numbers:
    def __init__(self, count):
        self.left = list(range(count))

    def take(self):
        return self.left.pop(0) if self.left else None


def rollout(pushes, lanes=3, guidance=1.0, temperature=1.0, interruptible=True):
    """Draw a sequence of each length; ``pushes`` has (version, seed) by the poll before which they arrive."""
    store, samples = MemoryParameterStore(), InlineSampleStream(token_schema(Sizes(10, 2), 1), len(LENGTHS) + 1)
    worker, done = RolloutWorker(), {}
    worker.configure(
        RolloutSpec(
            LaneSampler(policy(7, guidance, temperature), lanes),
            lanes,
            samples,
            store,
            Numbers(len(LENGTHS)),
            lambda number: Sequence(number, number % 3, LENGTHS[number]),
            5,
            Stopwatch(),
            interruptible,
        )
    )
    worker.start()
    for poll in range(60):
        if poll in pushes:
            version, seed = pushes[poll]
            store.push(policy(seed).state_dict(), version)
        worker.poll()
        while (slot := samples.take()) is not None:
            length = int(slot["length"])
            done[int(slot["number"])] = {k: slot[k][:length, 0].clone() for k in ("code", "logp", "version")}
            samples.release(slot)
    assert len(done) == len(LENGTHS)
    return done


@pytest.mark.parametrize("guidance", [1.0, 2.5])
def test_with_frozen_weights_an_interrupted_rollout_equals_an_uninterrupted_one(guidance):
    plain = rollout({0: (0, 0)}, guidance=guidance)
    often = rollout({poll: (poll, 0) for poll in range(50)}, guidance=guidance)
    for number, item in plain.items():
        assert torch.equal(item["code"], often[number]["code"])
        assert torch.allclose(item["logp"], often[number]["logp"], atol=1e-5)
        assert len(often[number]["version"].unique()) == LENGTHS[number]


def test_what_is_drawn_does_not_depend_on_what_else_is_running():
    alone, many = rollout({0: (0, 0)}, lanes=1), rollout({0: (0, 0)}, lanes=7)
    assert all(torch.equal(alone[number]["code"], many[number]["code"]) for number in alone)


@pytest.mark.parametrize(("guidance", "temperature"), [(1.0, 1.0), (3.0, 1.05)])
def test_log_probabilities_are_exact_across_versions(guidance, temperature):
    done = rollout({0: (0, 0), 4: (1, 1), 7: (2, 2)}, guidance=guidance, temperature=temperature)
    mixed = 0
    for number, item in done.items():
        packed = Packed.of([LENGTHS[number]], 10)
        about = (item["code"][None], packed, torch.tensor([LENGTHS[number]]), torch.tensor([number % 3]))
        with torch.no_grad():
            under = torch.stack([policy(seed, guidance, temperature).log_probs(*about)[0] for seed in range(3)])
        expected = under[item["version"], torch.arange(LENGTHS[number])]
        assert torch.allclose(item["logp"], expected, atol=1e-4)
        mixed += len(item["version"].unique()) > 1
    assert mixed >= 3


def test_the_first_token_after_an_arrival_is_of_the_new_version():
    done = rollout({0: (0, 0), 2: (1, 1)}, lanes=7)
    for item in done.values():
        assert item["version"].tolist() == [0 if step < 2 else 1 for step in range(len(item["version"]))]


def test_packed_rows_give_the_log_probability_of_each_sequence_alone():
    made, generator = policy(3), torch.Generator().manual_seed(1)
    codes = torch.randint(7, (10, len(LENGTHS), 2), generator=generator)
    lengths, which = torch.tensor(LENGTHS), torch.arange(len(LENGTHS)) % 3
    packed = Packed.of(LENGTHS, 20)
    assert len(packed.sequence) < len(LENGTHS)
    with torch.no_grad():
        found = made.log_probs(packed.gather(codes), packed, lengths, which)
        text = text_batch([prompts()[i] for i in which])
        expected = made.transformer.log_prob(codes.transpose(0, 1), lengths, text)
    sums = [float(found[packed.sequence == index].sum()) for index in range(len(LENGTHS))]
    assert sums == pytest.approx(expected.tolist(), abs=1e-4)


def test_codes_are_drawn_as_often_as_they_are_likely():
    sampler = LaneSampler(policy(), 50)
    counts = torch.zeros(7)
    for start in range(0, 2000, 50):
        for number in range(start, start + 50):
            sampler.begin(Sequence(number, 0, 1), 0)
        drawn = sampler.step()
        counts += torch.bincount(drawn.codes[:, 0], minlength=7)
        for number in range(start, start + 50):
            sampler.drop(number)
    with torch.no_grad():
        logits = network()(torch.zeros(1, 1, 2, dtype=torch.long), torch.tensor([1]), text_batch(prompts()[:1]))
    assert torch.allclose(counts / 2000, torch.softmax(logits[0, 0, 0], -1), atol=0.04)


def test_more_sequences_than_lanes_are_refused():
    sampler = LaneSampler(policy(), 1)
    sampler.begin(Sequence(0, 0, 3), 0)
    with pytest.raises(ValueError, match="All 1 lanes are in use"):
        sampler.begin(Sequence(1, 0, 3), 0)
