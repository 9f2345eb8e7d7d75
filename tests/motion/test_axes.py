from __future__ import annotations

import numpy as np

from lagoon.motion.axes import to_y_up, to_z_up


def test_up_ahead_and_left_stay_what_they_are() -> None:
    up, ahead, left = np.eye(3)[[1, 2, 0]]
    assert (to_z_up(np.stack([ahead, left, up])) == np.eye(3)).all()


def test_there_and_back() -> None:
    pos = np.random.default_rng(0).normal(size=(4, 22, 3))
    assert (to_y_up(to_z_up(pos)) == pos).all() and (to_z_up(to_y_up(pos)) == pos).all()
