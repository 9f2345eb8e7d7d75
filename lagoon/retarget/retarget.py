"""Human motion to robot motion: the main path, top to bottom.

What enters: a HumanMotion and a RobotSpec. What leaves: a RobotMotion at the control rate that starts
and ends in the four-legged stand, and a report about it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lagoon.motion.human_motion import HumanMotion
from lagoon.motion.robot_motion import RobotMotion
from lagoon.progress import Progress, silent
from lagoon.retarget import scaling
from lagoon.retarget.body import Body
from lagoon.retarget.config import RetargetConfig
from lagoon.retarget.contacts import detect
from lagoon.retarget.demands import carried_by_the_body
from lagoon.retarget.ground import settle_on_floor, stand_exactly, touching
from lagoon.retarget.ik import WholeBodyIK
from lagoon.retarget.kinematics import Kinematics
from lagoon.retarget.lead import add_lead
from lagoon.retarget.morphology import choose_morphology
from lagoon.retarget.motion import motion_targets
from lagoon.retarget.quality import RetargetReport, measure
from lagoon.retarget.verdict import GRADES, TRACKABLE
from lagoon.robot import RobotSpec

Array = NDArray[np.float64]

SLOWER = (0.8, 0.6)
"""Speeds tried in turn where a motion is not trackable at the person's own; taken if the grade gets better."""
HELPED_BY_TIME = ("torque", "pressure", "friction", "speed")
"""What may become easier with more time; a flight does not."""


def retarget(
    human: HumanMotion, robot: RobotSpec, config: RetargetConfig, progress: Progress | None = None
) -> tuple[RobotMotion, RetargetReport]:
    """Turn what a person does into what the robot should do.

    Args:
        human: T frames at any rate; needs hips, knees, ankles, feet, shoulders, elbows and wrists.
        robot: the robot.
        config: weights, durations and the wish for a body map.
        progress: told the share done.

    Returns:
        The motion at ``1 / robot.control_dt`` frames per second with the stretches stand, lead_in,
        motion, lead_out, stand; and its quality.

    Raises:
        BadInputError: the human motion lacks a joint, or its limbs have no length.
    """
    progress = progress or silent
    if config.speed is not None:
        return _at_speed(human, robot, config, config.speed, progress)
    motion, report = _at_speed(human, robot, config, 1.0, progress)
    for speed in SLOWER:
        if report.verdict.grade == TRACKABLE or not any(r.kind in HELPED_BY_TIME for r in report.verdict.reasons):
            break
        slow, slow_report = _at_speed(human, robot, config, speed, progress)
        if GRADES.index(slow_report.verdict.grade) < GRADES.index(report.verdict.grade):
            motion, report = slow, slow_report
    return motion, report


def _at_speed(
    human: HumanMotion, robot: RobotSpec, config: RetargetConfig, speed: float, progress: Progress
) -> tuple[RobotMotion, RetargetReport]:
    fps = 1.0 / robot.control_dt
    kin = Kinematics(robot)

    body = Body.of(human, fps, speed)
    morphology, reason = choose_morphology(body, config.morphology, config.hand_height)
    contacts = detect(body, robot, morphology, config)
    scales = scaling.fit(body, robot, config, upright=morphology.rears_up)
    clip = motion_targets(body, contacts, scales, morphology, kin, config)

    ik = WholeBodyIK(kin, config, fps)
    timeline = add_lead(clip, morphology, ik, config)
    smoothing = contacts.smoothing(config)
    qpos = ik.solve(timeline.targets, timeline.first, smoothing, progress)

    qpos = settle_on_floor(kin, qpos, timeline.targets.contact, max(smoothing, 2.0))
    qpos = stand_exactly(qpos, timeline.first, timeline.last, timeline.hold, fps)
    motion = RobotMotion(
        fps=fps,
        robot=robot.name,
        joint_names=robot.joint_names,
        root_pos_w=qpos[:, :3],
        root_quat_w=qpos[:, 3:7],
        joint_pos=qpos[:, kin.address.joint_qpos],
        foot_contact=touching(kin, qpos, timeline.targets.contact),
        segment_names=timeline.names,
        segment_starts=timeline.starts,
    )
    start = int(timeline.starts[timeline.names.index("motion")])
    off_feet = np.zeros(motion.num_frames, bool)
    off_feet[start : start + body.num_frames] = carried_by_the_body(body)
    return motion, measure(motion, robot, timeline.targets, morphology.name, reason, off_feet, speed)
