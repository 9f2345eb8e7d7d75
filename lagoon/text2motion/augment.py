"""More motions from few, with texts that stay true.

What enters: clips. What leaves: clips whose motion was mirrored, reversed, quickened or slowed, repeated so
many times, joined, or laid over another, and whose captions say so. Numbers in, numbers out; randomness
only by a generator.
"""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

from lagoon.motion.skeleton import JOINT_NAMES, MIRROR
from lagoon.text2motion import features

Array = NDArray[np.float64]

NUMBERS = ("zero", "one", "two", "three", "four", "five", "six")
TIMES = ("zero times", "once", "twice", "three times", "four times", "five times", "six times")
STAND_TOLERANCE = 0.12
"""Largest mean distance [m] of the joints from a relaxed stand for a frame that counts as standing."""
MAX_CUT = 0.2
"""Largest distance [m] of a joint between two poses that are pasted together."""
LEAST_REACH = 0.25
"""Way [m] that a wrist goes, as the trunk sees it, in an arm that does something; the sway of a stand is below it."""
HANGING = 0.8
"""Share of an arm's reach that points down the trunk in an arm that hangs."""
LEAST_NOD = 0.02
"""Way [m] that the head goes against the neck when it nods, shakes or looks around."""
_WRISTS = [JOINT_NAMES.index(name) for name in ("left_wrist", "right_wrist", "left_elbow", "right_elbow")]


def mirror(joint_pos_w: Array) -> Array:
    """Swap left and right of (T, 22, 3)."""
    return joint_pos_w[:, list(MIRROR)] * np.array([1.0, -1.0, 1.0])


def mirror_text(text: str) -> str:
    """Swap the words left and right, and the two turning directions."""
    swaps = {"left": "right", "right": "left", "clockwise": "counterclockwise", "counterclockwise": "clockwise"}
    pattern = r"\b(left|right|clockwise|counterclockwise)(wards?|ward)?\b"
    return re.sub(pattern, lambda m: swaps[m[1]] + (m[2] or ""), text)


def resample(joint_pos_w: Array, factor: float) -> Array:
    """Play (T, 22, 3) so many times as fast, by cubic interpolation in time."""
    from scipy.interpolate import CubicSpline

    last = len(joint_pos_w) - 1
    times = np.arange(int(np.floor(last / factor + 1e-9)) + 1) * factor
    return CubicSpline(np.arange(last + 1), joint_pos_w, axis=0)(np.minimum(times, last))


def rest_distance(pose: Array, rest: Array) -> float:
    """Mean distance [m] of the joints of one pose (22, 3) from a stand (22, 3), where and how turned regardless."""
    return float(rest_distances(pose, rest).mean())


def rest_distances(pose: Array, rest: Array) -> Array:
    """Distance (22,) [m] of each joint of one pose (22, 3) from a stand (22, 3), where and how turned regardless."""
    own = features.canonical(np.stack([pose, pose]))[0]
    return np.linalg.norm(own - rest, axis=-1)


def follow(first: Array, second: Array, blend: int = 6) -> Array:
    """Play the second motion after the first, from where and how turned the first one ends.

    The step between the two poses is taken back over ``blend`` frames of the second.
    """
    yaw = features.heading(first)[-1]
    moved = features.canonical(second)
    moved[..., :2] = features.turn(moved[..., :2], np.full(moved.shape[:2], yaw)) + first[-1, 0, :2]
    gap = (first[-1] + (first[-1] - first[-2])) - moved[0]
    fade = 0.5 + 0.5 * np.cos(np.pi * np.minimum(np.arange(len(moved)) / blend, 1.0))
    return np.concatenate([first, moved + gap * fade[:, None, None]])


def trunk_frame(joint_pos_w: Array) -> Array:
    """(T, 3, 3) orientation of the trunk, columns ahead, left, up: up the spine, left across the hips."""
    at = lambda name: joint_pos_w[:, JOINT_NAMES.index(name)]  # noqa: E731
    unit = lambda v: v / np.maximum(np.linalg.norm(v, axis=-1, keepdims=True), 1e-9)  # noqa: E731
    up = unit(at("spine3") - at("pelvis"))
    across = at("left_hip") - at("right_hip")
    left = unit(across - np.sum(across * up, axis=-1, keepdims=True) * up)
    return np.stack([np.cross(left, up), left, up], axis=-1)


def overlay(lower: Array, upper: Array) -> Array:
    """Let one person do with legs and trunk what the first motion does, with arms and head what the second does.

    What the second motion does not use stays as it is in the first: an arm that hangs, a head that is still.
    The arms are turned with the trunk, so that a wave stays beside the head while the trunk sways.

    Args:
        lower: (T, 22, 3) [m].
        upper: (T, 22, 3) [m], of the same length; it should stand upright.
    """
    assert len(lower) == len(upper), "the caller makes both equally long"
    out = np.array(lower, float)
    turn = trunk_frame(lower) @ np.swapaxes(trunk_frame(upper), 1, 2)
    anchor = JOINT_NAMES.index("spine3")
    moved = lower[:, anchor, None] + (upper - upper[:, anchor, None]) @ np.swapaxes(turn, 1, 2)
    for side in ("left", "right"):
        chain = [JOINT_NAMES.index(f"{side}_{name}") for name in ("collar", "shoulder", "elbow", "wrist")]
        if used(upper, JOINT_NAMES.index(f"{side}_wrist")):
            out[:, chain] = moved[:, chain]
    neck, head = JOINT_NAMES.index("neck"), JOINT_NAMES.index("head")
    nods = np.ptp((upper[:, head] - upper[:, neck])[:, :2], axis=0).max() > LEAST_NOD
    if nods:
        out[:, head] = out[:, neck] + (moved[:, head] - moved[:, neck])
    return out


def used(joint_pos_w: Array, wrist: int) -> bool:
    """Whether an arm does something: its wrist moves, as the trunk sees it, or is held away from where arms hang."""
    shoulder = JOINT_NAMES.index(JOINT_NAMES[wrist].replace("wrist", "shoulder"))
    arm = np.einsum("tji,tj->ti", trunk_frame(joint_pos_w), joint_pos_w[:, wrist] - joint_pos_w[:, shoulder])
    hangs = -arm[:, 2] > HANGING * np.linalg.norm(arm, axis=-1)
    return bool(np.ptp(arm, axis=0).max() > LEAST_REACH or (~hangs).mean() > 0.5)


def hold(joint_pos_w: Array, before: int, after: int) -> Array:
    """Stand still for so many frames before and after."""
    return np.concatenate(
        [np.repeat(joint_pos_w[:1], before, axis=0), joint_pos_w, np.repeat(joint_pos_w[-1:], after, axis=0)]
    )


def cycle_signal(joint_pos_w: Array, kind: str) -> Array:
    """(T,) signal that peaks once per repetition.

    Args:
        joint_pos_w: (T, 22, 3) [m].
        kind: "down" (the pelvis sinks), "up" (the pelvis rises), "chest_down" (the shoulders sink),
            "hands_meet" (the wrists approach), "hand_out" (a raised wrist swings outward), "hands_up".
    """
    p = joint_pos_w
    left, right = p[:, _WRISTS[0]], p[:, _WRISTS[1]]
    if kind == "down":
        return -p[:, 0, 2]
    if kind == "up":
        return p[:, 0, 2]
    if kind == "chest_down":
        return -p[:, JOINT_NAMES.index("neck"), 2]
    if kind == "hands_meet":
        return -np.linalg.norm(left - right, axis=-1)
    if kind == "hands_up":
        return (left + right)[:, 2]
    if kind == "hand_out":
        elbow = p[:, _WRISTS[2]] if left[:, 2].max() > right[:, 2].max() else p[:, _WRISTS[3]]
        wrist = left if left[:, 2].max() > right[:, 2].max() else right
        side = (wrist - elbow)[:, 1]
        return np.where(wrist[:, 2] > elbow[:, 2], side if wrist is left else -side, -1.0)
    raise AssertionError(f"unknown cycle kind {kind}")


def sweeps(joint_pos_w: Array, least: float) -> int:
    """How often a raised hand goes from side to side and back, each time by ``least`` [m] or more.

    A swing counts if it is seen from turning point to turning point: a hand that comes up on the outside, goes in
    once and sinks again has waved once, however often it was outside.
    """
    from scipy.signal import find_peaks

    signal = cycle_signal(joint_pos_w, "hand_out")
    wrist, shoulder = (
        joint_pos_w[:, [JOINT_NAMES.index(f"{side}_{name}") for side in ("left", "right")], 2]
        for name in ("wrist", "shoulder")
    )
    side = wrist.max(axis=0).argmax()
    raised = np.flatnonzero(wrist[:, side] > shoulder[:, side])
    if not len(raised):
        return 0
    swing = np.interp(np.arange(len(signal)), raised, signal[raised])
    turns = sum(len(find_peaks(sign * swing, prominence=least)[0]) for sign in (1.0, -1.0))
    return (turns + 1) // 2


def peaks(signal: Array, least: float) -> NDArray[np.int64]:
    """Frames of the local maxima that stand out by at least ``least``."""
    from scipy.signal import find_peaks

    return find_peaks(signal, prominence=least, distance=4)[0]


def repeat_cycles(joint_pos_w: Array, frames: NDArray[np.int64], count: int) -> Array | None:
    """The motion with exactly so many repetitions, cut and pasted where two repetitions peak.

    Args:
        joint_pos_w: (T, 22, 3) [m].
        frames: frames of its repetitions' peaks.
        count: repetitions wanted.

    Returns:
        The new motion, or None when there are no two peaks to cut at or the poses there differ too much.
    """
    if len(frames) < 2 or count < 1:
        return None
    first, last = frames[0], frames[-1]
    pieces = [joint_pos_w[: first + 1]]
    for index in range(count - 1):
        a, b = frames[index % (len(frames) - 1)], frames[index % (len(frames) - 1) + 1]
        pieces.append(joint_pos_w[a + 1 : b + 1])
    pieces.append(joint_pos_w[last + 1 :])
    whole = pieces[0]
    for piece in pieces[1:]:
        if len(piece):
            gap = whole[-1] - joint_pos_w[_before(joint_pos_w, piece)]
            if np.linalg.norm(gap, axis=-1).max() > MAX_CUT:
                return None
            fade = 0.5 + 0.5 * np.cos(np.pi * np.minimum(np.arange(1, len(piece) + 1) / 5, 1.0))
            whole = np.concatenate([whole, piece + gap * fade[:, None, None]])
    return whole


def _before(whole: Array, piece: Array) -> int:
    """Index in ``whole`` of the frame before the slice ``piece`` of it."""
    offset = (piece.__array_interface__["data"][0] - whole.__array_interface__["data"][0]) // whole.strides[0]
    return int(offset) - 1
