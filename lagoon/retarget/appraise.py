"""What would a person's motion cost on the robot? One number, to choose among motions of the same command.

What enters: a HumanMotion and a RobotSpec. What leaves: a cost, about 1 for each fault that is just acceptable.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from lagoon.motion.human_motion import HumanMotion
from lagoon.motion.robot_motion import RobotMotion
from lagoon.motion.stretches import longest
from lagoon.retarget.config import RetargetConfig
from lagoon.retarget.cost import cost
from lagoon.retarget.retarget import retarget
from lagoon.robot import RobotSpec

ONE_FOOT = 0.5
"""Time on one hind foot alone [s] that costs nothing; so much more than that is just acceptable. A point foot hardly
balances a robot: of three kicks with 0.5, 0.8 and 1.6 s the first two were held after 3 M steps."""


def appraise(human: HumanMotion, robot: RobotSpec, config: RetargetConfig | None = None) -> float:
    """Retarget a motion once, at the person's own speed and as it comes, and put its faults together.

    A motion in which the robot touches itself is solved once all the same: what has to be mended costs.

    Args:
        human: what a person does.
        robot: the robot.
        config: as for retargeting.
    """
    motion, report = retarget(human, robot, replace(config or RetargetConfig(), speed=1.0, keep_apart=False))
    return cost(report) + max(0.0, one_footed(motion, robot) - ONE_FOOT) / ONE_FOOT


def one_footed(motion: RobotMotion, robot: RobotSpec) -> float:
    """Longest time for which a hind foot alone is on the floor [s]."""
    hind = np.array([not leg.is_front for leg in robot.legs])
    alone = (motion.foot_contact[:, hind].sum(axis=1) == 1) & (motion.foot_contact[:, ~hind].sum(axis=1) == 0)
    return longest(alone) / motion.fps
