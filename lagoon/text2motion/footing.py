"""Keeps the feet where they stand while one motion goes over into another, or lets them take a step.

What enters: the two motions and what was blended of them. What leaves: the blend with legs bent so that a foot that
stands in both stays on its spot until the second motion lifts it, or swings to the other spot if that is far.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lagoon.motion.skeleton import JOINT_NAMES
from lagoon.text2motion import features
from lagoon.text2motion.grounding import LEGS, MOST_STRETCH, reach, within_reach
from lagoon.text2motion.inertia import fall

Array = NDArray[np.float64]
ANKLES = [JOINT_NAMES.index("left_ankle"), JOINT_NAMES.index("right_ankle")]
CARRY = 0.05
"""Distance [m] up to which a foot stays beside its spot of the second motion; from there on it steps over to it."""
RELEASE = 8
"""Frames a foot that was carried takes at least to come back onto its own path once it is lifted."""
STEP_FRAMES = 8
"""Frames a step takes at least: 0.4 s."""
LIFT = (0.03, 0.15, 0.09)
"""Height of a step [m]: the least, per metre of its length, and the most."""


def stands(first: Array, second: Array) -> NDArray[np.bool_]:
    """(2,) whether the left and the right ankle touch the floor where one motion ends and where the other begins."""
    return (features.contacts(first[-3:])[-1, :2] > 0) & (features.contacts(second[:3])[0, :2] > 0)


def apart(first: Array, second: Array) -> Array:
    """(2, 3) from the ankles where the second motion begins to those where the first one ends [m]."""
    return first[-1, ANKLES] - second[0, ANKLES]


def kept(first: Array, second: Array, blend: Array, inserted: int, lengths: Array) -> Array:
    """Bend the legs of a blend so that standing feet do not slide.

    Args:
        first: (T, 22, 3) [m].
        second: (U, 22, 3) [m], where it goes on.
        blend: (inserted + U, 22, 3) [m], what follows the first motion.
        inserted: frames before the second motion's own begin.
        lengths: (21,) bone lengths [m].

    Returns:
        (inserted + U, 22, 3) [m].
    """
    both, gap = stands(first, second), apart(first, second)
    if not both.any():
        return blend
    out = np.array(blend, float)
    thigh, shin = lengths[LEGS[0][1] - 1], lengths[LEGS[0][2] - 1]
    steps = [side for side in (0, 1) if both[side] and np.linalg.norm(gap[side, :2]) > CARRY]
    targets = [np.array(out[:, ankle]) for ankle in ANKLES]
    held = np.zeros((len(out), 2), bool)
    for side in np.flatnonzero(both).tolist():
        own = targets[side]
        lasts = _contact(second, side)
        end = inserted + lasts
        if side in steps:
            own[:inserted] = _step(first[-1, ANKLES[side]], second[0, ANKLES[side]], inserted, steps.index(side), steps)
            own[inserted:end] = second[:lasts, ANKLES[side]]
            last = end
        else:
            # Heights differ by how far a heel is lifted; that fades with the pose, so only the spot is held.
            level = own[:, 2].copy()
            own[:inserted] = first[-1, ANKLES[side]]
            own[inserted:end] = second[:lasts, ANKLES[side]] + gap[side]
            swing = max(RELEASE, _contact(second[lasts:], side, lifted=True))
            back = fall(np.arange(1, len(out) - end + 1) / swing)[:, None]
            own[end:] = own[end:] + gap[side] * back
            own[:, 2] = level
            last = min(len(out), end + swing)
        held[:last, side] = True
    out = within_reach(out, targets, held, MOST_STRETCH * (thigh + shin))
    for side in np.flatnonzero(both).tolist():
        hip, knee, ankle, foot = LEGS[side]
        some = held[:, side]
        toe = out[some, foot] - out[some, ankle]
        # A leg that was straight does not tell to which side it bends; toes do.
        far = np.linalg.norm(targets[side][some] - out[some, ankle], axis=-1, keepdims=True)
        aim = out[some, knee] + np.minimum(far / CARRY, 1.0) * toe
        out[some, knee], out[some, ankle] = reach(out[some, hip], aim, targets[side][some], thigh, shin)
        out[some, foot] = out[some, ankle] + toe
    return out


def _contact(motion: Array, side: int, lifted: bool = False) -> int:
    """Frames from the start for which a foot touches the floor, or is lifted; a gap of one frame is none."""
    if len(motion) < 3:
        return len(motion)
    touches = features.contacts(motion)[:, side] > 0
    wanted = ~touches if lifted else touches
    for frame in range(len(wanted)):
        if not wanted[frame : frame + 2].any():
            return frame
    return len(wanted)


def _step(start: Array, end: Array, frames: int, turn: int, steps: list[int]) -> Array:
    """Path (frames, 3) [m] of an ankle from one spot to another; of two feet each has half of the time."""
    share = np.arange(1, frames + 1) / (frames + 1)
    share = np.clip(share * len(steps) - turn, 0.0, 1.0)
    done = (1.0 - fall(share))[:, None]
    least, slope, most = LIFT
    height = min(most, least + slope * float(np.linalg.norm((end - start)[:2])))
    path = start + (end - start) * done
    path[:, 2] += height * 16.0 * share**2 * (1.0 - share) ** 2
    return path
