"""The person's motion as targets for the robot, without lead-in and lead-out.

What enters: a Body, Contacts, Scales and Supports. What leaves: Targets in the robot's world, in
which the robot stands at the origin facing +X.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter1d

from lagoon.motion.rotations import (
    quat_continuous,
    quat_from_axis_angle,
    quat_from_matrix,
    quat_mul,
    quat_to_matrix,
)
from lagoon.retarget.body import Body
from lagoon.retarget.config import RetargetConfig
from lagoon.retarget.contacts import Contacts, Mask, nearest_on, pin
from lagoon.retarget.kinematics import Kinematics
from lagoon.retarget.morphology import Morphology, Supports
from lagoon.retarget.scaling import Scales
from lagoon.retarget.targets import Targets

Array = NDArray[np.float64]

QUARTER_TURN = np.array([np.sqrt(0.5), 0.0, -np.sqrt(0.5), 0.0])
"""wxyz, -90 degrees about y: lays a base's +X along the spine and its belly forward."""
FOOT_LANDING = 10
"""Frames over which a foot is led to its place; the person's foot is on its way there anyway."""
ARM_LANDING = 15
"""The same for a lowered arm that becomes a front leg, which must come from further."""
NARROW_HIP = 0.4
"""Resting inward turn of the hind hips in clips that step [rad]."""
SETTLED_FRAMES = 10
"""First and last frames of a clip in which every standing leg is on the floor, so that the lead can join."""
BRIEF_FRAMES = 15
"""A foot that lifts within so many frames of a clip's end, and is down again after a few, steps where it need not."""


def motion_targets(
    body: Body, contacts: Contacts, scales: Scales, supports: Supports, kin: Kinematics, config: RetargetConfig
) -> Targets:
    """Map trunk, limbs and contacts; heights, places and smoothing as docs/retarget.md tells."""
    sigma, morphology = contacts.smoothing(config), supports.first
    base_quat = _base_orientation(body, supports, contacts, sigma, config)
    turn = quat_to_matrix(base_quat)
    base = scales.leg * body.middle("hip") - turn @ _hind_middle_b(kin)
    foot_b, knee_b, knee_on = _limb_shapes(body, contacts, scales, morphology, kin, config, turn)
    foot_b, knee_b = (gaussian_filter1d(x, sigma, axis=0, mode="nearest") for x in (foot_b, knee_b))

    feet = base[:, None] + np.einsum("tij,tfj->tfi", turn, foot_b)
    floor = kin.feet(kin.stand())[:, 2].mean()
    # The lowest leg touches the floor, or hangs above it as high as the person flies.
    lift = floor + scales.leg * contacts.lowest - feet[:, :, 2].min(axis=1)
    height = gaussian_filter1d(base[:, 2] + lift, max(sigma, 4.0), axis=0, mode="nearest")
    feet[:, :, 2] += (height - base[:, 2])[:, None]

    touch, slow = _settle_ends(contacts, supports, kin)
    width = config.stance_width if morphology.rears_up else 1.0
    feet = _place_feet(feet, touch, slow, contacts, kin, floor, morphology.anchors(kin.robot), width)
    grip = np.stack([_grip(touch[:, k], morphology, kin, k) for k in range(touch.shape[1])], axis=1)
    support = _support(feet, touch)
    frames = body.num_frames
    rest = np.where(
        supports.on_hands(frames)[:, None],
        _resting(kin, morphology.rears_up, True, contacts.planted),
        _resting(kin, morphology.rears_up, False, contacts.planted),
    )
    return Targets(
        base_quat=base_quat,
        base_height=height,
        foot_w=feet,
        grip=grip,
        foot_b=foot_b,
        knee_b=knee_b,
        knee_on=np.repeat(knee_on[None], frames, axis=0),
        contact=touch,
        support=support,
        still=np.zeros(frames),
        rest=rest,
        pull=np.full(frames, config.weight_posture),
    )


def _resting(kin: Kinematics, rears_up: bool, on_hands: bool, planted: bool) -> Array:
    """(J,) resting joint angles [rad] on the feet or on the hands."""
    rest = kin.robot.default_joint_pos.copy()
    if rears_up:
        # The stand's hind legs hang down from a base that is turned by a quarter.
        rest[kin.leg_joints[kin.hind, 1]] += np.pi / 2
        if on_hands:
            # Head down, the front legs point where the head does.
            rest[kin.leg_joints[kin.front, 1]] -= np.pi / 2
        if not planted:
            # Upright, the hips turn about the vertical and two turns bring a foot to the middle. The
            # inward one is also how a foot comes to the middle on four legs, so the lead can join it.
            for k in kin.hind:
                rest[kin.leg_joints[k, 0]] -= NARROW_HIP if kin.robot.legs[k].is_left else -NARROW_HIP
    return rest


def _base_orientation(
    body: Body, supports: Supports, contacts: Contacts, sigma: float, config: RetargetConfig
) -> Array:
    """(T, 4) wxyz. Upright: the spine is the base's +X. Four-legged: the trunk's usual attitude is level."""
    quat = quat_continuous(quat_from_matrix(body.trunk))
    if supports.first.rears_up:
        if contacts.planted and supports.first.on_hands:
            quat = _limit_tilt(quat, np.pi - body.tilt, config.max_tilt, pole=-1.0)
        elif contacts.planted:
            quat = _limit_tilt(quat, body.tilt, config.max_tilt)
        quat = quat_mul(quat, QUARTER_TURN)
    else:
        # Someone on hands and knees has a level spine, which is a level base; someone who stands has not.
        if np.median(body.tilt) > np.radians(45.0):
            quat = quat_mul(quat, QUARTER_TURN)
        up = quat_to_matrix(quat)[..., 2]
        tilt = np.arccos(np.clip(up[:, 2], -1.0, 1.0))
        quat = _limit_tilt(quat, tilt, config.max_tilt_four_legged)
    quat = gaussian_filter1d(quat_continuous(quat), sigma, axis=0, mode="nearest")
    return quat / np.linalg.norm(quat, axis=1, keepdims=True)


def _limit_tilt(quat: Array, tilt: Array, most: float, pole: float = 1.0) -> Array:
    """Scale a clip's tilts from up (pole 1) or down (-1) so that the largest is ``most`` [rad]; the heading stays."""
    largest = float(tilt.max())
    if largest <= most:
        return quat
    up = quat_to_matrix(quat)[..., 2]
    axis = np.cross(up, np.array([0.0, 0.0, pole]))
    axis /= np.maximum(np.linalg.norm(axis, axis=1, keepdims=True), 1e-9)
    back = tilt * (1.0 - most / largest)
    return quat_mul(quat_from_axis_angle(axis, back), quat)


def _hind_middle_b(kin: Kinematics) -> Array:
    """(3,) middle of the hind thigh joints in the base frame [m]; it sits where the person's hips are."""
    return np.mean([_thigh_b(kin, k) for k in kin.hind], axis=0)


def _thigh_b(kin: Kinematics, k: int) -> Array:
    leg = kin.robot.legs[k]
    return np.add(leg.hip_pos_b, leg.thigh_offset)


def _limb_shapes(
    body: Body,
    contacts: Contacts,
    scales: Scales,
    morphology: Morphology,
    kin: Kinematics,
    config: RetargetConfig,
    turn: Array,
) -> tuple[Array, Array, Array]:
    """Feet (T, F, 3) and knees (T, F, 3) in the base frame [m], and which knees count (F,)."""
    legs = kin.robot.legs
    foot_b = np.zeros((body.num_frames, len(legs), 3))
    knee_b = np.zeros_like(foot_b)
    knee_on = np.array([float(leg.name in morphology.elbow_legs and morphology.rears_up) for leg in legs])
    stance = 1.0
    if morphology.rears_up and not contacts.planted:
        stance = config.stance_width * (config.stance_handstand if contacts.hands_carry else config.stance_stepping)
    for k, leg in enumerate(legs):
        root, middle, end = (body.joints[name] for name in morphology.limbs[leg.name])
        thigh = _thigh_b(kin, k)
        scale = scales.arm if leg.is_front else scales.leg
        # Directions are the person's, seen from the robot's base.
        foot_b[:, k] = thigh + scale * np.einsum("tji,tj->ti", turn, end - root)
        upper = np.einsum("tji,tj->ti", turn, middle - root)
        knee_b[:, k] = thigh + leg.thigh_length * upper / np.maximum(np.linalg.norm(upper, axis=1), 1e-6)[:, None]
        if not leg.is_front:
            # One point foot has to be under the middle of the body when it carries alone.
            foot_b[:, k, 1] -= (1.0 - stance) * thigh[1]
    return foot_b, knee_b, knee_on


def _settle_ends(contacts: Contacts, supports: Supports, kin: Kinematics) -> tuple[Mask, Mask]:
    """Contacts with every standing leg on the floor in the first and last frames."""
    touch, slow = contacts.touch.copy(), contacts.slow.copy()
    ends = ((slice(None, SETTLED_FRAMES), supports.first), (slice(-SETTLED_FRAMES, None), supports.last))
    for frames, morphology in ends:
        for k, leg in enumerate(kin.robot.legs):
            if leg.name in morphology.stands_on:
                touch[frames, k] = True
                if morphology.rears_up:  # On four legs an arm may gesture at once.
                    ahead = slice(None, None, 1 if frames.start is None else -1)
                    _bridge(touch[ahead, k], slow[ahead, k])
    return touch, slow


def _bridge(touch: Mask, slow: Mask) -> None:
    """Leave out a step that a clip begins with, in place: a foot that hardly rested before is where it rests next.

    The lead puts it there, which a robot can do at its own pace.
    """
    lifts = int(touch.argmin())
    gap = touch[lifts : lifts + SETTLED_FRAMES + 1]
    brief = lifts <= BRIEF_FRAMES or not slow[:lifts].any()
    if not touch[lifts] and gap.any() and brief:
        slow[:lifts] = False
        touch[lifts : lifts + int(gap.argmax())] = True


def _place_feet(
    feet: Array,
    touch: Mask,
    slow: Mask,
    contacts: Contacts,
    kin: Kinematics,
    floor: float,
    anchors: list[int],
    width: float,
) -> Array:
    """Put feet in contact on the floor, hold slow ones in place, and bring the clip to the robot's origin."""
    stand = kin.feet(kin.stand())
    placed = feet.copy()
    for k in range(feet.shape[1]):
        placed[:, k, :2] = pin(feet[:, k, :2], touch[:, k], slow[:, k])
    # The person starts where the robot stands: the feet that carry share their middle.
    placed[:, :, :2] += (stand[anchors, :2] - placed[0, anchors, :2]).mean(axis=0)
    if contacts.planted:
        for k in range(feet.shape[1]):
            placed[touch[:, k], k, :2] = stand[k, :2] * np.array([1.0, width])
    for k in range(feet.shape[1]):
        # Frames beside a contact already aim at its place, so that the grip can fade in and out there.
        if touch[:, k].any():
            placed[:, k, :2] = placed[nearest_on(touch[:, k]), k, :2]
        placed[:, k, 2] = floor
    return placed


def _grip(touch: Mask, morphology: Morphology, kin: Kinematics, k: int) -> Array:
    """(T,) 1 in contact, fading to 0 on both sides over the time a foot takes to land."""
    if not touch.any():
        return np.zeros(len(touch))
    arm_stands = kin.robot.legs[k].is_front and not morphology.rears_up
    fade = ARM_LANDING if arm_stands else FOOT_LANDING
    away = np.abs(np.arange(len(touch)) - nearest_on(touch))
    u = np.clip(1.0 - away / (fade + 1.0), 0.0, 1.0)
    return u**3 * (10.0 + u * (-15.0 + 6.0 * u))


def _support(feet: Array, touch: Mask) -> Array:
    """(T, 2) middle of the feet in contact [m]; flight is bridged by a straight line."""
    frames = len(feet)
    known = np.flatnonzero(touch.any(axis=1))
    middle = np.zeros((frames, 2))
    for t in known:
        middle[t] = feet[t, touch[t], :2].mean(axis=0)
    for axis in range(2):
        middle[:, axis] = np.interp(np.arange(frames), known, middle[known, axis])
    return middle
