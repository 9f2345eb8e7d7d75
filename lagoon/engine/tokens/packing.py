"""Many short sequences in few rows of one length, so that a forward pass works on tokens and not on padding.

What enters: lengths. What leaves: which sequence and which of its steps lies in each place of each row.
Source: first-fit decreasing, Johnson 1973, "Near-optimal bin packing algorithms"; at most 11/9 of the best number of
rows, and 2/3 of one, whatever the lengths.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor


def first_fit_decreasing(lengths: Sequence[int], capacity: int) -> list[list[int]]:
    """Return rows of indices whose lengths add up to at most ``capacity`` each.

    The longest sequences are placed first, each into the first row that has room.

    Raises:
        ValueError: a sequence is longer than a row, or empty.
    """
    rows: list[list[int]] = []
    room: list[int] = []
    for index in sorted(range(len(lengths)), key=lambda i: -lengths[i]):
        length = lengths[index]
        if not 0 < length <= capacity:
            raise ValueError(f"Sequence {index} has {length} steps; a row holds 1 to {capacity}.")
        row = next((r for r, left in enumerate(room) if left >= length), len(rows))
        if row == len(rows):
            rows.append([])
            room.append(capacity)
        rows[row].append(index)
        room[row] -= length
    return rows


def evenly(lengths: Sequence[int], capacity: int) -> list[list[int]]:
    """Return as few rows as ``first_fit_decreasing``, but with the least capacity that it manages them with.

    The last row would be half empty otherwise, and a batch has few rows.
    """
    rows = first_fit_decreasing(lengths, capacity)
    for least in range(max(*lengths, -(-sum(lengths) // len(rows))), capacity):
        tighter = first_fit_decreasing(lengths, least)
        if len(tighter) == len(rows):
            return tighter
    return rows


def padding_share(lengths: Sequence[int], rows: Sequence[Sequence[int]], capacity: int | None = None) -> float:
    """Return the share of all places that hold no token.

    Args:
        lengths: of all sequences.
        rows: indices of the sequences that share a row.
        capacity: places of a row; None takes the fullest row's, as a batch of one sequence per row is padded.
    """
    filled = [sum(lengths[index] for index in row) for row in rows]
    return 1.0 - sum(filled) / (len(rows) * (capacity or max(filled)))


@dataclass(frozen=True)
class Packed:
    """Where B sequences lie in R rows of C places."""

    sequence: Tensor
    """(R, C) which sequence, -1 where there is none."""
    step: Tensor
    """(R, C) which of its steps; 0 where there is none."""

    @staticmethod
    def of(lengths: Sequence[int], capacity: int) -> Packed:
        """Pack sequences into rows of at most ``capacity`` places; see ``evenly``."""
        rows = evenly(lengths, capacity)
        width = max(sum(lengths[index] for index in row) for row in rows)
        sequence = torch.full((len(rows), width), -1, dtype=torch.int64)
        step = torch.zeros(len(rows), width, dtype=torch.int64)
        for r, row in enumerate(rows):
            start = 0
            for index in row:
                stop = start + lengths[index]
                sequence[r, start:stop] = index
                step[r, start:stop] = torch.arange(lengths[index])
                start = stop
        return Packed(sequence, step)

    @property
    def real(self) -> Tensor:
        """(R, C) True where there is a token."""
        return self.sequence >= 0

    def gather(self, per_step: Tensor) -> Tensor:
        """Return (R, C, ...) of (T, B, ...); padding gets what lies at step 0 of sequence 0."""
        return per_step[self.step, self.sequence.clamp_min(0)]

    def rows(self, which: Tensor) -> Packed:
        """Return some of the rows, cut to the fullest of them."""
        sequence, step = self.sequence[which], self.step[which]
        width = int((sequence >= 0).sum(1).max())
        return Packed(sequence[:, :width], step[:, :width])
