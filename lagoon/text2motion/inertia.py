"""Lets one motion go on as another, with the pose and the velocity of the first fading out.

What enters: joint positions. What leaves: the second motion, which begins where and as fast as the first one ends and
is itself again after so many frames. The pelvis moves by offsets in metres, the bones by rotations of their
directions, so that their lengths stay. Arrays in, arrays out.

Source: inertialisation, Bollo 2018, "Inertialization: High-Performance Animation Transitions in Gears of War" (GDC);
the curve is the minimum-jerk one of Flash and Hogan 1985, "The coordination of arm movements", eq. 2.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from lagoon.motion.skeleton import PARENTS

Array = NDArray[np.float64]
COAST = 10
"""Frames in which a velocity fades out or comes up, 0.5 s, if there is time, and half of the time if there is much of
it. The way that is covered meanwhile grows with them."""
_PARENTS = list(PARENTS[1:])


def fall(share: Array) -> Array:
    """From 1 to 0 with least jerk as ``share`` goes from 0 to 1; at rest at both ends."""
    s = np.clip(share, 0.0, 1.0)
    return 1.0 - s**3 * (10.0 - 15.0 * s + 6.0 * s**2)


def coast(share: Array) -> Array:
    """Way covered by a unit velocity that fades out and is taken back as ``share`` goes from 0 to 1; 0 at both ends."""
    s = np.clip(share, 0.0, 1.0)
    return s - s**3 * (6.0 - 8.0 * s + 3.0 * s**2)


def brief(frames: int) -> int:
    """Of so many frames those in which a velocity fades out or comes up."""
    return max(min(frames, COAST), frames // 2)


def directions(joint_pos: Array) -> Array:
    """Unit vectors (..., 21, 3) of the bones of (..., 22, 3); a bone without a direction points up."""
    bone = joint_pos[..., 1:, :] - joint_pos[..., _PARENTS, :]
    size = np.linalg.norm(bone, axis=-1, keepdims=True)
    return np.where(size > 1e-9, bone / np.maximum(size, 1e-9), np.array([0.0, 0.0, 1.0]))


def posed(pelvis: Array, bones: Array, lengths: Array) -> Array:
    """Joints (..., 22, 3) [m] of the pelvis (..., 3) [m], directions (..., 21, 3) and lengths (21,) [m]."""
    out = np.zeros((*pelvis.shape[:-1], len(PARENTS), 3))
    out[..., 0, :] = pelvis
    for joint, parent in enumerate(_PARENTS, start=1):
        out[..., joint, :] = out[..., parent, :] + lengths[joint - 1] * bones[..., joint - 1, :]
    return out


def arcs(start: Array, end: Array) -> Array:
    """Shortest rotations that take unit vectors (..., 3) to others, as axis times angle [rad] (..., 3)."""
    axis, along = np.cross(start, end), np.sum(start * end, axis=-1, keepdims=True)
    size = np.linalg.norm(axis, axis=-1, keepdims=True)
    # Opposite vectors have no shortest way; any will do.
    aside = np.cross(start, np.where(np.abs(start[..., :1]) < 0.9, [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]))
    aside /= np.maximum(np.linalg.norm(aside, axis=-1, keepdims=True), 1e-9)
    unit = np.where(size > 1e-9, axis / np.maximum(size, 1e-9), aside)
    return unit * np.arctan2(size, along)


def turned(bones: Array, by: Array) -> Array:
    """Vectors (..., 3) after rotations by axis times angle [rad] (..., 3)."""
    return Rotation.from_rotvec(by.reshape(-1, 3)).apply(bones.reshape(-1, 3)).reshape(bones.shape)


def led_in(motion: Array, frames: int, lengths: Array) -> Array:
    """Put so many frames before a motion (T, 22, 3) [m], in which it comes up from rest to the speed it begins with."""
    if frames == 0:
        return motion
    bones = directions(motion[:2])
    step, swing = motion[1, 0] - motion[0, 0], arcs(bones[0], bones[1])
    back = np.arange(frames, 0, -1.0)
    # Speed falls to nothing along the curve, going backwards; its sum is the way that is left.
    speed = fall((np.arange(1, frames + 1) - 0.5) / brief(frames))
    way = np.cumsum(speed)[back.astype(int) - 1][:, None]
    turn = -way[..., None] * swing
    return np.concatenate(
        [posed(motion[0, 0] - way * step, turned(np.broadcast_to(bones[0], turn.shape), turn), lengths), motion]
    )


def go_on(first: Array, second: Array, frames: int, lengths: Array, most: float = np.inf) -> Array:
    """The second motion as it goes on from the first, with what differs fading out over so many frames.

    Args:
        first: (T, 22, 3) [m], T at least 2.
        second: (U, 22, 3) [m], in the place where it shall go on, U at least 2.
        frames: frames over which pose and velocity of the first fade.
        lengths: (21,) bone lengths [m].
        most: way per frame [m] of the fastest joint up to which the first motion's velocity is carried over.

    Returns:
        (U, 22, 3) [m]: its first frame follows the last one of the first motion.
    """
    count = min(frames, len(second))
    ahead, behind = directions(first[-2:]), directions(second[:2])
    step, swing = first[-1, 0] - first[-2, 0], arcs(ahead[0], ahead[1])
    fastest = float(np.linalg.norm(first[-1] - first[-2], axis=-1).max())
    step, swing = step * min(1.0, most / max(fastest, 1e-9)), swing * min(1.0, most / max(fastest, 1e-9))
    own_step, own_swing = second[1, 0] - second[0, 0], arcs(behind[0], behind[1])
    gap, drift = first[-1, 0] + step - second[0, 0], step - own_step
    turn = arcs(behind[0], turned(ahead[1], swing))
    # The same one frame before, with the second motion carried back: how fast the offset itself changes.
    spin = turn - arcs(turned(behind[0], -own_swing), ahead[1])
    most = np.linalg.norm(swing, axis=-1, keepdims=True) + np.linalg.norm(own_swing, axis=-1, keepdims=True)
    # Next to opposite directions the shortest way jumps from one side to the other; no bone turns faster than both.
    spin *= np.minimum(1.0, most / np.maximum(np.linalg.norm(spin, axis=-1, keepdims=True), 1e-9))
    time, short = np.arange(count, dtype=float), brief(count)
    stay, rush = fall(time / count)[:, None], (short * coast(time / short))[:, None]
    out = np.array(second, float)
    pelvis = second[:count, 0] + gap * stay + drift * rush
    by = turn * stay[..., None] + spin * rush[..., None]
    out[:count] = posed(pelvis, turned(directions(second[:count]), by), lengths)
    return out
