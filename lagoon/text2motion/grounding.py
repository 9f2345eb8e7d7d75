"""Puts a generated motion on its feet.

What enters: features as the tokenizer decodes them, and the skeleton's bone lengths. What leaves: joint
positions with constant bones, feet that stay where they touch, and nothing below the floor. Arrays in,
arrays out.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import binary_closing, binary_opening, gaussian_filter1d, label, maximum_filter1d

from lagoon.motion.bones import with_bones
from lagoon.motion.skeleton import JOINT_NAMES
from lagoon.text2motion import features

Array = NDArray[np.float64]

_INDEX = {name: i for i, name in enumerate(JOINT_NAMES)}
LEGS = tuple(tuple(_INDEX[f"{side}_{part}"] for part in ("hip", "knee", "ankle", "foot")) for side in ("left", "right"))
SMOOTH_FRAMES = 0.5
"""Width of the Gaussian over the decoded features [frames of 50 ms]; takes out the seams between token steps."""
PLANTED_SHARE, PLANTED_TRAVEL, PLANTED_LIFT = 0.85, 0.10, 0.06
"""Feet stay for the whole motion if they touch this share of it, move less [m] and rise less [m] than this."""
TIPTOE = 0.2
"""Height of both ankles [m] up to which feet that neither move nor rise stay, whether they seem to touch or not: some
captured figures stand on their toes or above the floor."""
LEVEL = 0.06
"""Difference of the ankles' heights [m] above which one foot is lifted."""
SETTLE_DISTANCE = 0.3
"""Mean distance [m] of the joints from the relaxed stand within which an end is blended into it."""
UPRIGHT = 0.08
"""How much lower than in the relaxed stand the pelvis is at most where a person stands [m]."""
MOST_STRETCH = 0.999
"""Share of the leg's full length that it may be straightened to."""


@dataclass(frozen=True)
class Grounded:
    """A motion after clean-up, with how much had to be done."""

    joint_pos_w: Array
    """(T, 22, 3) joint positions [m]."""
    contact: NDArray[np.bool_]
    """(T, 2) whether the left and the right foot stand."""
    correction: float
    """Mean distance [m] that standing feet were moved: how unsure the generator was of them."""
    planted: bool
    """Whether both feet stay for the whole motion."""


def reach(hip: Array, knee: Array, target: Array, thigh: float, shin: float) -> tuple[Array, Array]:
    """Bend a leg so that its ankle is at the target, the knee staying on the side where it was.

    Args:
        hip: (T, 3) [m].
        knee: (T, 3) where the knee is now [m]; gives the side to bend to.
        target: (T, 3) where the ankle should be [m]; pulled in if out of reach.
        thigh: length of the thigh [m].
        shin: length of the shin [m].

    Returns:
        Knee and ankle (T, 3) [m].
    """
    line = target - hip
    distance = np.linalg.norm(line, axis=-1, keepdims=True)
    line = line / np.maximum(distance, 1e-9)
    distance = np.clip(distance, abs(thigh - shin) + 1e-3, MOST_STRETCH * (thigh + shin))
    along = (thigh**2 - shin**2 + distance**2) / (2 * distance)
    side = np.sqrt(np.maximum(thigh**2 - along**2, 0.0))
    pole = (knee - hip) - np.sum((knee - hip) * line, axis=-1, keepdims=True) * line
    # A straight leg has no side; its neighbours in time do.
    pole = gaussian_filter1d(pole, 1.0, axis=0, mode="nearest") if len(pole) > 2 else pole
    pole -= np.sum(pole * line, axis=-1, keepdims=True) * line
    pole /= np.maximum(np.linalg.norm(pole, axis=-1, keepdims=True), 1e-9)
    return hip + along * line + side * pole, hip + distance * line


def standing(probability: Array) -> NDArray[np.bool_]:
    """Whether each foot stands (T, 2), from contact probabilities (T, 4) in the order of features.FEET."""
    best = np.stack([probability[:, [0, 2]].max(1), probability[:, [1, 3]].max(1)], axis=-1)
    raw = best > 0.5
    closed = binary_closing(np.pad(raw, ((3, 3), (0, 0)), mode="edge"), np.ones((3, 1), bool))[3:-3]
    opened = binary_opening(np.pad(closed, ((3, 3), (0, 0)), mode="edge"), np.ones((3, 1), bool))[3:-3]
    return np.asarray(opened, dtype=bool)


def ground(decoded: Array, lengths: Array, rest: Array, settle: bool = True) -> Grounded:
    """Turn decoded features (T, 71) into a clean motion.

    Args:
        decoded: features; contacts as probabilities.
        lengths: (21,) bone lengths [m].
        rest: (22, 3) relaxed stand [m].
        settle: let motions whose feet stay and that start (end) near the stand start (end) in it.
    """
    rows = np.array(decoded, float)
    if len(rows) > 4:
        rows[:, : features.CONTACTS.start] = gaussian_filter1d(
            rows[:, : features.CONTACTS.start], SMOOTH_FRAMES, axis=0, mode="nearest"
        )
    rows[0, : features.HEIGHT.start] = 0.0
    contact = standing(rows[:, features.CONTACTS])
    pos = with_bones(features.decode(rows), lengths)
    pos = lift(pos)
    feet = pos[:, [leg[2] for leg in LEGS]]
    centre = np.median(feet, axis=0)
    moved = np.linalg.norm((feet - centre)[..., :2], axis=-1)
    risen = feet[..., 2] - centre[:, 2]
    touching = contact.mean(0).min() > PLANTED_SHARE and centre[:, 2].max() < features.CONTACT_HEIGHT[0]
    level = centre[:, 2].max() < TIPTOE and abs(float(np.diff(centre[:, 2])[0])) < LEVEL
    planted = bool(
        (touching or level) and np.percentile(moved, 95) < PLANTED_TRAVEL and np.percentile(risen, 95) < PLANTED_LIFT
    )
    stand = None
    if planted:
        contact = np.ones_like(contact)
        if settle:
            pos, stand = _settled(pos, lengths, rest)
    pos, correction = _pinned(pos, contact, rows[:, features.CONTACTS], lengths, rest, stand)
    pos = lift(features.canonical(pos))
    return Grounded(pos, contact, correction, planted)


def lift(pos: Array) -> Array:
    """Raise frames in which a joint is below the floor, smoothly in time."""
    depth = np.maximum(-pos[..., 2].min(axis=1), 0.0)
    if depth.max() == 0.0:
        return pos
    smooth = gaussian_filter1d(maximum_filter1d(depth, 5, mode="nearest"), 1.0, mode="nearest")
    out = pos.copy()
    out[..., 2] += np.maximum(smooth, depth)[:, None]
    return out


def _settled(pos: Array, lengths: Array, rest: Array, frames: int = 10) -> tuple[Array, Array | None]:
    """Blend both ends into one relaxed stand, where the motion is near it.

    Returns:
        The motion, and the stand (22, 3) [m] in world whose feet it should keep, if it starts in it.
    """
    yaw = features.heading(pos[:2])[0]
    stand = rest.copy()
    stand[:, :2] = features.turn(stand[:, :2], np.full(len(stand), yaw)) + pos[0, 0, :2]
    out, kept = pos.copy(), None
    for reverse in (False, True):
        view = out[::-1] if reverse else out
        gap = stand - view[0]
        upright = gap[0, 2] < UPRIGHT
        if upright and np.linalg.norm(gap, axis=-1).mean() < SETTLE_DISTANCE:
            kept = kept if reverse else stand
            count = min(frames, len(view) // 3)
            fade = 0.5 + 0.5 * np.cos(np.pi * np.arange(count) / max(count, 1))
            view[:count] += gap * fade[:, None, None]
    return with_bones(out, lengths), kept


def _pinned(
    pos: Array,
    contact: NDArray[np.bool_],
    probability: Array,
    lengths: Array,
    rest: Array,
    stand: Array | None = None,
) -> tuple[Array, float]:
    """Hold standing feet in place by bending the legs, and sink the pelvis where a leg is too short.

    Each standing foot is held where it is on average, or where it is in ``stand`` if that is given.
    """
    frames = len(pos)
    offsets, moved = [], []
    for side, (_, _, ankle, foot) in enumerate(LEGS):
        offset, known = np.zeros((frames, 3)), np.zeros(frames, bool)
        segments, count = label(contact[:, side])  # type: ignore[misc]
        for segment in range(1, count + 1):
            chosen = np.flatnonzero(segments == segment)
            flat = probability[chosen, side].mean() > 0.5 or contact[:, side].all()
            joint, height = (ankle, rest[ankle, 2]) if flat else (foot, rest[foot, 2])
            target = np.append(np.median(pos[chosen, joint, :2], axis=0), height)
            target = target if stand is None else stand[joint]
            offset[chosen] = target - pos[chosen, joint]
            known[chosen] = True
        if known.any():
            moved.append(np.linalg.norm(offset[known], axis=-1).mean())
            where = np.flatnonzero(known)
            filled = np.stack([np.interp(np.arange(frames), where, offset[where, k]) for k in range(3)], axis=-1)
            # Ends of a contact are eased, so that lifting and landing do not jerk.
            eased = gaussian_filter1d(filled, 1.0, axis=0, mode="nearest")
            inner = np.minimum(_inside(known) / 2.0, 1.0)[:, None]
            offset = inner * filled + (1 - inner) * eased
        offsets.append(offset)
    thigh, shin = lengths[LEGS[0][1] - 1], lengths[LEGS[0][2] - 1]
    targets = [pos[:, leg[2]] + offset for leg, offset in zip(LEGS, offsets, strict=True)]
    out = within_reach(pos, targets, contact, MOST_STRETCH * (thigh + shin))
    for side, (hip, knee, ankle, foot) in enumerate(LEGS):
        toe = pos[:, foot] - pos[:, ankle]
        if contact[:, side].all():
            flat = toe.mean(0) if stand is None else stand[foot] - stand[ankle]
            flat[2] = rest[foot, 2] - rest[ankle, 2]
            flat[:2] *= np.sqrt(max(lengths[foot - 1] ** 2 - flat[2] ** 2, 0.0)) / np.linalg.norm(flat[:2])
            toe = np.broadcast_to(flat, toe.shape)
        out[:, knee], out[:, ankle] = reach(out[:, hip], out[:, knee], targets[side], thigh, shin)
        out[:, foot] = out[:, ankle] + toe
    return out, float(np.mean(moved)) if moved else 0.0


def _inside(known: NDArray[np.bool_]) -> Array:
    """Distance (T,) [frames] of each known frame from the nearest unknown one; 0 where unknown."""
    from scipy.ndimage import distance_transform_edt

    return np.full(len(known), 9.0) if known.all() else np.asarray(distance_transform_edt(known))


def within_reach(pos: Array, targets: list[Array], contact: NDArray[np.bool_], length: float) -> Array:
    """Lower everything but the feet where a standing foot's target is farther from its hip than the leg is long."""
    drop = np.zeros(len(pos))
    for side, (hip, _, _, _) in enumerate(LEGS):
        across = np.linalg.norm((targets[side] - pos[:, hip])[:, :2], axis=-1)
        most = np.sqrt(np.maximum(length**2 - across**2, 0.0))
        needed = (pos[:, hip, 2] - targets[side][:, 2]) - most
        drop = np.maximum(drop, np.where(contact[:, side], np.clip(needed, 0.0, 0.15), 0.0))
    if drop.max() > 0.0 and len(pos) > 4:
        smooth = gaussian_filter1d(maximum_filter1d(drop, 3, mode="nearest"), 1.5, mode="nearest")
        # Both ends keep exactly what they need: a relaxed stand must not be sunk by its neighbours.
        inner = np.minimum(np.minimum(np.arange(len(pos)), np.arange(len(pos))[::-1]) / 8.0, 1.0)
        drop = drop + inner * np.maximum(smooth - drop, 0.0)
    out = pos.copy()
    out[..., 2] -= drop[:, None]
    return out
