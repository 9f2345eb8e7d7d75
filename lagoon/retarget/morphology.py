"""Which part of the robot plays which part of the person.

What enters: a Body and the wish of the user. What leaves: the Supports of a clip, one map for each stretch, and the
reason for them. Further maps are added to MORPHOLOGIES.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import median_filter

from lagoon.errors import BadInputError, unknown_name
from lagoon.motion.stance import stance_of
from lagoon.motion.stretches import stretches
from lagoon.retarget.body import Body
from lagoon.robot import RobotSpec

Array = NDArray[np.float64]

TALL = 0.55
"""A person whose hips are higher than this share of the leg length above the lower ankle is on their feet."""
SHARE = 0.5
"""Auto chooses upright when the person is up for at least this share of the clip, and at both ends."""

LEAN = np.radians(25.0)
"""A spine that leans further than this [rad] over feet that stay is a bow: upright, a robot on two point feet can
hardly follow (80 % of the trials survived after 8 M steps), on four legs it is a play bow."""
INVERTED = -0.3
"""Height of the spine's upward direction below which the hips are over the shoulders."""
STRAIGHT = 0.6
"""Arms that carry hold the shoulders higher than this share of their length; in a roll the shoulders touch."""
SHORTEST = 0.2
"""A change of the support that lasts less than this [s] is none."""
ODD_STRETCH = 0.5
"""A stretch that the map does not fit is told from this length on [s]."""
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
    on_hands: bool = False
    """True when the front legs carry alone, head down."""
    own_feet: bool = False
    """True when the clip is a quadruped's, so that all four feet have places of their own."""

    def anchors(self, robot: RobotSpec) -> list[int]:
        """Indices of the legs whose places in the clip decide where the robot stands before and after it."""
        return [k for k, leg in enumerate(robot.legs) if self.own_feet or leg.is_front == self.on_hands]


_LIMBS = {
    "FL": ("left_shoulder", "left_elbow", "left_wrist"),
    "FR": ("right_shoulder", "right_elbow", "right_wrist"),
    "RL": ("left_hip", "left_knee", "left_ankle"),
    "RR": ("right_hip", "right_knee", "right_ankle"),
}

MORPHOLOGIES: dict[str, Morphology] = {
    "upright": Morphology("upright", _LIMBS, ("FL", "FR"), ("RL", "RR"), rears_up=True),
    "four_legged": Morphology("four_legged", _LIMBS, ("FL", "FR"), ("FL", "FR", "RL", "RR"), rears_up=False),
    "handstand": Morphology("handstand", _LIMBS, ("FL", "FR"), ("FL", "FR"), rears_up=True, on_hands=True),
}


@dataclass(frozen=True)
class Supports:
    """The maps of a clip, one after the other; the first and the last decide about lead-in and lead-out."""

    maps: tuple[Morphology, ...]
    """Either one, or upright and handstand in turn: they share the trunk, so that one goes over into the other."""
    starts: tuple[int, ...]
    """First frame of each."""
    reason: str
    """In words, why."""

    @property
    def first(self) -> Morphology:
        """Map of the first frame."""
        return self.maps[0]

    @property
    def last(self) -> Morphology:
        """Map of the last frame."""
        return self.maps[-1]

    @property
    def name(self) -> str:
        """The maps in the order in which they come, such as ``upright, handstand, upright``."""
        return ", ".join(m.name for m in self.maps)

    def on_hands(self, frames: int) -> NDArray[np.bool_]:
        """(T,) True where the front legs carry alone."""
        at = np.searchsorted(self.starts, np.arange(frames), side="right") - 1
        return np.array([m.on_hands for m in self.maps])[at]


def choose_supports(body: Body, wish: str, hand_height: float, text: str = "") -> Supports:
    """Return the maps and, in words, why.

    Rule for ``auto``: a person is *up* in a frame when the hips are higher than 55 % of the leg length
    above the lower ankle and no hand is near the floor, and *on the hands* when a hand is near it, the
    hips are over the shoulders and these over arms that carry. One or the other for at least half of the
    clip and at its start and end: upright and handstand in turn, otherwise four-legged. A spine that leans
    more than 25 degrees over feet that stay is four-legged too. So waving, clapping, kicking and a
    cartwheel rear the robot up; bowing, crawling, push-ups, sitting down, rolling and falling do not. Words
    such as "on four legs" or "on its hind legs" come before all that.

    Args:
        body: the person.
        wish: ``"auto"`` or the name of a map.
        hand_height: wrist height below which a hand is near the floor [m].
        text: what the motion is said to be; heard where the wish is ``"auto"``.

    Raises:
        BadInputError: the wish names no map, or a handstand is wished of a person who is not on the hands at both ends.
    """
    up, inverted = up_frames(body, hand_height), inverted_frames(body, hand_height)
    if wish != "auto":
        if wish not in MORPHOLOGIES:
            raise unknown_name("Morphology", wish, ["auto", *MORPHOLOGIES], "Choose one with morphology=NAME.")
        if MORPHOLOGIES[wish].on_hands and not (inverted[0] and inverted[-1]):
            raise BadInputError(
                f"The person stands on the hands for {inverted.mean():.0%} of the clip, but not in its first and last "
                "frame; the map handstand needs both. Type retarget.morphology=auto, which changes the map within a "
                "clip, or cut the clip."
            )
        return Supports((MORPHOLOGIES[wish],), (0,), f"{wish}: asked for")
    if (stance := stance_of(text)) is not None:
        return Supports((MORPHOLOGIES[stance.map],), (0,), f"{stance.map}: the command says '{stance.phrase}'")
    share = float((up | inverted).mean())
    able = share >= SHARE and bool((up | inverted)[0]) and bool((up | inverted)[-1])
    if able and bows(body) and not inverted.any():
        lean = np.degrees(body.tilt.max())
        reason = f"four_legged: the person leans {lean:.0f} degrees over feet that stay (upright up to 25 degrees)"
        return Supports((MORPHOLOGIES["four_legged"],), (0,), reason)
    if able and inverted.any():
        return _in_turn(body, inverted)
    where = {(True, True): "at both ends", (True, False): "not at the end", (False, True): "not at the start"}
    name = "upright" if able else "four_legged"
    reason = (
        f"{name}: the person is up on their feet for {float(up.mean()):.0%} of the clip, "
        f"{where.get((bool(up[0]), bool(up[-1])), 'at neither end')} (upright from {SHARE:.0%} with both ends)"
    )
    return Supports((MORPHOLOGIES[name],), (0,), reason + _told_of_the_rest(up if able else ~up, name, body.fps))


def _told_of_the_rest(fits: NDArray[np.bool_], name: str, fps: float) -> str:
    """In words, that one map serves the whole clip, if there is a stretch which it does not fit; else nothing."""
    long = [(a, b) for a, b in stretches(~fits) if b - a >= ODD_STRETCH * fps]
    if not long:
        return ""
    when = ", ".join(f"{a / fps:.1f} to {b / fps:.1f} s" for a, b in long)
    does = "is down" if name == "upright" else "is up"
    return (
        f"; one map serves the whole clip: from {when} the person {does} and the robot stays {name}. "
        "Cut the clip there to have each part in its own map"
    )


def _in_turn(body: Body, inverted: NDArray[np.bool_]) -> Supports:
    """Upright and handstand, in the order in which the person changes from feet to hands and back."""
    starts = (0, *(int(t) for t in np.flatnonzero(np.diff(inverted.astype(int))) + 1))
    maps = tuple(MORPHOLOGIES["handstand" if inverted[t] else "upright"] for t in starts)
    told = ", ".join(
        f"{'on the hands' if m.on_hands else 'on the feet'} from {t / body.fps:.2f} s"
        for m, t in zip(maps, starts, strict=True)
    )
    return Supports(maps, starts, f"{', '.join(m.name for m in maps)}: the person is {told}")


def bows(body: Body) -> bool:
    """True when the spine leans far over feet that stay where they are."""
    ankles = (body.joints["left_ankle"], body.joints["right_ankle"])
    travel = max(float(np.ptp(ankle[:, :2], axis=0).max()) for ankle in ankles)
    return bool(body.tilt.max() > LEAN) and travel < PLANTED


def inverted_frames(body: Body, hand_height: float) -> NDArray[np.bool_]:
    """(T,) True where the person is on the hands, as choose_supports defines it; short changes are left out."""
    hands = np.minimum(body.joints["left_wrist"][:, 2], body.joints["right_wrist"][:, 2])
    high = body.middle("shoulder")[:, 2] > STRAIGHT * body.arm_length
    return _lasting((body.trunk[:, 2, 2] < INVERTED) & (hands < hand_height) & high, body.fps)


def _lasting(mask: NDArray[np.bool_], fps: float) -> NDArray[np.bool_]:
    """The (T,) mask without stretches that are shorter than SHORTEST."""
    return median_filter(mask, size=2 * max(1, round(SHORTEST * fps)) + 1, mode="reflect")


def up_frames(body: Body, hand_height: float) -> NDArray[np.bool_]:
    """(T,) True where the person is up, as choose_supports defines it; short changes are left out."""
    ankles = np.minimum(body.joints["left_ankle"][:, 2], body.joints["right_ankle"][:, 2])
    hands = np.minimum(body.joints["left_wrist"][:, 2], body.joints["right_wrist"][:, 2])
    tall = body.middle("hip")[:, 2] - ankles > TALL * body.leg_length
    return _lasting(tall & (hands > hand_height), body.fps)
