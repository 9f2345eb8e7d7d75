"""Human to robot sizes, from the robot's own geometry and knee limits.

What enters: a Body and a RobotSpec. What leaves: Scales, factors that turn human metres into robot metres.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lagoon.retarget.body import Body
from lagoon.retarget.config import RetargetConfig
from lagoon.robot import Leg, RobotSpec


@dataclass(frozen=True)
class Scales:
    """Robot metres per human metre."""

    leg: float
    """Human legs and all travel through the world."""
    arm: float
    """Human arms."""


def longest_leg(robot: RobotSpec, leg: Leg) -> float:
    """Longest distance [m] from thigh joint to foot that the calf joint limits allow.

    The Go2's knee cannot straighten (its upper limit is -0.838 rad), so this is 0.389 m, not 0.426 m.
    """
    j = robot.joint_names.index(leg.calf_joint)
    angles = np.linspace(robot.joint_lower[j], robot.joint_upper[j], 181)
    return float(np.linalg.norm(leg.foot_in_thigh(angles), axis=-1).max())


def fit(body: Body, robot: RobotSpec, config: RetargetConfig, upright: bool) -> Scales:
    """Return the factors at which a straight human limb becomes the configured share of the longest leg."""
    front = min(longest_leg(robot, leg) for leg in robot.legs if leg.is_front)
    hind = min(longest_leg(robot, leg) for leg in robot.legs if not leg.is_front)
    leg_share, arm_share = (
        (config.leg_extension, config.arm_extension) if upright else (config.crouch_extension, config.crouch_extension)
    )
    return Scales(leg=leg_share * hind / body.leg_length, arm=arm_share * front / body.arm_length)
