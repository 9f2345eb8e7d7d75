"""Says before any training whether a robot can be expected to do a motion, and if not, why and what to change.

What enters: series over the frames of a motion. What leaves: a Verdict of three grades with reasons by time.
The limits stand in LIMITS; benchmarks/retarget/bench_verdict.py holds them against short trainings.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import NDArray

from lagoon.motion.stretches import stretches

Array = NDArray[np.float64]

TRACKABLE, HARD, NOT_TRACKABLE = "trackable", "hard", "not trackable"
GRADES = (TRACKABLE, HARD, NOT_TRACKABLE)


@dataclass(frozen=True)
class Limit:
    """From where on a quantity makes a motion hard, and from where on hopeless."""

    key: str
    """Name of the series."""
    hard: float
    hopeless: float
    seconds: float
    """How long it must stay there to count [s]; single frames are ridden out."""
    text: str
    """The reason; {value} is the worst value, {where} names joints or feet."""
    advice: str


LIMITS = (
    Limit(
        "torque",
        1.0,
        2.0,
        0.06,
        "{where} would have to deliver {value:.1f} times its torque",
        "slower (retarget.speed=0.7), or smaller",
    ),
    Limit(
        "pressure",
        0.06,
        0.30,
        0.10,
        "the pressure point is {value_cm:.0f} cm outside the feet that carry",
        "slower, or on four legs (retarget=four_legged)",
    ),
    Limit(
        "pull",
        0.02,
        0.30,
        0.06,
        "the floor would have to pull at the feet with {value:.1f} times the weight",
        "slower (retarget.speed=0.7)",
    ),
    Limit(
        "friction",
        0.8,
        1.5,
        0.10,
        "the feet would need a friction of {value:.1f}",
        "slower, or with smaller steps",
    ),
    Limit(
        "speed",
        0.95,
        1.3,
        0.04,
        "{where} would have to turn at {value:.1f} times its speed limit",
        "slower (retarget.speed=0.7)",
    ),
    Limit(
        "flight",
        0.5,
        1.5,
        0.06,
        "all feet are off the floor",
        "a lower jump, or slower",
    ),
    Limit(
        "depth",
        0.005,
        0.03,
        0.04,
        "{where} is {value_cm:.0f} cm below the floor",
        "another body map (retarget=upright or retarget=four_legged)",
    ),
    Limit(
        "off_feet",
        0.5,
        1.5,
        0.3,
        "the person carries weight with other parts than hands and feet, which the robot cannot",
        "another command",
    ),
)
"""Flight and off_feet are 1 where they hold, so that they alone never make a motion hopeless."""


@dataclass(frozen=True)
class Reason:
    """One thing that stands in the way, over one stretch of frames."""

    kind: str
    """Key of a Limit."""
    grade: str
    """hard or not trackable."""
    start: int
    """First frame."""
    stop: int
    """Last frame."""
    value: float
    """The worst value of the stretch."""
    text: str
    """In words, with frames and times."""
    advice: str
    """What to change."""


@dataclass(frozen=True)
class Verdict:
    """The grade of a motion and what it rests on."""

    grade: str
    """trackable, hard or not trackable."""
    reasons: tuple[Reason, ...]
    """Worst first."""

    def to_dict(self) -> dict[str, object]:
        """Plain values, ready for JSON."""
        return {"grade": self.grade, "reasons": [asdict(reason) for reason in self.reasons]}

    def lines(self, most: int = 5) -> list[str]:
        """The verdict as lines of text, at most so many reasons."""
        if not self.reasons:
            return [self.grade]
        told = [f"{self.grade}: {self.reasons[0].text}; try it {self.reasons[0].advice}"]
        told += [f"{reason.text}; try it {reason.advice}" for reason in self.reasons[1:most]]
        if len(self.reasons) > most:
            told.append(f"... and {len(self.reasons) - most} more in retarget.json")
        return told


@dataclass(frozen=True)
class Series:
    """A quantity over the T frames, with who is to blame in each."""

    values: Array
    """(T,)"""
    where: Sequence[str] = ()
    """(T,) names for the text; empty where the text needs none."""


def judge(series: dict[str, Series], fps: float) -> Verdict:
    """Compare every series with its limits.

    Args:
        series: by the keys of LIMITS; a missing one is not judged.
        fps: frame rate [Hz].
    """
    reasons: list[Reason] = []
    for limit in LIMITS:
        if limit.key not in series:
            continue
        least = max(1, round(limit.seconds * fps))
        reasons += [
            _reason(limit, series[limit.key], start, stop, fps)
            for start, stop in _lasting(series[limit.key].values >= limit.hard, least)
        ]
    order = {NOT_TRACKABLE: 0, HARD: 1}
    worst = {limit.key: limit.hopeless for limit in LIMITS}
    reasons.sort(key=lambda reason: (order[reason.grade], -reason.value / worst[reason.kind], reason.start))
    grade = max((reason.grade for reason in reasons), key=GRADES.index, default=TRACKABLE)
    return Verdict(grade, tuple(reasons))


def shares(series: dict[str, Series]) -> dict[str, list[float]]:
    """Curves for people: every series as a share of the level from which it makes a motion hard."""
    limits = {limit.key: limit.hard for limit in LIMITS}
    return {key: np.round(item.values / limits[key], 3).tolist() for key, item in series.items()}


def _reason(limit: Limit, series: Series, start: int, stop: int, fps: float) -> Reason:
    values = series.values[start:stop]
    least = max(1, round(limit.seconds * fps))
    # A stretch is hopeless by what it keeps up, not by its peak frame.
    hopeless = bool(_lasting(values >= limit.hopeless, least))
    peak = start + int(np.argmax(values))
    value = float(values.max())
    where = series.where[peak] if series.where else ""
    text = limit.text.format(value=value, value_cm=100.0 * value, where=where)
    frames = f"frames {start} to {stop - 1} ({start / fps:.2f} to {(stop - 1) / fps:.2f} s)"
    return Reason(
        kind=limit.key,
        grade=NOT_TRACKABLE if hopeless else HARD,
        start=start,
        stop=stop - 1,
        value=value,
        text=f"{frames}: {text}",
        advice=limit.advice,
    )


def _lasting(mask: NDArray[np.bool_], least: int) -> list[tuple[int, int]]:
    """Half-open runs of True of at least that many frames; gaps shorter than that are bridged."""
    joined: list[tuple[int, int]] = []
    for run in stretches(mask):
        if joined and run[0] - joined[-1][1] < least:
            joined[-1] = (joined[-1][0], run[1])
        else:
            joined.append(run)
    return [run for run in joined if run[1] - run[0] >= least]
