"""The nearest motion that is trackable: slower, smaller, with lower jumps, on a wider stance.

What enters: a motion's report and a way to retarget it with changes. What leaves: the motion with the fewest changes
that the verdict calls trackable, or the best one found, and what was changed. A search over a few named parameters,
each on a short ladder; the reasons of the verdict say which of them may help. First as far as they go, alone and
together, then back by bisection as far as the grade stays. Deterministic.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from itertools import pairwise

import numpy as np

from lagoon.motion.robot_motion import RobotMotion
from lagoon.retarget.config import RetargetConfig
from lagoon.retarget.quality import RetargetReport
from lagoon.retarget.verdict import GRADES, TRACKABLE, Verdict

LADDERS: dict[str, tuple[float, ...]] = {
    "speed": (1.0, 0.8, 0.65, 0.5, 0.4),
    "size": (1.0, 0.8, 0.6, 0.45, 0.3),
    "jump": (1.0, 0.6, 0.3, 0.0),
    "stance": (1.0, 1.25, 1.5),
}
"""Values of each parameter, from what the person does to what is farthest from it."""
REMEDIES = {
    "torque": ("speed", "size"),
    "pressure": ("speed", "size", "stance"),
    "pull": ("jump", "speed", "size"),
    "friction": ("size", "speed"),
    "speed": ("speed", "size"),
    "flight": ("jump", "size"),
    "depth": ("size",),
}
"""Parameters that may help against each kind of reason; what is not here, such as lying, none of them helps."""
TRIES = 16
"""Most retargetings of one search."""
RESERVE = 9
"""How many of them are kept for trying four legs, and for undoing what is not needed."""
GAIN = 0.02
"""A step that takes away less than this share of the overload leads nowhere."""
WORST = 3.0
"""A demand beyond this many times its limit counts no more."""
NUMBERS = {
    "duration": ("length", "s", 1.0),
    "torque_use_max": ("torque, share of the limit", "%", 100.0),
    "pressure_p90": ("pressure point off the feet, p90", "cm", 100.0),
    "pressure_max": ("pressure point off the feet, max", "cm", 100.0),
    "friction_p90": ("friction, p90", "", 1.0),
    "velocity_use_max": ("joint speed, share of the limit", "%", 100.0),
    "load_max": ("weight on the feet, max", "times", 1.0),
    "flight": ("in flight", "%", 100.0),
    "tracking_mean": ("feet follow, mean", "cm", 100.0),
}
"""What is compared: name, unit and factor of numbers of the report."""

Attempt = Callable[["Changes"], tuple[RobotMotion, RetargetReport]]


@dataclass(frozen=True)
class Changes:
    """How a motion differs from the person's; the defaults are no difference."""

    speed: float = 1.0
    """Share of the person's speed."""
    size: float = 1.0
    """Share of every departure from the mean pose."""
    jump: float = 1.0
    """Share of the height of flights."""
    stance: float = 1.0
    """Distance between the feet that stand, as a share of the usual one."""
    four_legged: bool = False
    """On four legs, though the person is up."""

    def words(self) -> list[str]:
        """Each change in words."""
        told = {
            "four_legged": "on four legs",
            "speed": f"at {self.speed:.0%} of the speed",
            "size": f"{self.size:.0%} of the amplitude",
            "jump": "without leaving the floor" if self.jump == 0.0 else f"jumps {self.jump:.0%} as high",
            "stance": f"feet {self.stance:.0%} as far apart",
        }
        plain = asdict(Changes())
        return [text for name, text in told.items() if getattr(self, name) != plain[name]]


@dataclass(frozen=True)
class Fix:
    """What a search found."""

    solved: bool
    """The motion is trackable now."""
    changes: Changes
    words: tuple[str, ...]
    """The changes in words."""
    tries: int
    """Retargetings that were needed."""
    grade_before: str
    """Verdict on the motion without changes."""
    table: tuple[tuple[str, str, str], ...]
    """Name of each of NUMBERS, and its value with unit without and with the changes."""
    demands_before: dict[str, list[float]]
    """Curves of the report without changes, over its own frames."""

    def lines(self, verdict: Verdict) -> list[tuple[str, str]]:
        """Label and text of each line of the comparison."""
        if not self.words:
            if self.tries == 0:
                why = "it is trackable" if self.solved else "slower, smaller, lower or wider does not help against this"
                return [("fix", f"nothing to change: {why}")]
            return [("fix", f"nothing that was tried makes it {TRACKABLE} ({self.tries} tries); it is as it was")]
        found = "trackable" if self.solved else f"still {verdict.grade}, the best of what was tried"
        rows = [("fix", f"{', '.join(self.words)}: {found} ({self.tries} tries)")]
        width = max(len(name) for name, _, _ in NUMBERS.values())
        rows.append(("", f"{'before':>{width + 12}} {'after':>11}"))
        rows.append(("", f"{'verdict':{width}} {self.grade_before:>11} {verdict.grade:>11}"))
        rows += [("", f"{name:{width}} {old:>11} {new:>11}") for name, old, new in self.table]
        return rows


def find(
    attempt: Attempt, first: tuple[RobotMotion, RetargetReport], config: RetargetConfig
) -> tuple[RobotMotion, RetargetReport]:
    """Search for the nearest trackable motion.

    Args:
        attempt: retargets with changes.
        first: the motion without changes, perhaps slowed down already, and its report.
        config: a speed or a map that is set there is kept.

    Returns:
        The motion and its report, with ``fix`` filled in.
    """
    search = _Search(attempt, first, config)
    if first[1].verdict.grade != TRACKABLE and search.free():
        search.reach()
        if search.grade != TRACKABLE and config.morphology == "auto" and first[1].morphology == "upright":
            search.go_down()
        if GRADES.index(search.grade) < GRADES.index(first[1].verdict.grade):
            search.step_back()
        else:
            search.give_up()
    motion, report = search.best
    before = first[1]
    fix = Fix(
        solved=report.verdict.grade == TRACKABLE,
        changes=search.changes,
        words=tuple(search.changes.words()),
        tries=search.tries,
        grade_before=before.verdict.grade,
        table=tuple(
            (name, _told(getattr(before, key), unit, factor), _told(getattr(report, key), unit, factor))
            for key, (name, unit, factor) in NUMBERS.items()
        ),
        demands_before=before.demands,
    )
    return motion, replace(report, fix=fix)


def overload(report: RetargetReport) -> float:
    """Seconds that the demands are over their limits, times by how much, over all kinds."""
    over = [np.clip(np.asarray(curve) - 1.0, 0.0, WORST).sum() for curve in report.demands.values()]
    return float(np.sum(over) / report.fps)


class _Search:
    """The state of one search: the best motion so far and what it changes."""

    def __init__(self, attempt: Attempt, first: tuple[RobotMotion, RetargetReport], config: RetargetConfig) -> None:
        self.attempt, self.config = attempt, config
        self.start = self.changes = Changes(speed=first[1].speed)
        self.best = first
        self.tries = 0
        self._seen = {self.changes: first}

    @property
    def grade(self) -> str:
        """Verdict on the best motion."""
        return self.best[1].verdict.grade

    def free(self) -> list[str]:
        """Parameters that may still help, those against the worst reasons first."""
        names: list[str] = []
        for reason in self.best[1].verdict.reasons:
            names += [name for name in REMEDIES.get(reason.kind, ()) if name not in names]
        if self.config.speed is not None and "speed" in names:
            names.remove("speed")
        if self.best[1].morphology == "four_legged" and "stance" in names:
            names.remove("stance")
        return names

    def reach(self) -> None:
        """Move the parameters that may help to the end of their ladders, each alone and then together."""
        names: list[str] = []
        while (fresh := [name for name in self.free() if name not in names]) and self.grade != TRACKABLE:
            names += fresh
            groups = [[name] for name in names] if len(names) == len(fresh) else []
            for group in [*groups, names]:
                changes = replace(Changes(speed=self.start.speed), **{name: LADDERS[name][-1] for name in group})
                if self.tries < TRIES - RESERVE and self._better(changes):
                    self._take(changes)
                if self.grade == TRACKABLE:
                    return

    def go_down(self) -> None:
        """On four legs instead, if that is trackable as it is or with the changes so far."""
        for changes in (replace(self.start, four_legged=True), replace(self.changes, four_legged=True)):
            if self.tries < TRIES and self._cost(changes)[0] == 0:
                self._take(changes)
                return

    def step_back(self) -> None:
        """Bring each parameter back as far as the grade stays, the one that costs the most meaning first."""
        for name in ("size", "jump", "stance", "speed"):
            values = _halved(LADDERS[name])
            low, high = _nearest(values, getattr(self.start, name)), _nearest(values, getattr(self.changes, name))
            while low < high and self.tries < TRIES:
                middle = (low + high) // 2
                nearer = replace(self.changes, **{name: values[middle]})
                if self._cost(nearer)[0] <= GRADES.index(self.grade):
                    self._take(nearer)
                    high = middle
                else:
                    low = middle + 1

    def give_up(self) -> None:
        """Back to the motion without changes: a smaller one that is as hard is worth less."""
        self.changes, self.best = self.start, self._seen[self.start]

    def _result(self, changes: Changes) -> tuple[RobotMotion, RetargetReport]:
        if changes not in self._seen:
            self._seen[changes] = self.attempt(changes)
            self.tries += 1
        return self._seen[changes]

    def _cost(self, changes: Changes) -> tuple[int, float]:
        report = self._result(changes)[1]
        return GRADES.index(report.verdict.grade), overload(report)

    def _better(self, changes: Changes) -> bool:
        grade, over = self._cost(changes)
        best = GRADES.index(self.grade), overload(self.best[1])
        return grade < best[0] or (grade == best[0] and over < (1.0 - GAIN) * best[1])

    def _take(self, changes: Changes) -> None:
        self.changes, self.best = changes, self._result(changes)


def _told(value: float, unit: str, factor: float) -> str:
    return f"{factor * value:.1f} {unit}" if unit else f"{factor * value:.2f}"


def _halved(ladder: tuple[float, ...]) -> tuple[float, ...]:
    """The values of a ladder with the middle of each step."""
    middles = [0.5 * (a + b) for a, b in pairwise(ladder)]
    return (ladder[0], *(value for pair in zip(middles, ladder[1:], strict=True) for value in pair))


def _nearest(ladder: tuple[float, ...], value: float) -> int:
    return min(range(len(ladder)), key=lambda i: abs(ladder[i] - value))
