from __future__ import annotations

import numpy as np
import pytest
import torch

from lagoon.text2motion import features
from lagoon.text2motion.config import ModelConfig
from lagoon.text2motion.tokenizer import (
    MotionTokenizer,
    ResidualQuantiser,
    k_means,
    nearest,
    reconstruction_loss,
)

SIZES = ModelConfig(groups=3, codes=16, latent=12, refiner_width=8, width=16, heads=2, layers=1, feedforward=32)


@pytest.fixture
def fitted(people):
    rows = [features.encode(people[kind](80)) for kind in ("waving", "walking", "squatting")]
    pieces = torch.from_numpy(np.concatenate([r.reshape(-1, 4, 71) for r in rows]).astype(np.float32))
    tokenizer = MotionTokenizer(SIZES)
    tokenizer.fit(pieces, torch.ones(len(pieces)), torch.Generator().manual_seed(0))
    return tokenizer, torch.from_numpy(np.stack(rows).astype(np.float32))


def test_quantiser_sums_its_codebooks_by_hand():
    quantiser = ResidualQuantiser(2, 2, 1)
    quantiser.books.copy_(torch.tensor([[[0.0], [10.0]], [[-1.0], [2.0]]]))
    latent = torch.tensor([[11.5], [-0.7]])
    codes = quantiser.encode(latent)
    assert codes.tolist() == [[1, 1], [0, 0]]  # 11.5 = 10 + 1.5, nearest to 2; -0.7 = 0 - 0.7, nearest to -1
    assert quantiser.values(codes).tolist() == [[12.0], [-1.0]]
    assert quantiser.partial(codes)[0].tolist() == [[10.0], [12.0]]


def test_codes_that_come_from_values_stay_the_same_for_one_group():
    quantiser = ResidualQuantiser(1, 5, 3)
    quantiser.books.copy_(torch.randn(1, 5, 3, generator=torch.Generator().manual_seed(0)))
    codes = torch.arange(5)[:, None]
    assert (quantiser.encode(quantiser.values(codes)) == codes).all()


def test_k_means_finds_two_clumps():
    generator = torch.Generator().manual_seed(1)
    points = torch.cat([torch.randn(50, 2, generator=generator) * 0.1 + c for c in (-3.0, 3.0)])
    book = k_means(points, 2, generator, 10)
    assert sorted(round(float(x)) for x in book[:, 0]) == [-3, 3]
    assert len(set(nearest(points, book)[:50].tolist())) == 1


def test_more_codes_reconstruct_better(fitted):
    tokenizer, rows = fitted
    latents = tokenizer.latents(rows)
    partial = tokenizer.quantiser.partial(tokenizer.encode(rows))
    errors = [float((partial[..., g, :] - latents).norm(dim=-1).mean()) for g in range(SIZES.groups)]
    assert errors[0] > errors[1] > errors[2]


def test_shapes_and_an_untrained_refiner_changes_nothing(fitted):
    tokenizer, rows = fitted
    codes = tokenizer.encode(rows)
    assert codes.shape == (3, 20, 3) and int(codes.max()) < 16
    decoded = tokenizer.decode(codes)
    assert decoded.shape == rows.shape
    assert ((decoded[..., features.CONTACTS] >= 0) & (decoded[..., features.CONTACTS] <= 1)).all()
    assert float((decoded - rows)[..., features.POSITIONS].abs().mean()) < 0.02


def test_fitting_is_reproducible(fitted):
    tokenizer, rows = fitted
    other = MotionTokenizer(SIZES)
    pieces = rows.reshape(-1, 4, 71)
    other.fit(pieces, torch.ones(len(pieces)), torch.Generator().manual_seed(0))
    assert (other.quantiser.books == tokenizer.quantiser.books).all()


def test_loss_is_zero_only_for_a_perfect_reconstruction(fitted):
    tokenizer, rows = fitted
    mask = torch.ones(rows.shape[:2])
    perfect = reconstruction_loss(tokenizer, rows, rows, mask)
    worse = reconstruction_loss(tokenizer, rows + 0.05, rows, mask)
    assert float(perfect) < 1e-3 < float(worse)


def test_loss_ignores_masked_frames(fitted):
    tokenizer, rows = fitted
    mask = torch.ones(rows.shape[:2])
    mask[:, 40:] = 0.0
    spoiled = rows.clone()
    spoiled[:, 41:, : features.CONTACTS.start] += 5.0
    assert float(reconstruction_loss(tokenizer, spoiled, rows, mask)) < 1e-3
