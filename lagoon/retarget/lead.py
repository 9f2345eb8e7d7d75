"""From the four-legged stand into the clip and back out of it.

What enters: the clip's Targets and the robot. What leaves: Targets that begin in the stand and end where the clip
begins. Rearing up is quasi-static: step the hind feet to where the clip wants
them, shift the weight back until it is over the hind feet, then pitch up. A handstand is the same over the front
feet, head down. Coming down is the same backwards.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lagoon.motion.rotations import (
    quat_from_axis_angle,
    quat_from_yaw,
    quat_mul,
    quat_rotate,
)
from lagoon.retarget.config import RetargetConfig
from lagoon.retarget.ik import WholeBodyIK
from lagoon.retarget.kinematics import Kinematics
from lagoon.retarget.morphology import Morphology
from lagoon.retarget.targets import Targets, blend, concatenate, ease

Array = NDArray[np.float64]

LEAD_PULL = 0.02
"""Weight of the joint path through the lead: it keeps one branch on the way up and the same on the way down."""
SHIFT_SECONDS = 0.6
"""Time on both feet before the first of them lifts, in which the weight shifts to the other [s]."""
LIFT_OFF = 10
"""Frames over which the feet that do not carry later let go of the floor; they carry in the first third."""
STEP_NEEDED = 0.01
"""A foot nearer than this to its place does not step [m]."""
STEP_PRICE = 40.0
"""Cost of each metre that a foot has to step on four legs, against the square of the trunk's turn [1/m]. A trunk that
is turned by half a radian over feet that stand as on four legs is turned back on the way down, and no foot steps."""
TURN_PRICE = 3.0
"""Cost of turning the trunk against the feet on the way up or down [1/rad^2]."""
FARTHEST_TURN = 1.2
"""Largest such turn [rad]."""


def frames_in(seconds: float, fps: float) -> int:
    """Frames that a time [s] lasts, at least one."""
    return max(1, round(seconds * fps))


def lead(motion: Targets, morphology: Morphology, ik: WholeBodyIK, config: RetargetConfig) -> tuple[Targets, Array]:
    """Targets from the stand to the first frame of ``motion``, and the stand's configuration there."""
    kin = ik.kin
    goal = motion.frame(0)
    stand_qpos = _stand_below(goal, morphology, kin)
    stand = _standing(stand_qpos, goal, kin)
    goal_qpos = ik.pose(goal, _guess(stand_qpos, goal, kin))
    pieces = [*_steps(stand, goal, morphology, kin, config, ik.fps)]
    placed = pieces[-1].frame(-1) if pieces else stand
    if morphology.rears_up:
        pieces += _rear_up(placed, stand_qpos, goal, goal_qpos, morphology, ik, config)
        pieces.append(goal.frame(0, _ready(motion, morphology, kin, config, ik.fps)))
    else:
        pieces.append(blend(placed, goal, frames_in(config.blend_seconds, ik.fps)))
    return concatenate(pieces), stand_qpos


def _ready(motion: Targets, morphology: Morphology, kin: Kinematics, config: RetargetConfig, fps: float) -> int:
    """Frames of standing in the clip's first pose: more where a foot lifts at once, as the weight shifts first."""
    carries = motion.contact[:, morphology.anchors(kin.robot)].all(axis=1)
    lifts = motion.num_frames if carries.all() else int(carries.argmin())
    return max(frames_in(config.ready_seconds, fps), frames_in(SHIFT_SECONDS, fps) - lifts)


def _stand_below(goal: Targets, morphology: Morphology, kin: Kinematics) -> Array:
    """The stand (nq,) whose carrying feet are centred where the goal's are, facing the way the goal faces."""
    stand, anchors = kin.stand(), morphology.anchors(kin.robot)
    # Upright, the belly (base -Z) faces forward; head down the back does; on four legs the head (base +X).
    upended = np.array([0.0, 0.0, 1.0 if morphology.on_hands else -1.0])
    ahead = upended if morphology.rears_up else np.array([1.0, 0.0, 0.0])
    forward = quat_rotate(goal.base_quat[0], ahead)
    heading = float(np.arctan2(forward[1], forward[0]))
    if morphology.rears_up and not morphology.on_hands:
        left, right = kin.feet(stand)[anchors, :2]
        heading = heading_for(goal.foot_w[0, anchors, :2], left - right, heading)
    yaw = quat_from_yaw(heading)
    middle = kin.feet(stand)[anchors, :2].mean(axis=0)
    stand[3:7] = yaw
    stand[:2] = goal.foot_w[0, anchors, :2].mean(axis=0) - quat_rotate(yaw, np.array([*middle, 0.0]))[:2]
    return stand


def heading_for(feet: Array, across: Array, trunk: float) -> float:
    """Heading of the four-legged stand [rad] below two feet: a compromise between their line and the trunk's heading.

    Args:
        feet: (2, 2) left and right foot in the ground plane [m].
        across: (2,) from right to left foot in the stand, at heading 0 [m].
        trunk: heading of the belly [rad].
    """
    wanted = feet[0] - feet[1]
    turns = np.linspace(-FARTHEST_TURN, FARTHEST_TURN, 481)
    c, s = np.cos(trunk + turns), np.sin(trunk + turns)
    has = np.stack([c * across[0] - s * across[1], s * across[0] + c * across[1]], axis=-1)
    step = 0.5 * np.linalg.norm(has - wanted, axis=-1)
    if step[len(step) // 2] < STEP_NEEDED:
        return trunk
    return trunk + float(turns[np.argmin(STEP_PRICE * step + TURN_PRICE * turns**2)])


def _standing(qpos: Array, goal: Targets, kin: Kinematics) -> Targets:
    """One frame of standing on four legs that solves to exactly ``qpos``."""
    feet = kin.feet(qpos)
    foot_b, knee_b = kin.points_b(qpos)
    return goal.with_(
        base_quat=qpos[None, 3:7],
        base_height=qpos[None, 2],
        foot_w=feet[None],
        grip=np.ones_like(goal.grip),
        foot_b=foot_b[None],
        knee_b=knee_b[None],
        knee_on=np.zeros_like(goal.knee_on),
        contact=np.ones_like(goal.contact),
        support=kin.com(qpos)[None, :2],
        still=np.zeros(1),
        rest=qpos[None, kin.address.joint_qpos],
        pull=np.full(1, LEAD_PULL),
    )


def _guess(stand: Array, goal: Targets, kin: Kinematics) -> Array:
    """Configuration near the goal from which its inverse kinematics converges."""
    guess = stand.copy()
    guess[3:7] = goal.base_quat[0]
    guess[2] = goal.base_height[0]
    guess[:2] = goal.support[0]
    guess[kin.address.joint_qpos] = goal.rest[0]
    return guess


def _steps(
    stand: Targets, goal: Targets, morphology: Morphology, kin: Kinematics, config: RetargetConfig, fps: float
) -> list[Targets]:
    """Step each foot that carries to its place in the clip, one after the other, on the other three."""
    pieces: list[Targets] = []
    now = stand
    for k in morphology.anchors(kin.robot):
        move = goal.foot_w[0, k] - now.foot_w[0, k]
        if np.linalg.norm(move[:2]) < STEP_NEEDED:
            continue
        contact = now.contact.copy()
        contact[0, k] = False
        support = now.foot_w[0, contact[0], :2].mean(axis=0)[None]
        shift = frames_in(0.6 * config.step_seconds, fps)
        pieces.append(blend(now, now.with_(support=support), shift))
        now = pieces[-1].frame(-1)
        count = frames_in(config.step_seconds, fps)
        u = ease(count)
        foot_w = np.repeat(now.foot_w, count, axis=0)
        foot_w[:, k] += u[:, None] * move
        # sin^2 leaves and meets the floor at rest.
        foot_w[:, k, 2] += config.step_height * np.sin(np.pi * u) ** 2
        swing = now.frame(0, count).with_(foot_w=foot_w, contact=np.repeat(contact, count, axis=0))
        pieces.append(swing)
        now = now.with_(foot_w=foot_w[-1:])
    return pieces


def _rear_up(
    placed: Targets,
    stand_qpos: Array,
    goal: Targets,
    goal_qpos: Array,
    morphology: Morphology,
    ik: WholeBodyIK,
    config: RetargetConfig,
) -> list[Targets]:
    """Sit back with four feet on the floor, then pitch up on the hind feet, then stand for a moment.

    For a handstand: lean forward, then pitch up on the front feet.
    """
    kin, fps = ik.kin, ik.fps
    carrying, free = (kin.front, kin.hind) if morphology.on_hands else (kin.hind, kin.front)
    middle = goal.foot_w[0, carrying, :2].mean(axis=0)[None]
    pitch = config.sit_pitch if morphology.on_hands else -config.sit_pitch
    tipped = quat_from_axis_angle(np.array([0.0, 1.0, 0.0]), pitch)
    sitting = placed.with_(base_quat=quat_mul(placed.base_quat, tipped), support=middle)
    sit_qpos = ik.pose(sitting, stand_qpos)
    sit_foot_b, sit_knee_b = kin.points_b(sit_qpos)
    # What was reached is asked for, so that nothing springs when the other feet let go.
    sitting = sitting.with_(
        base_quat=sit_qpos[None, 3:7],
        base_height=sit_qpos[None, 2],
        foot_b=sit_foot_b[None],
        knee_b=sit_knee_b[None],
        rest=sit_qpos[None, kin.address.joint_qpos],
    )
    sit = blend(placed, sitting, frames_in(config.sit_seconds, fps))

    # The free legs go from where they leave the floor to the clip's first pose in joint space.
    count = frames_in(config.rise_seconds, fps)
    rise = blend(sitting, goal, count)
    u = ease(count)
    joints = kin.address.joint_qpos
    foot_b, knee_b = rise.foot_b.copy(), rise.knee_b.copy()
    rest = sit_qpos[joints] + u[:, None] * (goal_qpos[joints] - sit_qpos[joints])
    for t in range(count):
        between = stand_qpos.copy()
        between[joints] = rest[t]
        foot_b[t], knee_b[t] = kin.points_b(between)
    contact = np.repeat(goal.contact, count, axis=0)
    grip = rise.grip.copy()
    fade = np.concatenate([1.0 - ease(min(LIFT_OFF, count)), np.zeros(max(count - LIFT_OFF, 0))])
    grip[:, free] = fade[:, None]
    contact[: LIFT_OFF // 3, free] = True
    grip[:, carrying] = 1.0
    knee_on = np.repeat(goal.knee_on, count, axis=0)
    pull = np.full(count, LEAD_PULL)
    rise = rise.with_(foot_b=foot_b, knee_b=knee_b, contact=contact, grip=grip, knee_on=knee_on, rest=rest, pull=pull)
    return [sit, rise]
