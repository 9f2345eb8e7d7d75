"""Motion of an animal or of another robot on four legs to robot motion.

What enters: a QuadrupedMotion and a RobotSpec. What leaves: a RobotMotion at the control rate that starts and ends in
the four-legged stand, and the same report as for people.

Joint angles of another body say nothing here. What is kept: the trunk's attitude and way, each foot from its hip as a
share of the leg, and which feet carry when. The rest is the inverse kinematics' own, as for people. A clip that is
already under way at an end grows out of the stand there: strides and speed swell from nothing at the full cadence,
since a gait in slow motion does not balance.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter1d, median_filter

from lagoon.errors import BadInputError
from lagoon.motion.interpolate import interpolate
from lagoon.motion.quadruped_motion import LEGS, QuadrupedMotion
from lagoon.motion.robot_motion import RobotMotion
from lagoon.motion.rotations import (
    quat_conj,
    quat_continuous,
    quat_from_yaw,
    quat_mul,
    quat_normalize,
    quat_rotate,
    quat_rotate_inverse,
    quat_slerp,
    quat_yaw,
)
from lagoon.progress import Progress, silent
from lagoon.retarget.config import RetargetConfig
from lagoon.retarget.contacts import nearest_on, pin
from lagoon.retarget.ik import WholeBodyIK
from lagoon.retarget.kinematics import Kinematics
from lagoon.retarget.morphology import Morphology, Supports
from lagoon.retarget.quality import RetargetReport
from lagoon.retarget.retarget import at_best_speed, solve_timeline
from lagoon.retarget.targets import Targets, ease
from lagoon.retarget.timeline import add_lead
from lagoon.robot import RobotSpec

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

OWN_FEET = Morphology("quadruped", {}, (), LEGS, rears_up=False, own_feet=True)
"""The map of somebody who has four legs anyway."""
LONGEST = 98.0
"""Percentile over the frames of the distance from hip to foot that is made as long as the robot's leg in a crouch."""
LOW = 0.08
"""A foot lower than this share of the leg above its own lowest level touches the floor."""
SLIDING = 0.03
"""Below this share of the leg the lowest foot touches the floor, however fast, if no other does."""
SLOW, SLOWEST = 0.35, 0.3
"""It does so while it is slower than this share of its fast moments, or than this [m/s]."""
UNDER_WAY = 0.12
"""An end at which the trunk is faster than this [m/s], or one foot is up, is in the middle of a motion."""
SWELL = 0.8
"""Time over which a clip that is under way grows out of the stand [s], and at most a third of the clip."""
SWELL_SPEED = 1.2
"""Slow enough for an acceleration no greater than this [m/s^2]."""
STANDING = 0.02
"""Below this share of the clip all feet carry."""
SMOOTHING = 1.5
"""Standard deviation of the smoothing over time [control periods]: a trot has five steps a second."""


def retarget_quadruped(
    animal: QuadrupedMotion, robot: RobotSpec, config: RetargetConfig, progress: Progress | None = None
) -> tuple[RobotMotion, RetargetReport]:
    """Turn what a four-legged body does into what the robot should do.

    Args:
        animal: T frames at any rate.
        robot: the robot.
        config: weights and durations; the speed if it is given.
        progress: told the share done.

    Returns:
        The motion at ``1 / robot.control_dt`` frames per second with the stretches stand, lead_in, motion, lead_out,
        stand; and its quality.

    Raises:
        BadInputError: a body map for people is asked for, or a fix, which has no remedies for animals.
    """
    if config.morphology not in ("auto", "four_legged"):
        raise BadInputError(
            f"retarget.morphology={config.morphology} maps a person; this motion is a quadruped's own. Leave it out."
        )
    if config.fix:
        raise BadInputError(
            "retarget.fix changes the motion of people only; this one is a quadruped's. Type retarget.speed=0.8 "
            "instead."
        )
    progress = progress or silent
    return at_best_speed(lambda speed: _at_speed(animal, robot, config, speed, progress), config)


def _at_speed(
    animal: QuadrupedMotion, robot: RobotSpec, config: RetargetConfig, speed: float, progress: Progress
) -> tuple[RobotMotion, RetargetReport]:
    fps = 1.0 / robot.control_dt
    kin = Kinematics(robot)
    gait = Gait.of(animal, robot, fps, speed)
    targets, why = gait_targets(gait, kin, config)
    supports = Supports((OWN_FEET,), (0,), why)
    ik = WholeBodyIK(kin, config, fps)
    timeline = add_lead([(targets, supports)], ik, config)
    return solve_timeline(timeline, ik, supports, SMOOTHING, None, speed, config, progress)


@dataclass(frozen=True)
class Gait:
    """A clip at the control rate, measured; T frames, F legs in RobotSpec order."""

    fps: float
    middle: Array
    """(T, 3) middle of the hips in world [m]."""
    trunk: Array
    """(T, 4) wxyz."""
    hip_b: Array
    """(F, 3) hips from their middle, in the trunk [m]."""
    foot_b: Array
    """(T, F, 3) feet from their hips, in the trunk [m]."""
    touch: Mask
    """(T, F) the foot is on the floor."""
    lowest: Array
    """(T,) height of the lowest foot above the floor [m], 0 unless in flight."""

    @staticmethod
    def of(animal: QuadrupedMotion, robot: RobotSpec, fps: float, speed: float = 1.0) -> Gait:
        """Resample and measure.

        Args:
            animal: the motion.
            robot: whose legs give the order.
            fps: wanted rate [Hz].
            speed: 0.5 makes everything take twice as long.
        """
        known = np.arange(animal.num_frames) / (animal.fps * speed)
        times = np.arange(int(np.floor(known[-1] * fps + 1e-9)) + 1) / fps
        pos = interpolate(animal.joint_pos_w, known, times)
        trunk = quat_normalize(interpolate(quat_continuous(animal.trunk_quat_w), known, times))
        legs = pos.reshape(len(pos), len(LEGS), 3, 3)[:, [LEGS.index(leg.name) for leg in robot.legs]]
        hips, feet = legs[:, :, 0], legs[:, :, 2]
        middle = hips.mean(axis=1)
        hip_b = np.median(quat_rotate_inverse(trunk[:, None], hips - middle[:, None]), axis=0)
        length = float(np.median(np.linalg.norm(np.diff(legs, axis=2), axis=-1).sum(axis=-1)))
        touch, lowest = _contacts(feet, length, fps)
        return Gait(fps, middle, trunk, hip_b, quat_rotate_inverse(trunk[:, None], feet - hips), touch, lowest)

    @property
    def reach(self) -> Array:
        """(F,) how long each leg gets [m]."""
        return np.percentile(np.linalg.norm(self.foot_b, axis=-1), LONGEST, axis=0)


def _contacts(feet: Array, length: float, fps: float) -> tuple[Mask, Array]:
    """Which of (T, F, 3) feet touch the floor, and how high the lowest one flies (T,) [m]."""
    height = feet[..., 2] - np.percentile(feet[..., 2], 2, axis=0)
    pace = np.linalg.norm(np.gradient(feet, axis=0), axis=-1) * fps
    gate = np.maximum(SLOW * np.percentile(pace, 90, axis=0), SLOWEST)
    touch = median_filter((height < LOW * length) & (pace < gate), size=(3, 1), mode="nearest")
    lowest = np.maximum(height.min(axis=1), 0.0)
    # A foot that is fast and yet on the floor carries if none else does; a hop is higher than that.
    carried = ~touch.any(axis=1) & (lowest < SLIDING * length)
    touch[carried, height[carried].argmin(axis=1)] = True
    return touch, np.where(touch.any(axis=1) | (lowest < LOW * length), 0.0, lowest)


def gait_targets(gait: Gait, kin: Kinematics, config: RetargetConfig) -> tuple[Targets, str]:
    """What the robot should do in the clip, and in words how it was made."""
    robot, frames = kin.robot, len(gait.middle)
    scale = config.crouch_extension * kin.longest_leg / gait.reach
    size = float(scale.mean())
    swell, told = _swelling(gait, size)

    # The way over the floor, piece by piece, so that a share of it is a shorter way and not another place.
    yaw = np.unwrap(quat_yaw(gait.trunk))
    step = np.diff(gait.middle, axis=0) * size
    ahead = quat_rotate(quat_from_yaw(-yaw[:-1]), step)
    between = 0.5 * (swell[1:] + swell[:-1])
    turned = np.concatenate([[0.0], np.cumsum(between * np.diff(yaw))])
    way = np.concatenate(
        [np.zeros((1, 2)), np.cumsum(between[:, None] * quat_rotate(quat_from_yaw(turned[:-1]), ahead)[:, :2], axis=0)]
    )
    level = quat_mul(quat_conj(quat_from_yaw(yaw)), gait.trunk)
    trunk = quat_mul(quat_from_yaw(turned), quat_slerp(np.array([1.0, 0.0, 0.0, 0.0]), level, swell))
    trunk = quat_continuous(trunk)
    trunk = quat_normalize(gaussian_filter1d(trunk, SMOOTHING, axis=0, mode="nearest"))

    stand = kin.stand()
    still_b, knees_b = kin.points_b(stand)
    hips = np.array([np.add(leg.hip_pos_b, leg.thigh_offset) for leg in robot.legs])
    foot_b = hips + scale[:, None] * gait.foot_b
    foot_b = still_b + swell[:, None, None] * (foot_b - still_b)
    foot_b = gaussian_filter1d(foot_b, SMOOTHING, axis=0, mode="nearest")

    touch = gait.touch | (swell < STANDING)[:, None]
    feet = quat_rotate(trunk[:, None], foot_b)
    floor = float(kin.feet(stand)[:, 2].mean())
    height = floor + swell * size * gait.lowest - feet[:, :, 2].min(axis=1)
    height = gaussian_filter1d(height, 4.0, axis=0, mode="nearest")
    feet[..., :2] += way[:, None] + stand[:2]
    feet[..., 2] += height[:, None]
    feet = _placed(feet, touch, floor)
    feet[..., :2] += (kin.feet(stand)[:, :2] - feet[0, :, :2]).mean(axis=0)  # The robot begins at the origin.
    return Targets(
        base_quat=trunk,
        base_height=height,
        foot_w=feet,
        grip=_grip(touch),
        foot_b=foot_b,
        knee_b=np.repeat(knees_b[None], frames, axis=0),
        knee_on=np.zeros((frames, len(robot.legs))),
        contact=touch,
        support=_support(feet, touch),
        still=np.zeros(frames),
        rest=np.repeat(robot.default_joint_pos[None], frames, axis=0),
        pull=np.full(frames, config.weight_posture),
    ), f"quadruped: its own legs at {size:.0%} of their size{told}"


def _swelling(gait: Gait, size: float) -> tuple[Array, str]:
    """(T,) share of the clip in [0, 1]: below 1 where it grows out of the stand or back into it; and in words, why."""
    frames = len(gait.middle)
    speed = size * np.linalg.norm(np.gradient(gait.middle, axis=0), axis=1) * gait.fps
    swell, told = np.ones(frames), []
    for name, end in (("start", slice(None)), ("end", slice(None, None, -1))):
        pace = float(speed[end][:5].mean())
        if pace < UNDER_WAY and gait.touch[end][:3].all():
            continue
        count = min(int(max(SWELL, pace / SWELL_SPEED) * gait.fps), frames // 3)
        swell[end][:count] *= np.concatenate([[0.0], ease(count - 1)]) if count > 1 else 0.0
        told.append(name)
    return swell, f"; it is under way at its {' and '.join(told)}, where it grows out of the stand" if told else ""


def _placed(feet: Array, touch: Mask, floor: float) -> Array:
    """Feet in contact on the floor where they stand on average; frames beside a contact aim at its place."""
    placed = feet.copy()
    for k in range(feet.shape[1]):
        if touch[:, k].any():
            placed[:, k, :2] = pin(feet[:, k, :2], touch[:, k])[nearest_on(touch[:, k])]
        placed[:, k, 2] = floor
    return placed


def _grip(touch: Mask) -> Array:
    """(T, F) 1 in contact, 0 in the air but for the frame before and after."""
    beside = np.zeros(touch.shape)
    beside[1:] = np.maximum(beside[1:], 0.5 * touch[:-1])
    beside[:-1] = np.maximum(beside[:-1], 0.5 * touch[1:])
    return np.where(touch, 1.0, beside)


def _support(feet: Array, touch: Mask) -> Array:
    """(T, 2) middle of the feet in contact [m]; flight is bridged by a straight line."""
    known = np.flatnonzero(touch.any(axis=1))
    if not len(known):
        return feet[:, :, :2].mean(axis=1)
    middle = np.array([feet[t, touch[t], :2].mean(axis=0) for t in known])
    moments = np.arange(len(feet))
    return np.stack([np.interp(moments, known, middle[:, axis]) for axis in range(2)], axis=1)
