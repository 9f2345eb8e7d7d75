"""Chooses among candidates: which motion says what the words say, can be done by a person, and suits the robot?

What enters: candidate motions of one command, what is known about it, and, if the caller has one, a function
that tells what a motion would cost on the robot. What leaves: the candidates with all their scores, best first.
Every term is a cost that is about one when it is as large as is just acceptable.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from lagoon.text2motion import augment, plausibility
from lagoon.text2motion.grounding import Grounded
from lagoon.text2motion.matching import Matcher
from lagoon.text2motion.text_encoder import Encoding

Array = NDArray[np.float64]
Appraise = Callable[[Array], float]
"""Cost on the robot of a motion (T, 22, 3) [m]; given by the caller, so that this stage knows no robot."""

CORRECTION_COST = 20.0
"""Cost per metre that clean-up had to move the standing feet: 5 cm weigh as much as a slide of 0.15 m/s."""
ACTIVITY_COST = 12.0
"""Cost per unit of plausibility.unlike: a wave that moves half as much as waves do weighs as much as a bad slide."""
WORDS_COST = 8.0
"""Cost of a cosine between words and motion that is one lower."""
ENDS_COST = 3.0
"""Cost per metre that a joint is away from the relaxed stand where a gesture begins or ends."""
NEAR_REST = 0.25
"""Distance of the farthest joint from the relaxed stand [m] within which most candidates of a gesture begin and end."""
COUNT_COST = 3.0
"""Cost of each repetition too many or too few."""
DOABLE = 16.0
"""A motion that costs the robot more than this is tried last: marches that were learned cost 14, kicks that were not 20
and more."""
ROBOT_COST = 1.5
"""Weight of what the caller's function says, of which log(1 + cost) counts: far beyond what is acceptable, twice as
bad is not twice as much worse."""


@dataclass(frozen=True)
class Asked:
    """What a candidate is held against."""

    encoding: Encoding
    """The words."""
    activity: Array
    """(4,) how much motions of the nearest known command move [m/s]."""
    count: int | None = None
    """Repetitions asked for; None if nothing was said."""
    cycle: tuple[str, float] | None = None
    """What peaks once per repetition and by how much [m], see augment.cycle_signal; None if nothing is known to."""
    rest: Array | None = None
    """(22, 3) relaxed stand [m], in which gestures begin and end; None leaves that out."""
    gesture: bool = False
    """Whether the words say that it is done with arms and head, so that it should begin and end in that stand."""


@dataclass(frozen=True)
class Candidate:
    """One sampled motion with its scores."""

    number: int
    """Place among the sampled ones; with the seed it names the motion."""
    joint_pos_w: Array
    """(T, 22, 3) joint positions [m]."""
    planted: bool
    """Whether both feet stay for the whole motion."""
    costs: dict[str, float] = field(default_factory=dict)
    """Name and value of each term; lower is better."""
    cosine: float | None = None
    """How well the words fit, -1 to 1; None for a model without a network that tells."""
    likelihood: float = 0.0
    """How much the words raise its log-probability [nat per token]."""
    count: int | None = None
    """Repetitions seen; None where they cannot be told."""
    vector: Array | None = None
    """(D,) where it lies in the space of the network that compares words and motion; None without one."""

    @property
    def cost(self) -> float:
        """Sum of the terms."""
        return sum(self.costs.values())

    def row(self) -> dict[str, object]:
        """Plain values for candidates.json."""
        measured = plausibility.measure(self.joint_pos_w)
        return {
            "number": self.number,
            "cost": round(self.cost, 4),
            "terms": {name: round(value, 4) for name, value in self.costs.items()},
            "words_cosine": None if self.cosine is None else round(self.cosine, 4),
            "likelihood_gain": round(self.likelihood, 4),
            "repetitions": self.count,
            "feet_planted": self.planted,
            "foot_slide": round(measured.foot_slide, 4),
            "jitter": round(measured.jitter, 5),
        }


def repetitions(joint_pos_w: Array, cycle: tuple[str, float]) -> int:
    """How often a motion (T, 22, 3) does what ``cycle`` says peaks once per repetition."""
    if cycle[0] == "hand_out":
        return augment.sweeps(joint_pos_w, cycle[1])
    return len(augment.peaks(augment.cycle_signal(joint_pos_w, cycle[0]), cycle[1]))


def score(
    takes: Sequence[Grounded], likelihood: Sequence[float], asked: Asked, matcher: Matcher | None, weight: float
) -> list[Candidate]:
    """Score candidates, without the robot.

    Args:
        takes: N motions after clean-up.
        likelihood: N gains in log-probability by the words [nat per token].
        asked: what they are held against.
        matcher: network that compares words and motion; None for a model without one.
        weight: cost of a likelihood gain that is one lower.
    """
    cosines: list[float | None] = [None] * len(takes)
    vectors: list[Array | None] = [None] * len(takes)
    if matcher is not None:
        embedded = matcher.embed_motions([take.joint_pos_w for take in takes])
        cosines, vectors = (embedded @ matcher.embed_texts([asked.encoding])[0]).tolist(), list(embedded)
    found, ends = [], _ends(takes, asked.rest)
    # Whether it is a gesture is told by the words, or by the candidates themselves: most then begin and end standing.
    is_gesture = asked.rest is not None and (asked.gesture or bool(np.median(ends) < NEAR_REST))
    for number, (take, gain, cosine) in enumerate(zip(takes, likelihood, cosines, strict=True)):
        pos = take.joint_pos_w
        counted = repetitions(pos, asked.cycle) if asked.cycle else None
        costs = {
            "plausibility": plausibility.measure(pos).cost,
            "clean-up": CORRECTION_COST * take.correction,
            # Likely tokens are still ones: without this, the best looking wave is often an arm held up.
            "activity": ACTIVITY_COST * plausibility.unlike(plausibility.activity(pos), asked.activity),
            "likelihood": -weight * gain,
        }
        if is_gesture:
            costs["ends"] = ENDS_COST * float(ends[number])
        if cosine is not None:
            costs["words"] = WORDS_COST * (1.0 - cosine)
        if counted is not None and asked.count is not None:
            costs["repetitions"] = COUNT_COST * abs(counted - asked.count)
        found.append(Candidate(number, pos, take.planted, costs, cosine, float(gain), counted, vectors[number]))
    return found


def _ends(takes: Sequence[Grounded], rest: Array | None) -> Array:
    """(N,) distance [m] from the relaxed stand of the joint that is farthest from it, at either end."""
    if rest is None:
        return np.full(len(takes), np.inf)
    both = [(take.joint_pos_w[0], take.joint_pos_w[-1]) for take in takes]
    return np.array([max(augment.rest_distances(pose, rest).max() for pose in ends) for ends in both])


def choose(
    candidates: Sequence[Candidate],
    appraise: Appraise | None,
    appraised: int,
    variety: float = 0.0,
    seed: int = 0,
    at_most: int = 0,
) -> list[Candidate]:
    """Order candidates: the chosen one, then the others, best first.

    The function that knows the robot is slow, so it is asked about the few that are best without it, and about as many
    more while it finds none that the robot can do well; their number does not depend on time, so that the same seed
    gives the same motion on a slow machine. Its answer decides. Where the robot is
    not asked, several motions are about as good; the best of them is much the same for every seed, so that each
    seed then takes the one that is farthest in a direction of its own.

    Args:
        candidates: scored ones.
        appraise: cost of a motion on the robot; None leaves the robot out.
        appraised: how many it is asked about.
        variety: cost above the least up to which a motion may be taken where the robot is not asked.
        seed: seed of that direction.
        at_most: how many it is asked about where none does; ``appraised`` if that is more.
    """
    order = sorted(candidates, key=lambda c: (c.cost, c.number))
    if appraise is None or appraised < 1:
        return _varied(order, variety, seed)
    asked: list[Candidate] = []
    least = np.inf
    while len(asked) < len(order) and (not asked or (least > DOABLE and len(asked) < at_most)):
        for candidate in order[len(asked) : len(asked) + appraised]:
            price = appraise(candidate.joint_pos_w)
            least = min(least, price)
            asked.append(replace(candidate, costs={**candidate.costs, "robot": _robot_cost(price)}))
    return sorted(asked, key=lambda c: (c.cost, c.number)) + order[len(asked) :]


def suits(candidate: Candidate) -> bool | None:
    """Whether the robot can do a motion well; None where it was not asked."""
    price = candidate.costs.get("robot")
    return None if price is None else price <= _robot_cost(DOABLE)


def _robot_cost(price: float) -> float:
    return ROBOT_COST * float(np.log1p(max(0.0, price)))


def _varied(order: list[Candidate], variety: float, seed: int) -> list[Candidate]:
    """The order with one of those that are about as good as the best put first."""
    good = [c for c in order if c.cost <= order[0].cost + variety]
    if variety <= 0.0 or len(good) < 2:
        return order
    rng = np.random.default_rng((seed, 23))
    vectors = [c.vector for c in good if c.vector is not None]
    if len(vectors) == len(good):
        chosen = int((np.stack(vectors) @ rng.normal(size=len(vectors[0]))).argmax())
    else:
        chosen = int(rng.integers(len(good)))
    return [good[chosen], *(c for c in order if c is not good[chosen])]
