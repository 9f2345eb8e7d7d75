"""Sequences of different lengths in few rows."""

import numpy as np
import pytest
import torch

from lagoon.engine.tokens.packing import Packed, evenly, first_fit_decreasing, padding_share


def test_the_longest_first_each_into_the_first_row_with_room():
    assert first_fit_decreasing([3, 7, 5, 2, 4], 10) == [[1, 0], [2, 4], [3]]
    assert first_fit_decreasing([10, 10], 10) == [[0], [1]]


@pytest.mark.parametrize("length", [0, 11])
def test_what_fits_no_row_is_refused(length):
    with pytest.raises(ValueError, match=f"Sequence 1 has {length} steps; a row holds 1 to 10"):
        first_fit_decreasing([3, length], 10)


def test_padding_by_hand():
    assert padding_share([3, 7, 5, 2, 4], [[1, 0], [2, 4], [3]], 10) == pytest.approx(1 - 21 / 30)
    assert padding_share([2, 8], [[0], [1]]) == pytest.approx(1 - 10 / 16)  # Padded to the longest.


def test_heavy_tailed_lengths_leave_little_padding():
    rng = np.random.default_rng(0)
    lengths = np.clip(np.exp(2.3 + 0.7 * rng.standard_normal(64)), 2, 50).astype(int).tolist()
    naive = padding_share(lengths, [[i] for i in range(64)])
    rows = evenly(lengths, 128)
    assert len(rows) == len(first_fit_decreasing(lengths, 128))
    assert naive > 0.4 and padding_share(lengths, rows) < 0.05


def test_every_token_has_one_place_and_keeps_its_order():
    lengths = [3, 7, 5, 2, 4]
    packed = Packed.of(lengths, 10)
    assert packed.sequence.shape == (3, 7) and bool(packed.real.all())
    values = torch.arange(7 * 5).view(7, 5)
    gathered = packed.gather(values)
    for index, length in enumerate(lengths):
        mine = packed.sequence == index
        assert packed.step[mine].tolist() == list(range(length))
        assert gathered[mine].tolist() == values[:length, index].tolist()


def test_rows_are_cut_to_the_fullest_of_them():
    packed = Packed.of([7, 3, 2], 8)
    assert packed.sequence[1].tolist() == [1, 1, 1, 2, 2, -1, -1]
    assert packed.rows(torch.tensor([1])).sequence.tolist() == [[1, 1, 1, 2, 2]]
