"""What would a person's motion cost on the robot? One number, to choose among motions of the same command.

What enters: a HumanMotion and a RobotSpec. What leaves: a cost, about 1 for each fault that is just acceptable.
"""

from __future__ import annotations

from dataclasses import replace

from lagoon.motion.human_motion import HumanMotion
from lagoon.retarget.config import RetargetConfig
from lagoon.retarget.quality import RetargetReport
from lagoon.retarget.retarget import retarget
from lagoon.retarget.verdict import GRADES
from lagoon.robot import RobotSpec

PRESSURE = 0.06
"""90th percentile of the pressure point's distance from the feet that carry [m] that is just acceptable."""
PRESSURE_PEAK = 0.012
"""Its maximum [m] up to which it costs nothing. One moment is enough to fall: of 13 trained motions on two feet the
four above 0.02 m ended at 66 to 94 % survival, the nine below 0.012 m at 93 to 100 %."""
TRACKING = 0.08
"""Mean distance of the feet from where the person's limbs put them [m] that is just acceptable."""
FRICTION = 0.6
"""90th percentile of the needed friction that is just acceptable."""
GRADE = 2.0
"""Cost of each grade of the verdict below trackable."""
TOUCHING = 10.0
"""Frames in which the robot touches itself that are just acceptable."""


def appraise(human: HumanMotion, robot: RobotSpec, config: RetargetConfig | None = None) -> float:
    """Retarget a motion once, at the person's own speed and as it comes, and put its faults together.

    A motion in which the robot touches itself is solved once all the same: what has to be mended costs.

    Args:
        human: what a person does.
        robot: the robot.
        config: as for retargeting.
    """
    return cost(retarget(human, robot, replace(config or RetargetConfig(), speed=1.0, keep_apart=False))[1])


def cost(report: RetargetReport) -> float:
    """One number of a report: its verdict, balance, tracking, friction, self-collisions, limits of the joints."""
    return (
        GRADE * GRADES.index(report.verdict.grade)
        + report.pressure_p90 / PRESSURE
        + max(0.0, report.pressure_max / PRESSURE_PEAK - 1.0)
        + report.tracking_mean / TRACKING
        + report.friction_p90 / FRICTION
        + report.self_collisions / TOUCHING
        + max(0.0, report.velocity_use_max - 1.0)
        + float(report.joint_limit_violations > 0)
    )
