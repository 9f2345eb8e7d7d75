"""Where gravity may point while a skill runs.

What enters: a bundle and a tick. What leaves: the angle between the measured and the expected gravity
direction. With the reference's own direction at every tick a fall out of any pose is seen, sideways out
of an upright one too; an older bundle that carries only the largest tilt of each stretch gets the
weaker test: not more tilt than that.
"""

from __future__ import annotations

import numpy as np

from lagoon.bundle import PolicyBundle
from lagoon.deploy.transport.base import Array

UP = np.array([0.0, 0.0, 1.0])


def up_b(imu_quat: Array) -> Array:
    """World's up axis (3,) in the base frame, from a quaternion wxyz of norm near 1."""
    w, x, y, z = imu_quat / np.linalg.norm(imu_quat)
    return np.array([2.0 * (x * z - w * y), 2.0 * (y * z + w * x), 1.0 - 2.0 * (x * x + y * y)])


def angle(a: Array, b: Array) -> float:
    """Angle between two vectors (3,) [rad]."""
    return float(np.arctan2(np.linalg.norm(np.cross(a, b)), a @ b))


class Envelope:
    """The tilt that a skill is meant to have, tick by tick."""

    def __init__(self, bundle: PolicyBundle) -> None:
        """Args: bundle: a loaded one."""
        self._bundle = bundle

    def error(self, tick: int, measured_up_b: Array) -> float:
        """How far gravity is from where it may be [rad]; 0 while a weaker test is content."""
        bundle = self._bundle
        if bundle.up_b is not None:
            return angle(measured_up_b, bundle.up_b[min(tick, bundle.num_steps - 1)])
        return max(0.0, angle(measured_up_b, UP) - self.tilt(tick))

    def tilt(self, tick: int) -> float:
        """Tilt of the reference at a tick [rad]; of its stretch, if the bundle knows no better."""
        bundle = self._bundle
        if bundle.up_b is not None:
            return angle(UP, bundle.up_b[min(tick, bundle.num_steps - 1)])
        return bundle.max_tilt[bundle.segment_index(tick)]
