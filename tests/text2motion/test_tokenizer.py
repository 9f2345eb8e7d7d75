from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from lagoon.errors import BadInputError
from lagoon.text2motion import features
from lagoon.text2motion.config import ModelConfig
from lagoon.text2motion.tokenizer import (
    MotionTokenizer,
    ResidualQuantiser,
    coarse_to_fine,
    feature_scale,
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


PARTS = ModelConfig(
    groups=4, codes=16, latent=14, part_codes=(2, 1, 1), part_latents=(8, 3, 3), head_weight=4.0, refiner_width=8,
    width=16, heads=2, layers=1, feedforward=32,
)  # fmt: skip


def test_a_code_of_one_part_moves_only_that_part(people):
    rows = np.stack([features.encode(people[kind](80)) for kind in ("waving", "walking", "squatting")])
    rows = torch.from_numpy(rows.astype(np.float32))
    tokenizer = MotionTokenizer(PARTS)
    tokenizer.fit(rows.reshape(-1, 4, 71), torch.ones(60), torch.Generator().manual_seed(0))
    codes = tokenizer.encode(rows)
    assert coarse_to_fine(PARTS.part_codes) == [0, 1, 2, 0]
    other = codes.clone()
    other[..., 2] = (other[..., 2] + 1) % 16
    moved = (tokenizer.decode(other) - tokenizer.decode(codes)).abs().amax((0, 1)) > 1e-5
    arms = features.part_columns()["arms"]
    assert moved[arms].any() and not moved[[c for c in range(71) if c not in arms]].any()


def test_parts_hold_every_column_once():
    columns = [c for part in features.part_columns().values() for c in part]
    assert sorted(columns) == list(range(71))


def test_a_centimetre_of_the_head_can_count_more():
    ratio = feature_scale() / feature_scale(4.0)
    head = features.columns(["head"])
    assert (ratio[head] == 4.0).all() and (ratio[[c for c in range(71) if c not in head]] == 1.0).all()


@pytest.mark.parametrize(
    "changes", [{"part_codes": (2, 1)}, {"part_codes": (2, 1, 2)}, {"part_latents": ()}, {"head_weight": 0.0}]
)
def test_parts_that_do_not_add_up_are_refused(changes):
    with pytest.raises(BadInputError, match=r"ModelConfig\.\w+ is"):
        replace(PARTS, **changes)
