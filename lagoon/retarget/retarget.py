"""Human motion to robot motion: the main path, top to bottom.

What enters: a HumanMotion and a RobotSpec. What leaves: a RobotMotion at the control rate that starts
and ends in the four-legged stand, and a report about it.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import maximum_filter1d

from lagoon.errors import BadInputError
from lagoon.motion.human_motion import HumanMotion
from lagoon.motion.robot_motion import RobotMotion
from lagoon.motion.stance import stance_of
from lagoon.progress import Progress, silent
from lagoon.retarget import scaling
from lagoon.retarget.body import Body
from lagoon.retarget.config import IN_TURN, RetargetConfig
from lagoon.retarget.contacts import detect
from lagoon.retarget.cost import cost
from lagoon.retarget.demands import carried_by_the_body
from lagoon.retarget.fix import Changes, find
from lagoon.retarget.ground import keep_above, settle_on_floor, stand_exactly, touching
from lagoon.retarget.ik import WholeBodyIK, softened
from lagoon.retarget.kinematics import Kinematics, self_collisions
from lagoon.retarget.morphology import Supports, choose_supports
from lagoon.retarget.motion import motion_targets
from lagoon.retarget.parts import SHORTEST_END, SHORTEST_PART, parts_of, told
from lagoon.retarget.quality import RetargetReport, measure
from lagoon.retarget.soften import soften
from lagoon.retarget.timeline import Timeline, add_lead
from lagoon.retarget.verdict import GRADES, NOT_TRACKABLE, TRACKABLE
from lagoon.robot import RobotSpec

Array = NDArray[np.float64]

CLEARLY = 0.8
"""A motion that changes its map must cost less than this share of one that keeps it, and less by at least CHEAPER."""
CHEAPER = 1.0
SLOWER = (0.8, 0.6)
"""Speeds tried in turn where a motion is not trackable at the person's own; taken if the grade gets better."""
HELPED_BY_TIME = ("torque", "pressure", "friction", "speed")
"""What may become easier with more time; a flight does not."""
TOUCH_ROUNDS = 2
"""Times that where shapes touched the clip is solved again with these kept apart."""
TOUCH_MARGIN = 0.5
"""Time before and after a touch that is solved again [s]."""
SOFTER = 1.7
"""Smoothing of the stretches of a clip that steps which are not trackable without it [control periods]."""
SOFT_MARGIN = 0.3
"""Time before and after such a stretch over which the smoothing fades in and out [s]."""
BALANCED = 0.012
"""Greatest distance of the pressure point from the feet [m] with which a robot on two feet is not likely to fall;
touching less is not worth more than that, or than a tenth more where it was more before."""


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
    first = at_best_speed(lambda speed: _at_speed(human, robot, config, speed, progress), config)
    if not config.fix:
        return first
    tried = itertools.count(1)

    def attempt(changes: Changes) -> tuple[RobotMotion, RetargetReport]:
        progress(0.0, f"fix, try {next(tried)}: {', '.join(changes.words())}")
        settings = replace(config, stance_width=config.stance_width * changes.stance)
        if changes.four_legged:
            settings = replace(settings, morphology="four_legged")
        return _at_speed(soften(human, changes.size, changes.jump), robot, settings, changes.speed, progress)

    return find(attempt, first, config)


def at_best_speed(
    attempt: Callable[[float], tuple[RobotMotion, RetargetReport]], config: RetargetConfig
) -> tuple[RobotMotion, RetargetReport]:
    """The motion without a fix, at most slowed down.

    Args:
        attempt: retargets at a share of the clip's speed.
        config: may give the speed.
    """
    if config.speed is not None:
        return attempt(config.speed)
    motion, report = attempt(1.0)
    for speed in SLOWER:
        if report.verdict.grade == TRACKABLE or not any(r.kind in HELPED_BY_TIME for r in report.verdict.reasons):
            break
        slow, slow_report = attempt(speed)
        if GRADES.index(slow_report.verdict.grade) < GRADES.index(report.verdict.grade):
            motion, report = slow, slow_report
    return motion, report


def _at_speed(
    human: HumanMotion, robot: RobotSpec, config: RetargetConfig, speed: float, progress: Progress
) -> tuple[RobotMotion, RetargetReport]:
    """In one map, or changing between hind feet and all fours where that is asked for or clearly better."""
    body = Body.of(human, 1.0 / robot.control_dt, speed)
    parts, whole = (), None
    if config.morphology == IN_TURN or (config.morphology == "auto" and stance_of(human.text) is None):
        parts = parts_of(body, config)
    if config.morphology != IN_TURN:
        supports = choose_supports(body, config.morphology, config.hand_height, human.text)
        whole = _in_maps([(body, supports)], supports, robot, config, speed, progress)
    elif not parts:
        raise BadInputError(
            "The person does not change between feet and all fours: retarget.morphology=in_turn needs at least "
            f"{SHORTEST_PART:.1f} s of each, {SHORTEST_END:.1f} s at its ends. Leave it out, or take another map."
        )
    if not parts:
        assert whole is not None
        return whole
    each = Supports(tuple(p.morphology for p in parts), tuple(p.start for p in parts), told(parts, body.fps))
    cut = [(body.part(p.start, p.stop), Supports((p.morphology,), (0,), each.reason)) for p in parts]
    changing = _in_maps(cut, each, robot, config, speed, progress)
    if whole is None or _is_clearly_cheaper(changing[1], whole[1]):
        return changing
    more = (
        f"; changed within the clip ({each.name}) it would cost {cost(changing[1]):.1f} instead of "
        f"{cost(whole[1]):.1f}, retarget.morphology=in_turn does it all the same"
    )
    return whole[0], replace(whole[1], morphology_reason=whole[1].morphology_reason + more)


def _is_clearly_cheaper(changing: RetargetReport, whole: RetargetReport) -> bool:
    no_worse = GRADES.index(changing.verdict.grade) <= GRADES.index(whole.verdict.grade)
    return no_worse and cost(changing) < min(CLEARLY * cost(whole), cost(whole) - CHEAPER)


def _in_maps(
    parts: list[tuple[Body, Supports]],
    supports: Supports,
    robot: RobotSpec,
    config: RetargetConfig,
    speed: float,
    progress: Progress,
) -> tuple[RobotMotion, RetargetReport]:
    """Retarget a clip that is one part, or several with the robot's own ways down and up between them."""
    fps, kin = 1.0 / robot.control_dt, Kinematics(robot)
    clips, smoothing, planted, off = [], 0.0, True, []
    for body, own in parts:
        if own.first.on_hands:
            body = body.turned(np.pi)
        contacts = detect(body, robot, own, config)
        scales = scaling.fit(body, robot, config, upright=own.first.rears_up)
        clips.append((motion_targets(body, contacts, scales, own, kin, config), own))
        smoothing, planted = max(smoothing, contacts.smoothing(config)), planted and contacts.planted
        off.append(carried_by_the_body(body))

    if len(parts) > 1:  # Nobody tumbles here, and the ways down and up are not to be smeared.
        smoothing = min(smoothing, config.smoothing_stepping)
    ik = WholeBodyIK(kin, config, fps)
    timeline = add_lead(clips, ik, config)
    off_feet = np.zeros(timeline.targets.num_frames, bool)
    for (start, stop), lies in zip(timeline.parts, off, strict=True):
        off_feet[start:stop] = lies
    return solve_timeline(timeline, ik, supports, smoothing, off_feet, speed, config, progress, hold=not planted)


def solve_timeline(
    timeline: Timeline,
    ik: WholeBodyIK,
    supports: Supports,
    smoothing: float,
    off_feet: NDArray[np.bool_] | None,
    speed: float,
    config: RetargetConfig,
    progress: Progress,
    hold: bool = False,
) -> tuple[RobotMotion, RetargetReport]:
    """Find the joints for a whole skill and measure it; again with the shapes that touch kept apart.

    Args:
        timeline: what is wanted.
        ik: the solver of the robot.
        supports: the body maps, for the report.
        smoothing: standard deviation of the last smoothing [control periods].
        off_feet: (T,) frames in which a person lies or kneels, if known.
        speed: share of the clip's speed, for the report.
        config: whether shapes are kept apart.
        progress: told the share done.
        hold: bring feet that step back to their places after the smoothing.
    """
    kin, robot, fps = ik.kin, ik.kin.robot, ik.fps

    def finished(solved: Array) -> tuple[RobotMotion, RetargetReport]:
        qpos = settle_on_floor(kin, solved, timeline.targets.contact, max(smoothing, 2.0))
        qpos = keep_above(kin, stand_exactly(qpos, timeline.first, timeline.last, timeline.hold, fps))
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
        report = measure(motion, robot, timeline.targets, supports.name, supports.reason, off_feet, speed)
        ways = [(a / fps, b / fps) for (_, a), (b, _) in itertools.pairwise(timeline.parts)]
        return motion, replace(report, ways=tuple(ways))

    def solve(again: NDArray[np.bool_] | None = None) -> tuple[RobotMotion, RetargetReport, Array]:
        solved = ik.solve(timeline.targets, timeline.first, smoothing, progress, hold, again)
        motion, report = finished(solved)
        if report.verdict.grade == NOT_TRACKABLE and hold:
            # Quick steps throw the balance; feet that slide a little more there may save it.
            hopeless = [(r.start, r.stop) for r in report.verdict.reasons if r.grade == NOT_TRACKABLE]
            softer = softened(solved, hopeless, SOFTER, SOFT_MARGIN * fps)
            other, other_report = finished(softer)
            if other_report.verdict.grade != NOT_TRACKABLE:
                return other, other_report, softer
        return motion, report, solved

    motion, report, solved = solve()
    apart = set[tuple[str, str]]()
    for _ in range(TOUCH_ROUNDS if config.keep_apart else 0):
        found = self_collisions(robot, solved) if report.self_collisions else []
        touches = {(a, b) for _, a, b in found}
        if touches <= apart:
            break
        apart |= touches
        ik.keep_apart(apart)
        near = np.zeros(len(solved))
        near[[t for t, _, _ in found]] = 1.0
        near = maximum_filter1d(near, 2 * round(TOUCH_MARGIN * fps) + 1, mode="constant")
        other, other_report, solved = solve(near > 0.5)
        if _is_worth_it(other_report, report):
            motion, report = other, other_report
    return motion, report


def _is_worth_it(apart: RetargetReport, before: RetargetReport) -> bool:
    """Tell whether a motion whose shapes were kept apart is the better one: it touches less and balances as well."""
    return (
        apart.self_collisions < before.self_collisions
        and GRADES.index(apart.verdict.grade) <= GRADES.index(before.verdict.grade)
        and apart.pressure_max <= max(1.1 * before.pressure_max, BALANCED)
    )
