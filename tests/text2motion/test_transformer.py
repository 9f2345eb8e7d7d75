from __future__ import annotations

import pytest
import torch

from lagoon.text2motion import transformer
from lagoon.text2motion.config import ModelConfig
from lagoon.text2motion.texts import TextBatch
from lagoon.text2motion.transformer import MotionTransformer, draw

SIZES = ModelConfig(
    groups=2, codes=7, latent=4, width=16, heads=2, layers=2, feedforward=32, max_steps=10, text_width=12, dropout=0.0
)


@pytest.fixture
def model() -> MotionTransformer:
    torch.manual_seed(0)
    network = MotionTransformer(SIZES).eval()
    network.use_books(torch.randn(2, 7, 4))
    for parameter in network.parameters():
        torch.nn.init.normal_(parameter, std=0.3)
    return network


def words(count: int, seed: int = 0) -> TextBatch:
    g = torch.Generator().manual_seed(seed)
    mask = torch.ones(count, 5, dtype=torch.bool)
    mask[:, 4] = False
    return TextBatch(torch.randn(count, 5, 12, generator=g), mask, torch.randn(count, 12, generator=g))


def test_a_step_sees_no_later_one(model):
    codes = torch.randint(7, (1, 6, 2), generator=torch.Generator().manual_seed(1))
    changed = codes.clone()
    changed[:, 3] = (changed[:, 3] + 1) % 7
    a = model(codes, torch.tensor([6]), words(1))
    b = model(changed, torch.tensor([6]), words(1))
    assert torch.allclose(a[:, :3], b[:, :3], atol=1e-6)
    assert torch.allclose(a[:, 3, 0], b[:, 3, 0], atol=1e-6)  # the first group of the step itself
    assert not torch.allclose(a[:, 3, 1], b[:, 3, 1], atol=1e-4)
    assert not torch.allclose(a[:, 4], b[:, 4], atol=1e-4)


def test_masked_words_do_not_count(model):
    codes = torch.zeros(1, 3, 2, dtype=torch.long)
    text = words(1)
    loud = TextBatch(text.states.clone(), text.mask, text.sentence)
    loud.states[:, 4] = 100.0
    assert torch.allclose(model(codes, torch.tensor([3]), text), model(codes, torch.tensor([3]), loud), atol=1e-6)


def test_words_and_length_matter(model):
    codes = torch.zeros(1, 4, 2, dtype=torch.long)
    four, nine = torch.tensor([4]), torch.tensor([9])
    assert not torch.allclose(model(codes, four, words(1)), model(codes, four, words(1, 7)), atol=1e-3)
    assert not torch.allclose(model(codes, four, words(1)), model(codes, nine, words(1)), atol=1e-3)


def test_probabilities_of_all_motions_sum_to_one(model):
    grid = torch.cartesian_prod(torch.arange(7), torch.arange(7))[:, None]
    one = words(1)
    text = TextBatch(one.states.repeat(49, 1, 1), one.mask.repeat(49, 1), one.sentence.repeat(49, 1))
    total = model.log_prob(grid, torch.ones(49, dtype=torch.long), text).exp().sum()
    assert float(total) == pytest.approx(1.0, abs=1e-5)


def test_loss_is_the_mean_of_log_prob(model):
    codes = torch.randint(7, (2, 5, 2), generator=torch.Generator().manual_seed(2))
    lengths = torch.tensor([5, 3])
    expected = -model.log_prob(codes, lengths, words(2)).sum() / (8 * 2)
    assert float(model.loss(codes, lengths, words(2))) == pytest.approx(float(expected), abs=1e-5)


def test_sampling_by_steps_agrees_with_the_whole_forward_pass(model):
    # Near zero temperature sampling takes the most likely code of each step, as forward ranks them.
    text = words(3)
    codes = model.sample(6, text, torch.Generator().manual_seed(0), temperature=1e-4)
    logits = model(codes, torch.full((3,), 6), text)
    assert (logits.argmax(-1) == codes).all()


def test_guidance_of_one_is_plain_sampling_and_more_changes_it(model):
    text = words(4)
    sample = lambda scale: model.sample(8, text, torch.Generator().manual_seed(3), guidance=scale)  # noqa: E731
    assert (sample(1.0) == sample(1.0)).all()
    assert not (sample(1.0) == sample(6.0)).all()


def test_seeds_repeat_and_differ(model):
    sample = lambda seed: model.sample(8, words(2), torch.Generator().manual_seed(seed))  # noqa: E731
    assert (sample(5) == sample(5)).all()
    assert not (sample(5) == sample(6)).all()


def test_nucleus_keeps_the_likely_codes_only():
    logits = torch.log(torch.tensor([[0.5, 0.3, 0.15, 0.05]])).repeat(2000, 1)
    drawn = draw(logits, 0.79, torch.Generator().manual_seed(0))
    assert set(drawn.tolist()) == {0, 1}
    assert (drawn == 0).float().mean() == pytest.approx(0.625, abs=0.04)
    assert set(draw(logits, 1.0, torch.Generator().manual_seed(0)).tolist()) == {0, 1, 2, 3}


def test_a_prefix_is_kept_and_what_follows_is_as_likely_as_the_whole_says(model):
    text, generator = words(3), torch.Generator().manual_seed(0)
    prefix = torch.randint(7, (3, 4, 2), generator=generator)
    codes = model.sample(9, text, generator, temperature=1e-4, prefix=prefix)
    assert (codes[:, :4] == prefix).all() and codes.shape == (3, 9, 2)
    logits = model(codes, torch.full((3,), 9), text)
    assert (logits.argmax(-1)[:, 4:] == codes[:, 4:]).all()


def test_log_prob_is_what_the_sampler_drew_with(model, monkeypatch):
    told = []

    def remember(logits, top_p, generator):
        code = draw(logits, top_p, generator)
        told.append(torch.log_softmax(logits.double(), -1).gather(-1, code[:, None])[:, 0])
        return code

    monkeypatch.setattr(transformer, "draw", remember)
    codes = model.sample(8, words(3), torch.Generator().manual_seed(5))
    assert len(told) == 8 * SIZES.groups
    drawn = torch.stack(told).sum(0)
    assert torch.allclose(model.log_prob(codes, torch.full((3,), 8), words(3)).double(), drawn, atol=1e-4)
    changed = codes.clone()
    changed[:, 5, 1] = (changed[:, 5, 1] + 1) % SIZES.codes
    assert not torch.allclose(model.log_prob(changed, torch.full((3,), 8), words(3)).double(), drawn, atol=1e-2)
