"""How far is a motion from everything the model was trained on?

What enters: training motions, then generated ones. What leaves: metres. A generator that copies has a distance
near that of a training clip's own round trip through tokens.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lagoon.text2motion import augment, features

Array = NDArray[np.float64]
STRIDE = 4
"""Every so many frames is compared, 0.2 s."""


class TrainingClips:
    """Training motions and their mirror images, ready to be compared with."""

    def __init__(self, motions: list[Array]) -> None:
        """Take joint positions, each (T, 22, 3) [m]."""
        rows = [_poses(m) for motion in motions for m in (motion, augment.mirror(motion))]
        self.poses = np.concatenate(rows)
        self.lengths = np.array([len(row) for row in rows])
        self.starts = np.cumsum(self.lengths) - self.lengths
        self.squares = (self.poses**2).sum(1)

    def nearest(self, joint_pos_w: Array) -> tuple[int, float]:
        """Index of the nearest training motion, and the distance from it.

        The motion slides along each longer training motion, or a shorter one slides along it; compared are
        joints relative to the pelvis, as the person faces. Speeds are as they are: a copy at another pace is not
        found.

        Returns:
            Index into the motions given, and the root of the mean squared distance of a joint [m].
        """
        own = _poses(joint_pos_w)
        squared = (own**2).sum(1)[:, None] + self.squares[None] - 2.0 * own @ self.poses.T
        best, where = np.inf, 0
        for index, (start, length) in enumerate(zip(self.starts, self.lengths, strict=True)):
            block = squared[:, start : start + length]
            short, long = (block, length) if len(own) <= length else (block.T, len(own))
            count = len(short)
            total = sum(short[k, k : long - count + 1 + k] for k in range(count))
            value = float(np.min(total)) / count
            if value < best:
                best, where = value, index
        return where // 2, float(np.sqrt(max(best, 0.0) / 21))


def _poses(joint_pos_w: Array) -> Array:
    """(T / 4, 63) joints relative to the pelvis in the heading frame [m]."""
    return features.encode(joint_pos_w)[::STRIDE, features.POSITIONS]
