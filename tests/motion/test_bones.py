from __future__ import annotations

import numpy as np

from lagoon.motion.bones import bone_lengths, with_bones
from lagoon.motion.skeleton import PARENTS


def test_bones_get_their_lengths_and_keep_their_directions() -> None:
    random = np.random.default_rng(0)
    pos, lengths = random.normal(size=(6, 22, 3)), random.uniform(0.1, 0.5, 21)
    before = pos.copy()
    out = with_bones(pos, lengths)
    assert np.allclose(bone_lengths(out), lengths, atol=1e-12) and (out[:, 0] == pos[:, 0]).all()
    parents = list(PARENTS[1:])
    old, new = pos[:, 1:] - pos[:, parents], out[:, 1:] - out[:, parents]
    along = np.sum(old * new, axis=-1) / np.linalg.norm(old, axis=-1) / np.linalg.norm(new, axis=-1)
    assert np.allclose(along, 1.0, atol=1e-12)
    assert (pos == before).all(), "what was given stays as it was"
    assert np.allclose(with_bones(out, lengths), out, atol=1e-12)


def test_a_bone_without_direction_gets_its_length_too() -> None:
    out = with_bones(np.zeros((2, 22, 3)), np.full(21, 0.3))
    assert np.allclose(bone_lengths(out), 0.3) and out[0, 1, 2] == 0.3
