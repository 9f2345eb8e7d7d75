"""Puts motions one after the other, so that no joint leaps where they meet.

What enters: joint positions, each motion on its feet. What leaves: one motion. Arrays in, arrays out.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lagoon.motion.bones import with_bones
from lagoon.motion.skeleton import JOINT_NAMES
from lagoon.text2motion import features

Array = NDArray[np.float64]
BLENDS = (4, 6, 9, 13, 18)
"""Frames over which the step between two motions is taken back; the shortest that is smooth enough is used."""
SLOWEST = 0.03
"""Way of a joint per frame [m] that is always smooth enough: 0.6 m/s."""
_ANKLES = [JOINT_NAMES.index("left_ankle"), JOINT_NAMES.index("right_ankle")]


def largest_steps(joint_pos_w: Array) -> Array:
    """(T - 1,) way of the fastest joint from each frame to the next [m]."""
    return np.linalg.norm(np.diff(joint_pos_w, axis=0), axis=-1).max(axis=1)


def usual_limit(*motions: Array) -> float:
    """99th percentile of the ways per frame [m] of the fastest joint: as much as these motions do by themselves."""
    return float(max(SLOWEST, np.percentile(np.concatenate([largest_steps(m) for m in motions]), 99)))


def place(first: Array, second: Array) -> Array:
    """Move the second motion to where the first one ends, turned as the person then faces.

    Who stands keeps their feet: then it is the middle between the ankles that stays, else it is the pelvis.
    """
    yaw = features.heading(first)[-1]
    moved = features.canonical(second)
    moved[..., :2] = features.turn(moved[..., :2], np.full(moved.shape[:2], yaw))
    both = np.stack([first[-1], moved[0]])
    stands = both[:, _ANKLES, 2].max() < features.CONTACT_HEIGHT[0]
    anchor = both[:, _ANKLES].mean(axis=1) if stands else both[:, 0]
    moved[..., :2] += (anchor[0] - anchor[1])[:2]
    return moved


def join(first: Array, second: Array, lengths: Array) -> Array:
    """Play the second motion after the first.

    The step between the two poses is taken back over the first frames of the second motion. Where that would be
    faster than anything the two do by themselves, a transition is put in between.

    Args:
        first: (T, 22, 3) [m].
        second: (U, 22, 3) [m]; where and how turned it begins does not matter.
        lengths: (21,) bone lengths [m].

    Returns:
        (T + U, 22, 3) or more [m].
    """
    limit = usual_limit(first, second)
    moved = place(first, second)
    speed = first[-1] - first[-2]
    for blend in BLENDS:
        gap = (first[-1] + speed) - moved[0]
        fade = _fall(np.arange(len(moved)) / min(blend, len(moved)))
        whole = np.concatenate([first, with_bones(moved + gap * fade[:, None, None], lengths)])
        if largest_steps(whole[len(first) - 1 :][: blend + 2]).max() <= limit:
            return whole
    return np.concatenate([first, transition(first[-1], moved[0], limit, lengths), moved])


def transition(start: Array, end: Array, limit: float, lengths: Array) -> Array:
    """Poses (K, 22, 3) [m] between two poses, as few as keep every joint within ``limit`` [m] per frame."""
    gap = end - start
    # The steepest step of the curve below is pi / 2 times its mean; bones that get their length back add a little.
    count = int(np.ceil(np.linalg.norm(gap, axis=-1).max() * np.pi / 2 / limit))
    while True:
        rise = 1.0 - _fall(np.arange(1, count + 1) / (count + 1))
        between = with_bones(start + gap * rise[:, None, None], lengths)
        if largest_steps(np.concatenate([start[None], between, end[None]])).max() <= limit:
            return between
        count = max(count + 1, int(1.15 * count))


def retime(joint_pos_w: Array, frames: int, lengths: Array) -> Array:
    """Play (T, 22, 3) in so many frames, by cubic interpolation; bones keep their lengths (21,) [m]."""
    from scipy.interpolate import CubicSpline

    last = len(joint_pos_w) - 1
    times = np.linspace(0.0, last, frames)
    return with_bones(CubicSpline(np.arange(last + 1), joint_pos_w, axis=0)(times), lengths)


def _fall(share: Array) -> Array:
    """From 1 to 0 along half a cosine as ``share`` goes from 0 to 1."""
    return 0.5 + 0.5 * np.cos(np.pi * np.minimum(share, 1.0))
