"""A four-legged stand for any leg geometry: feet below the thigh joints, knees bent.

What enters: a SourceLeg. What leaves: joint angles and the height they give.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lagoon.sim.description.facts import SourceLeg

BENT = 0.64
"""Height of the thigh joint above the foot, as a share of the straight leg; the Go2's stand has 0.62."""
MARGIN = 0.1
"""Distance to the limits that the stand keeps [rad]."""


@dataclass(frozen=True)
class LegStand:
    """One leg in the stand."""

    thigh: float
    """[rad]"""
    calf: float
    """[rad]"""
    height: float
    """Thigh joint above the foot centre [m]."""


def leg_stand(leg: SourceLeg, twin: SourceLeg, share: float = BENT) -> LegStand | None:
    """Return the bend that puts the foot below the thigh joint, or None if the limits allow no such pose.

    Args:
        leg: its geometry and limits; a missing limit counts as half a turn.
        twin: the leg on the other side, whose limits hold as well, so that both stand alike.
        share: wanted height as a share of the straight leg; the nearest possible one is taken.
    """
    low, high = _range(leg, twin, 2)
    angles = np.linspace(low, high, 721)
    cos, sin = np.cos(angles), np.sin(angles)
    x = leg.calf_offset[0] + cos * leg.foot_offset[0] + sin * leg.foot_offset[2]
    z = leg.calf_offset[2] - sin * leg.foot_offset[0] + cos * leg.foot_offset[2]
    # Turning the thigh by b about Y brings (x, z) to (0, -h).
    lift = np.arctan2(x, -z)
    lower, upper = _range(leg, twin, 1)
    height = np.hypot(x, z)
    straight = float(np.linalg.norm(leg.calf_offset) + np.linalg.norm(leg.foot_offset))
    possible = (lift >= lower) & (lift <= upper)
    if not possible.any():
        return None
    # Of two knees, the one farther from its stops.
    centre = np.abs(angles - 0.5 * (low + high)) / (high - low)
    cost = np.abs(height / straight - share) + 0.02 * centre + np.where(possible, 0.0, 1e3)
    best = int(np.argmin(cost))
    return LegStand(float(lift[best]), float(angles[best]), float(height[best]))


def _range(leg: SourceLeg, twin: SourceLeg, k: int) -> tuple[float, float]:
    """Limits of joint k that hold for both legs, less the margin [rad]."""
    pair = (leg.joints[k], twin.joints[k])
    lower = max(-np.pi if joint.lower is None else joint.lower for joint in pair)
    upper = min(np.pi if joint.upper is None else joint.upper for joint in pair)
    return lower + MARGIN, upper - MARGIN
