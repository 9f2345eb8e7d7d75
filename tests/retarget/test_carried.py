"""A body without contact falls: where it does not, a foot carries."""

import numpy as np
import pytest

from lagoon.retarget.body import Body
from lagoon.retarget.contacts import _carry

FPS = 50.0
TIME = np.arange(60) / FPS


def body(hips):
    """A person of which only the height of the hips is asked (T,) [m]."""
    path = np.stack([np.zeros(60), np.zeros(60), hips], axis=1)
    return Body(FPS, {"left_hip": path, "right_hip": path}, np.tile(np.eye(3), (60, 1, 1)), 0.8, 0.6)


@pytest.mark.parametrize(
    ("hips", "left", "carries"),
    [
        (np.full(60, 0.9), 0.07, True),
        (0.9 + 0.1 * np.sin(6.0 * TIME), 0.07, True),
        (np.full(60, 0.9), 0.3, False),  # Nobody hangs that high, but no foot is near enough to be meant.
        (0.9 + 2.0 * (TIME - 0.2) - 4.905 * (TIME - 0.2) ** 2, 0.07, False),
    ],
)
def test_the_lower_foot_carries_who_does_not_fall(hips, left, carries):
    touch = np.ones((60, 4), bool)
    touch[20:40] = False
    heights = np.full((60, 4), np.inf)
    heights[:, 2], heights[:, 3] = left, 0.5
    _carry(body(hips), touch, heights, [2, 3])
    assert touch[20:40, 2].all() == carries and not touch[20:40, [0, 1, 3]].any()
    assert touch[:20].all() and touch[40:].all()
