"""Puts motions one after the other, so that no joint leaps where they meet.

What enters: joint positions, each motion on its feet. What leaves: one motion, and where its join is. How long the
join takes follows from what the two motions do at their ends: the shortest of a few ways that keeps every joint within
what the two do by themselves. Arrays in, arrays out.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lagoon.motion.bones import with_bones
from lagoon.text2motion import features, footing
from lagoon.text2motion.footing import ANKLES, CARRY, STEP_FRAMES
from lagoon.text2motion.grounding import lift
from lagoon.text2motion.inertia import go_on, led_in

Array = NDArray[np.float64]
WAYS = (
    *((0, blend) for blend in (4, 6, 9, 13, 18)),
    *((put, put) for put in (8, 12, 16, 20, 26, 34, 44, 58, 76, 100, 130, 180, 250)),
)
"""Frames that are put in between two motions, and over which the first one fades; the first way that is smooth enough
is taken. What is put in comes up to the speed with which the second motion begins."""
SLOWEST = 0.01
"""Way of a joint per frame [m] that is always smooth enough: 0.2 m/s."""
GENTLEST = 0.004
"""Change of that way from one frame to the next [m] that is always smooth enough."""

CARRIED = 0.99
"""Share of that percentile up to which the velocity of the first motion goes on; it may end in its fastest."""


@dataclass(frozen=True)
class Joined:
    """Two motions as one."""

    joint_pos_w: Array
    """(T, 22, 3) [m]."""
    start: int
    """First frame that is not the first motion's."""
    stop: int
    """First frame from which on it is the second motion, but for where its standing feet are."""
    speed: float
    """Largest speed of a joint where frames from start to stop take part, as a share of the 99th percentile of the
    fastest joint's speed over all frames of the two motions."""
    jump: float
    """The same for the change of a joint's velocity from one frame to the next."""


def largest_steps(joint_pos_w: Array, order: int = 1) -> Array:
    """(T - order,) way of the fastest joint from each frame to the next [m]; of order 2, the largest change of it."""
    return np.linalg.norm(np.diff(joint_pos_w, order, axis=0), axis=-1).max(axis=1)


def usual_limit(*motions: Array, order: int = 1) -> float:
    """99th percentile of largest_steps over all frames of some motions [m]: as much as they do by themselves."""
    return float(np.percentile(np.concatenate([largest_steps(m, order) for m in motions if len(m) > order]), 99))


def place(first: Array, second: Array) -> Array:
    """Move the second motion to where the first one ends, turned as the person then faces.

    Who stands keeps their feet: then it is the middle between the ankles that stays, or, where the feet are set
    otherwise in the two, the one that bears the weight; else it is the pelvis.
    """
    yaw = features.heading(first)[-1]
    moved = features.canonical(second)
    moved[..., :2] = features.turn(moved[..., :2], np.full(moved.shape[:2], yaw))
    both = np.stack([2 * first[-1] - first[-2], moved[0]])  # Where the next frame would be.
    gaps = (both[0] - both[1])[ANKLES, :2]
    if both[:, ANKLES, 2].max() >= features.CONTACT_HEIGHT[0]:
        gap = (both[0] - both[1])[0, :2]
    elif np.linalg.norm(gaps - gaps.mean(axis=0), axis=-1).max() <= CARRY:
        gap = gaps.mean(axis=0)
    else:
        gap = gaps[np.linalg.norm(first[-1, ANKLES, :2] - first[-1, 0, :2], axis=-1).argmin()]
    moved[..., :2] += gap
    return moved


def join(first: Array, second: Array, lengths: Array) -> Joined:
    """Play the second motion after the first.

    Pose and velocity of the first fade out over the beginning of the second, or, where that would be faster or
    more sudden than the two are by themselves, over frames that are put in between. Feet that stand in both stay,
    or take a step if the second motion has them elsewhere.

    Args:
        first: (T, 22, 3) [m], T at least 2.
        second: (U, 22, 3) [m], U at least 2; where and how turned it begins does not matter.
        lengths: (21,) bone lengths [m].
    """
    moved = place(first, second)
    usual = (usual_limit(first, moved), usual_limit(first, moved, order=2))
    allowed = tuple(
        max(1.0, always / max(limit, 1e-9)) for always, limit in zip((SLOWEST, GENTLEST), usual, strict=True)
    )
    far = footing.stands(first, moved) & (np.linalg.norm(footing.apart(first, moved)[:, :2], axis=-1) > CARRY)
    best, least = None, np.inf
    for inserted, blend in WAYS:
        if inserted < STEP_FRAMES * far.sum():
            continue
        tried = _joined(first, moved, inserted, blend, lengths, usual)
        excess = max(tried.speed / allowed[0], tried.jump / allowed[1])
        if excess < least:
            best, least = tried, excess
        if excess <= 1.0:
            break
    assert best is not None, "there are ways long enough for two steps"
    return best


def _joined(
    first: Array, moved: Array, inserted: int, blend: int, lengths: Array, usual: tuple[float, float]
) -> Joined:
    """One way to join, and how smooth it is."""
    follows = go_on(first, led_in(moved, inserted, lengths), blend, lengths, CARRIED * usual[0])
    follows = footing.kept(first, moved, follows, inserted, lengths)
    whole = lift(np.concatenate([first, follows]))
    start, stop = len(first), len(first) + min(blend, len(follows))
    # A difference of order n at i sees frames i to i + n.
    speed, jump = (
        float(largest_steps(whole, n)[max(start - n, 0) : stop].max() / max(usual[n - 1], 1e-9)) for n in (1, 2)
    )
    return Joined(whole, start, stop, speed, jump)


def retime(joint_pos_w: Array, frames: int, lengths: Array) -> Array:
    """Play (T, 22, 3) in so many frames, by cubic interpolation; bones keep their lengths (21,) [m]."""
    from scipy.interpolate import CubicSpline

    last = len(joint_pos_w) - 1
    times = np.linspace(0.0, last, frames)
    return with_bones(CubicSpline(np.arange(last + 1), joint_pos_w, axis=0)(times), lengths)
