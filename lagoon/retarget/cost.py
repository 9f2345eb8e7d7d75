"""What a motion costs on the robot, as one number, to choose among motions.

What enters: a RetargetReport. What leaves: a cost, about 1 for each fault that is just acceptable.
"""

from __future__ import annotations

from lagoon.retarget.quality import RetargetReport
from lagoon.retarget.verdict import GRADES

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
