"""Where a person changes between feet and all fours, so that each part of a clip gets its own map.

What enters: a Body. What leaves: its parts, upright and four-legged in turn. What the person does between two of them,
getting down or up, is left out: the robot's own way down from its hind feet and up on them takes its place.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lagoon.motion.stretches import stretches
from lagoon.retarget.body import Body
from lagoon.retarget.config import RetargetConfig
from lagoon.retarget.morphology import MORPHOLOGIES, Morphology, bows, inverted_frames, up_frames

Array = NDArray[np.float64]

SHORTEST_PART, SHORTEST_END = 1.0, 0.5
"""A shorter part inside a clip, or at its start or end [s], is done in the map of its neighbours."""
HANDS = 0.5
"""Somebody who is down is on all fours if that can be said of at least this share of the time."""
FACING_DOWN = -0.5
"""So it can be where a hand is on the floor, or the chest's forward direction points down by this much; some clips hold
the wrists of somebody who crawls higher than hands are."""
BENT = np.radians(30.0)
"""A spine that leans farther than this [rad] next to a change is on its way down or up."""
LONGEST_WAY = 1.2
"""No more than this of a part [s] is taken for the way down or up."""


@dataclass(frozen=True)
class Part:
    """A stretch of a clip in one map."""

    morphology: Morphology
    start: int
    """First frame."""
    stop: int
    """Frame after the last one."""


def parts_of(body: Body, config: RetargetConfig) -> tuple[Part, ...]:
    """Parts of a clip, ascending; none if the person does not change between feet and all fours.

    Args:
        body: the person.
        config: how low a hand is on the floor.
    """
    up, hands = up_frames(body, config.hand_height), _on_all_fours(body, config)
    low = ~up_frames(body, -np.inf)
    if inverted_frames(body, config.hand_height).any() or (bows(body) and not low.any()):
        return ()  # Hands that touch the floor in a bow carry nothing.

    def lasts(start: int, stop: int) -> bool:
        least = SHORTEST_PART if start > 0 and stop < body.num_frames else SHORTEST_END
        return stop - start >= round(least * body.fps)

    # What is neither for long, such as a squat, belongs to what comes before it, at the start to what comes after.
    kind = np.zeros(body.num_frames, int)
    for a, b in stretches(up):
        kind[a:b] = 1 if lasts(a, b) else 0
    for a, b in stretches(~up):
        kind[a:b] = -1 if lasts(a, b) and hands[a:b].mean() >= HANDS else 0
    known = np.flatnonzero(kind)
    if not len(known):
        return ()
    kind = kind[known[np.clip(np.searchsorted(known, np.arange(len(kind)), side="right") - 1, 0, None)]]
    edges = [0, *(np.flatnonzero(np.diff(kind)) + 1).tolist(), len(kind)]
    if len(edges) < 3:
        return ()
    found = []
    for a, b in itertools.pairwise(edges):
        fits = body.tilt < BENT if kind[a] > 0 else hands
        start = a + (_way(fits[a:b], body.fps) if a else 0)
        stop = b - (_way(fits[a:b][::-1], body.fps) if b < len(kind) else 0)
        if not lasts(start, stop):
            return ()
        found.append(Part(MORPHOLOGIES["upright" if kind[a] > 0 else "four_legged"], start, stop))
    return tuple(found)


def told(parts: tuple[Part, ...], fps: float) -> str:
    """In words, which part is done in which map, with times in the person's clip."""
    on = {True: "on the feet", False: "on all fours"}
    pieces = ", ".join(f"{on[p.morphology.rears_up]} from {p.start / fps:.2f} to {p.stop / fps:.2f} s" for p in parts)
    return (
        f"{', '.join(p.morphology.name for p in parts)}: the person is {pieces}; between them the robot gets down or "
        "up in its own way, which makes the clip longer"
    )


def _on_all_fours(body: Body, config: RetargetConfig) -> NDArray[np.bool_]:
    """(T,) True where somebody who is down is on the hands."""
    hands = np.minimum(body.joints["left_wrist"][:, 2], body.joints["right_wrist"][:, 2])
    return (hands < config.hand_height) | (body.trunk[:, 2, 0] < FACING_DOWN)


def _way(fits: NDArray[np.bool_], fps: float) -> int:
    """Frames at the beginning of a stretch that are still on the way, at most LONGEST_WAY."""
    most = round(LONGEST_WAY * fps)
    return min(int(fits.argmax()) if fits.any() else 0, most)
