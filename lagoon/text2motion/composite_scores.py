"""Do motions of commands of two parts do both parts, one after another or at once?

What enters: systems that make a motion of a command. What leaves: the share of motions that do, with its interval
over seeds. A part is done if its predicate holds, for "A, then B" of A before some moment and of B after it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lagoon.progress import Progress, silent
from lagoon.text2motion import features, predicates, scores

Array = NDArray[np.float64]
Speaker = Callable[[str, int], Array]
"""Makes a motion (T, 22, 3) [m] of a command, with a seed."""
SHORTEST = 10
"""Fewest frames of a part."""
STRIDE = 5
"""Frames between two moments at which "A, then B" may be cut."""


@dataclass(frozen=True)
class Composite:
    """A command of two parts."""

    command: str
    """As it is typed."""
    first: str
    """Predicate of what is named first."""
    second: str
    """Predicate of the other part."""
    at_once: bool = False
    """Whether both go on at the same time."""

    def done(self, joint_pos_w: Array) -> bool:
        """Whether a motion (T, 22, 3) [m] does both."""
        one, other = predicates.PREDICATES[self.first], predicates.PREDICATES[self.second]
        if self.at_once:
            return one(joint_pos_w) and other(joint_pos_w)
        cuts = range(SHORTEST, len(joint_pos_w) - SHORTEST + 1, STRIDE)
        return any(one(joint_pos_w[:cut]) and other(features.canonical(joint_pos_w[cut:])) for cut in cuts)


COMPOSITES = (
    Composite("wave twice, then bow", "wave", "bow"),
    Composite("clap your hands and then wave", "clap", "wave"),
    Composite("bow, then clap your hands", "bow", "clap"),
    Composite("do a squat, then jump", "squat", "jump"),
    Composite("walk forward and then bow", "walk", "bow"),
    Composite("turn left and sit down", "turn left", "sit"),
    Composite("turn right, then wave hello", "turn right", "wave"),
    Composite("punch, then kick", "punch", "kick"),
    Composite("march in place, then clap your hands", "march", "clap"),
    Composite("nod your head, then turn left", "nod", "turn left"),
    Composite("walk forward while waving", "walk", "wave", at_once=True),
    Composite("clap your hands while walking forward", "clap", "walk", at_once=True),
    Composite("march in place while clapping", "march", "clap", at_once=True),
    Composite("wave while turning left", "wave", "turn left", at_once=True),
)
"""Commands that are asked."""


def compare(systems: dict[str, Speaker], seeds: int, progress: Progress = silent) -> dict[str, dict]:
    """Ask every system for every composite.

    Args:
        systems: name to system.
        seeds: motions per command.
        progress: told what is being done.

    Returns:
        For each system ``share`` as [mean, half width of the 95 % interval over seeds], and ``passes`` by command.
    """
    found: dict[str, dict] = {}
    total, asked = len(systems) * seeds * len(COMPOSITES), 0
    for name, system in systems.items():
        done = np.zeros((seeds, len(COMPOSITES)), bool)
        for seed in range(seeds):
            for index, composite in enumerate(COMPOSITES):
                done[seed, index] = composite.done(system(composite.command, seed))
                asked += 1
                progress(asked / total, f"{name}, seed {seed}: {composite.command}")
        found[name] = {
            "share": [round(value, 4) for value in scores.interval(done.mean(axis=1).tolist())],
            "passes": {c.command: int(done[:, index].sum()) for index, c in enumerate(COMPOSITES)},
        }
    return found
