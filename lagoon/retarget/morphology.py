"""Which part of the robot plays which part of the person.

What enters: a Body and the wish of the user. What leaves: a Morphology and the reason for it. Further
maps (a handstand, say) are added to MORPHOLOGIES.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lagoon.errors import unknown_name
from lagoon.retarget.body import Body

Array = NDArray[np.float64]

TALL = 0.55
"""A person whose hips are higher than this share of the leg length above the lower ankle is on their feet."""
SHARE = 0.5
"""Auto chooses upright when the person is up for at least this share of the clip, and at both ends."""

LEAN = np.radians(25.0)
"""A spine that leans further than this [rad] over feet that stay is a bow: upright, a robot on two point feet can
hardly follow (80 % of the trials survived after 8 M steps), on four legs it is a play bow."""
PLANTED = 0.1
"""Ankles that travel less than this in the ground plane [m] stay."""


@dataclass(frozen=True)
class Morphology:
    """A map from human limbs to robot legs and from the trunk to the base."""

    name: str
    limbs: dict[str, tuple[str, str, str]]
    """Robot leg: human joints that play its thigh joint, its knee and its foot."""
    elbow_legs: tuple[str, ...]
    """Legs whose knee bends like the human joint and so follows it. The Go2's hind knees bend the other way."""
    stands_on: tuple[str, ...]
    """Legs that carry the robot when the person stands."""
    rears_up: bool
    """True when the base is turned by a quarter: base +X along the spine, belly (base -Z) forward."""


_LIMBS = {
    "FL": ("left_shoulder", "left_elbow", "left_wrist"),
    "FR": ("right_shoulder", "right_elbow", "right_wrist"),
    "RL": ("left_hip", "left_knee", "left_ankle"),
    "RR": ("right_hip", "right_knee", "right_ankle"),
}

MORPHOLOGIES: dict[str, Morphology] = {
    "upright": Morphology("upright", _LIMBS, ("FL", "FR"), ("RL", "RR"), rears_up=True),
    "four_legged": Morphology("four_legged", _LIMBS, ("FL", "FR"), ("FL", "FR", "RL", "RR"), rears_up=False),
}


def choose_morphology(body: Body, wish: str, hand_height: float) -> tuple[Morphology, str]:
    """Return the map and, in words, why.

    Rule for ``auto``: a person is *up* in a frame when the hips are higher than 55 % of the leg length
    above the lower ankle and no hand is near the floor. Up for at least half of the clip and in its
    first and last frame: upright, otherwise four-legged. A spine that leans more than 25 degrees over
    feet that stay is four-legged too. So waving, clapping, kicking and a cartwheel rear the robot up;
    bowing, crawling, push-ups, sitting down, rolling and falling do not.

    Args:
        body: the person.
        wish: ``"auto"`` or the name of a map.
        hand_height: wrist height below which a hand is near the floor [m].

    Raises:
        BadInputError: the wish names no map.
    """
    if wish != "auto":
        if wish not in MORPHOLOGIES:
            raise unknown_name("Morphology", wish, ["auto", *MORPHOLOGIES], "Choose one with morphology=NAME.")
        return MORPHOLOGIES[wish], f"{wish}: asked for"
    up = up_frames(body, hand_height)
    share = float(up.mean())
    name = "upright" if share >= SHARE and up[0] and up[-1] else "four_legged"
    if name == "upright" and bows(body):
        lean = np.degrees(body.tilt.max())
        reason = f"four_legged: the person leans {lean:.0f} degrees over feet that stay (upright up to 25 degrees)"
        return MORPHOLOGIES["four_legged"], reason
    where = {(True, True): "at both ends", (True, False): "not at the end", (False, True): "not at the start"}
    reason = (
        f"{name}: the person is up on their feet for {share:.0%} of the clip, "
        f"{where.get((bool(up[0]), bool(up[-1])), 'at neither end')} (upright from {SHARE:.0%} with both ends)"
    )
    return MORPHOLOGIES[name], reason


def bows(body: Body) -> bool:
    """True when the spine leans far over feet that stay where they are."""
    ankles = (body.joints["left_ankle"], body.joints["right_ankle"])
    travel = max(float(np.ptp(ankle[:, :2], axis=0).max()) for ankle in ankles)
    return bool(body.tilt.max() > LEAN) and travel < PLANTED


def up_frames(body: Body, hand_height: float) -> NDArray[np.bool_]:
    """(T,) True where the person is up, as choose_morphology defines it."""
    ankles = np.minimum(body.joints["left_ankle"][:, 2], body.joints["right_ankle"][:, 2])
    hands = np.minimum(body.joints["left_wrist"][:, 2], body.joints["right_wrist"][:, 2])
    tall = body.middle("hip")[:, 2] - ankles > TALL * body.leg_length
    return tall & (hands > hand_height)
