"""Which limb carries weight, from heights and speeds of the person's joints.

What enters: a Body. What leaves: Contacts, boolean masks over frames and legs, and helpers that turn
masks into stretches of frames.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter1d, median_filter

from lagoon.motion.stretches import stretches
from lagoon.retarget.body import Body
from lagoon.retarget.config import RetargetConfig
from lagoon.retarget.morphology import Supports
from lagoon.robot import RobotSpec

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

SIDES = ("left", "right")
STRETCHED = 0.5
"""An arm that is not raised stands, on four legs: its wrist lies this share of its length below the shoulder, or down
the spine; hands on the knees or in the lap are no gesture. The second counts while the feet stay, as in a bow whose
arms stay at the sides."""
PIVOT = 0.08
"""A robot's foot that would move less than this within one contact turns on its place [m]."""
SHUFFLE = 0.08
"""Feet that stay within this distance [m] of their mean place are planted."""
FALLING = 3.5
"""A body without contact falls: one whose hips sink or slow their rise by less than this is carried [m/s^2]."""
TIPTOE = 0.1
"""By a foot no higher than this [m]."""
TURNED_AWAY = 0.7
"""Feet that both turn farther than this [rad] are not planted, however near they stay: the person turns on the spot."""


@dataclass(frozen=True)
class Contacts:
    """T frames, F legs in RobotSpec order."""

    touch: Mask
    """(T, F) the foot is on the floor: its height is fixed."""
    slow: Mask
    """(T, F) it is on the floor and hardly moves: its place is fixed as well."""
    lowest: Array
    """(T,) height of the person's lowest contact point above the floor [m], 0 unless in flight."""
    planted: bool
    """Both human feet, in a handstand both hands, stay where they are for the whole clip."""
    hands_carry: bool
    """A hand touches the floor at some time."""

    def smoothing(self, config: RetargetConfig) -> float:
        """Standard deviation of the smoothing over time that suits such a clip [control periods]."""
        if self.planted:
            return config.smoothing_planted
        return config.smoothing_tumbling if self.hands_carry else config.smoothing_stepping


def detect(body: Body, robot: RobotSpec, supports: Supports, config: RetargetConfig) -> Contacts:
    """Find contacts by height; a generous speed gate leaves out feet that swing low.

    A tight gate on speed (0.5 m/s) calls a pivoting stance foot (up to 1.4 m/s) flight, which ruins kicks;
    the tight one only decides about pinning.
    """
    frames, morphology = body.num_frames, supports.first
    touch = np.zeros((frames, len(robot.legs)), bool)
    slow = np.zeros_like(touch)
    heights = np.full((frames, len(robot.legs)), np.inf)
    for k, leg in enumerate(robot.legs):
        end = morphology.limbs[leg.name][2]
        if end.endswith("ankle"):
            heights[:, k], speed = _sole(body, end.split("_")[0])
            touch[:, k] = heights[:, k] < config.foot_height
        else:
            heights[:, k] = body.joints[end][:, 2]
            touch[:, k] = heights[:, k] < config.hand_height
            heights[:, k] = np.maximum(heights[:, k] - config.hand_height, 0.0)
            speed = body.speed(end)
        touch[:, k] = median_filter(touch[:, k] & (speed < config.swing_speed), size=5, mode="nearest")
        slow[:, k] = touch[:, k] & median_filter(speed < config.pin_speed, size=5, mode="nearest")
    hind = [k for k, leg in enumerate(robot.legs) if not leg.is_front]
    _carry(body, touch, heights, hind)
    front = [k for k, leg in enumerate(robot.legs) if leg.is_front]
    carrying, others, end = (front, hind, "wrist") if supports.on_hands(frames).all() else (hind, front, "ankle")
    planted = bool(touch[:, carrying].mean() > 0.98) and all(_stays(body, f"{side}_{end}") for side in SIDES)
    planted = planted and (end == "wrist" or min(_turn(body, side) for side in SIDES) < TURNED_AWAY)
    if planted and morphology.rears_up:
        # Hands near the floor while both feet stand are a deep bend; the robot bends less and needs no hands.
        touch[:, others] = slow[:, others] = False
    if not planted:
        # A low foot that moves beside one that rests is on its way; alone it carries all the same, as in a pivot.
        touch &= slow | ~slow.any(axis=1, keepdims=True)
        touch = median_filter(touch, size=(5, 1), mode="nearest")
        slow &= touch
    hands_carry = bool(touch[:, front].any())
    lowest = heights.min(axis=1)
    lowest = np.where(touch.any(axis=1), 0.0, lowest)
    if not morphology.rears_up:
        _stand_on_resting_arms(body, robot, touch, slow, planted)
    return Contacts(touch, slow, lowest, planted, hands_carry)


def nearest_on(mask: Mask) -> NDArray[np.int64]:
    """(T,) for each frame the nearest frame in which a (T,) mask is True; needs at least one."""
    on = np.flatnonzero(mask)
    frames = np.arange(len(mask))
    after = np.clip(np.searchsorted(on, frames), 0, len(on) - 1)
    before = np.maximum(after - 1, 0)
    closer = np.where(np.abs(on[before] - frames) <= np.abs(on[after] - frames), before, after)
    return on[closer]


def _carry(body: Body, touch: Mask, heights: Array, feet: list[int]) -> None:
    """Let a foot carry where nothing touches and the person does not fall: on tiptoe, on a step, or drawn too high."""
    path = gaussian_filter1d(body.middle("hip")[:, 2], 2.0, mode="nearest")
    rise = np.gradient(np.gradient(path)) * body.fps**2
    for start, stop in stretches(touch.sum(axis=1) == 0):
        highest = heights[start:stop, feet].max(axis=0)
        lowest = int(highest.argmin())
        if np.median(rise[start:stop]) > -FALLING and highest[lowest] < TIPTOE:
            touch[start:stop, feet[lowest]] = True


def pin(path: Array, touch: Mask, slow: Mask | None = None) -> Array:
    """Hold each contact of a (T, 2) path at one place, the mean of its slow frames.

    A contact that moves farther than PIVOT slides: only its slow stretches are held, each at its own mean place. Frames
    without contact follow the path. Without ``slow`` every contact is held whole. What leads to the clip and away from
    it puts a foot anywhere, so at both ends of the clip a contact stays where it rests first and last.
    """
    pinned = path.copy()
    for start, stop in stretches(touch):
        inside, rests = path[start:stop], (touch if slow is None else slow)[start:stop]
        place = inside[rests].mean(axis=0) if rests.any() else inside.mean(axis=0)
        at_an_end = start == 0 or stop == len(path)
        if slow is None or np.linalg.norm(inside - place, axis=1).max() < PIVOT or (at_an_end and not rests.any()):
            pinned[start:stop] = place
            continue
        held = stretches(rests)
        for a, b in held:
            first = 0 if start == 0 and (a, b) == held[0] else a
            last = len(inside) if stop == len(path) and (a, b) == held[-1] else b
            pinned[start + first : start + last] = inside[a:b].mean(axis=0)
    return pinned


def _sole(body: Body, side: str) -> tuple[Array, Array]:
    """Height of a sole above its own lowest level [m] and speed of its slower end [m/s], (T,) each."""
    heights = []
    for joint in ("ankle", "foot"):
        z = body.joints[f"{side}_{joint}"][:, 2]
        # A foot that never comes down must not define its own floor.
        heights.append(z - np.clip(np.percentile(z, 2), -0.05, 0.16))
    speed = np.minimum(body.speed(f"{side}_ankle"), body.speed(f"{side}_foot"))
    return np.maximum(np.minimum(*heights), 0.0), speed


def _stays(body: Body, joint: str) -> bool:
    place = body.joints[joint][:, :2]
    return bool(np.linalg.norm(place - place.mean(axis=0), axis=1).max() < SHUFFLE)


def _turn(body: Body, side: str) -> float:
    """Range of the heading of a foot [rad]."""
    sole = body.joints[f"{side}_foot"] - body.joints[f"{side}_ankle"]
    return float(np.ptp(np.unwrap(np.arctan2(sole[:, 1], sole[:, 0]))))


def _stand_on_resting_arms(body: Body, robot: RobotSpec, touch: Mask, slow: Mask, planted: bool) -> None:
    """Front legs stand where the arms rest; while the person walks they trot with the diagonal hind leg."""
    names = [leg.name for leg in robot.legs]
    down_spine = -body.trunk[:, :, 2]
    for front, side, diagonal in (("FL", "left", "RR"), ("FR", "right", "RL")):
        k = names.index(front)
        arm = body.joints[f"{side}_wrist"] - body.joints[f"{side}_shoulder"]
        drop = -arm[:, 2]
        if planted:
            drop = np.maximum(drop, np.einsum("ti,ti->t", arm, down_spine))
        rests = median_filter(drop > STRETCHED * body.arm_length, size=9, mode="nearest")
        stands = rests if planted else rests & touch[:, names.index(diagonal)]
        touch[:, k] |= stands
        slow[:, k] |= stands
