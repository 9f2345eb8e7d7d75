"""What would a person's motion cost on the robot? One number, to choose among motions of the same command.

What enters: a HumanMotion and a RobotSpec. What leaves: a cost, about 1 for each fault that is just acceptable.
"""

from __future__ import annotations

from dataclasses import replace

from lagoon.motion.human_motion import HumanMotion
from lagoon.retarget.config import RetargetConfig
from lagoon.retarget.cost import cost
from lagoon.retarget.retarget import retarget
from lagoon.robot import RobotSpec


def appraise(human: HumanMotion, robot: RobotSpec, config: RetargetConfig | None = None) -> float:
    """Retarget a motion once, at the person's own speed and as it comes, and put its faults together.

    A motion in which the robot touches itself is solved once all the same: what has to be mended costs.

    Args:
        human: what a person does.
        robot: the robot.
        config: as for retargeting.
    """
    return cost(retarget(human, robot, replace(config or RetargetConfig(), speed=1.0, keep_apart=False))[1])
