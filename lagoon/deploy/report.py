"""The verdict of an evaluation, for people and for evaluation.json.

What enters: errors and falls of every trial. What leaves: an Evaluation with numbers, a PASS or FAIL
against the stated thresholds, and sentences that say where it falls and why.
"""

from __future__ import annotations

import json
import math
import warnings
from collections import Counter
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lagoon.bundle import BundleInfo
from lagoon.paths import write_text

SCHEMA_VERSION = 1
AFTER = "hold"
"""Name of the time after the reference's last frame."""
END = "end"
"""Name of the last check: does it stand on four legs."""
UNITS = {
    "joint_error": ("rad", "joint angles off the reference, mean over joints"),
    "foot_error": ("m", "feet off the reference in the base frame, mean over feet"),
    "tilt_error": ("rad", "gravity direction off the reference"),
    "orientation_error": ("rad", "whole orientation off the reference, heading included"),
    "height_error": ("m", "base height off the reference"),
    "heading_error": ("rad", "heading off the reference, counted from the start"),
    "torque_share": ("of limit", "torque, mean over joints"),
    "torque_saturated": ("share", "motors at their limit"),
    "joint_at_limit": ("share", "joints within 0.02 rad of a stop"),
    "foot_slip": ("m/s", "sliding speed of feet that carry weight"),
    "aligned_joint_error": ("rad", "joint angles off the frame of the reference where the robot is"),
    "time_lag": ("s", "distance of that frame from the clock"),
    "action_rate": ("rad", "change of the joint targets in one tick, RMS over joints"),
    "action_peak": ("rad", "largest change of a joint target in one tick"),
    "chatter": ("rad", "part of the joint targets faster than 8 Hz, RMS"),
    "chatter_share": ("of power", "that part's share of all that the joint targets move"),
    "torque_rate": ("Nm/s", "change of the torques, mean over joints"),
    "torque_peak": ("of limit", "largest torque of any motor"),
    "power": ("W", "mechanical power of all motors, braking counted too"),
}


@dataclass(frozen=True)
class Metric:
    """One number over surviving time."""

    mean: float
    """Over all ticks of all trials."""
    worst: float
    """95th percentile over trials of their own mean."""
    unit: str


@dataclass(frozen=True)
class Fall:
    """One trial that did not survive."""

    trial: int
    seconds: float
    """After the start of the skill [s]."""
    segment: str
    """Stretch of the reference, or ``hold`` after it, or ``end`` for a wrong last pose."""
    progress: float
    """Share of that stretch that had passed, in [0, 1]."""
    cause: str


@dataclass(frozen=True)
class Segment:
    """How the trials fared in one stretch of the reference."""

    name: str
    start: float
    """[s]"""
    end: float
    """[s]"""
    entered: int
    survived: int
    joint_error: float
    """Mean [rad] over surviving time in the stretch; nan when nobody got there."""


@dataclass(frozen=True)
class Check:
    """One threshold."""

    name: str
    value: float
    relation: str
    """``>=`` or ``<=``."""
    threshold: float

    @property
    def passed(self) -> bool:
        """False also when the value is not a number."""
        return self.value >= self.threshold if self.relation == ">=" else self.value <= self.threshold


@dataclass(frozen=True)
class Evaluation:
    """Result of running an exported policy through randomized trials."""

    command: str
    robot: str
    policy_sha256: str
    motion_seconds: float
    trials: int
    survived: int
    survival_interval: tuple[float, float]
    """95 % interval of the survival (Wilson)."""
    checks: tuple[Check, ...]
    metrics: dict[str, Metric]
    segments: tuple[Segment, ...]
    falls: tuple[Fall, ...]
    targets_clipped: float
    """Share of the policy's targets beyond a joint limit."""
    end_heading_drift: float
    """Mean heading error at the end of surviving trials [rad]; nan when none survived."""
    seed: int
    config: dict[str, Any]
    """The EvaluateConfig."""
    physics: dict[str, Any]
    """The PhysicsConfig."""
    wall_seconds: float
    policy_seconds_p50: float
    """Median time of one call of the graph for all trials together [s]."""

    @property
    def survival(self) -> float:
        """Share of the trials that survived."""
        return self.survived / self.trials

    @property
    def passed(self) -> bool:
        """True when every check holds."""
        return all(check.passed for check in self.checks)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON; numbers that do not exist are None."""
        values = {"schema_version": SCHEMA_VERSION, "passed": self.passed, "survival": self.survival, **asdict(self)}
        values["checks"] = [{**asdict(check), "passed": check.passed} for check in self.checks]
        values["verdict"] = self.lines()
        return _without_nan(values)

    def save(self, target: Path) -> None:
        """Write evaluation.json whole or not at all."""
        write_text(target, json.dumps(self.to_dict(), indent=2, ensure_ascii=False, allow_nan=False) + "\n")

    def lines(self) -> list[str]:
        """Return the report in sentences; the first one is the verdict."""
        low, high = (round(100 * bound) for bound in self.survival_interval)
        lines = [
            f"{'PASS' if self.passed else 'FAIL'}: {self.survived} of {self.trials} trials survive "
            f"({100 * self.survival:.0f} %, 95 % interval {low} to {high} %)."
        ]
        for check in self.checks:
            mark = "ok" if check.passed else "not met"
            lines.append(f"{check.name}: {_number(check.value)}, wanted {check.relation} {check.threshold:g} ({mark}).")
        lines += self._falls_in_words()
        for name, metric in self.metrics.items():
            mean, worst = _number(metric.mean), _number(metric.worst)
            lines.append(f"{name}: {mean} {metric.unit}, worst trials {worst} ({UNITS[name][1]}).")
        if self.targets_clipped > 0.001:
            lines.append(f"{100 * self.targets_clipped:.1f} % of the joint targets were beyond a joint limit.")
        return lines

    def _falls_in_words(self) -> list[str]:
        """One sentence for each stretch that trials fell in, the worst first."""
        lines = []
        by_segment = Counter(fall.segment for fall in self.falls)
        for name, count in by_segment.most_common():
            falls = [fall for fall in self.falls if fall.segment == name]
            if name == END:
                words = Counter(fall.cause for fall in falls).most_common()
                lines.append("At the end: " + "; ".join(f"{_trials(often)} {cause}" for cause, often in words) + ".")
                continue
            progress = 100 * float(np.median([fall.progress for fall in falls]))
            seconds = sorted(fall.seconds for fall in falls)
            cause, often = Counter(fall.cause for fall in falls).most_common(1)[0]
            when = f"{seconds[0]:.1f} s" if count == 1 else f"{seconds[0]:.1f} to {seconds[-1]:.1f} s"
            share = "" if often == count else f" in {often} of them"
            lines.append(f"Falls in {name} at {progress:.0f} %: {_trials(count)} ({when}); {cause}{share}.")
        return lines

    def histogram(self, bin_seconds: float = 0.5) -> list[tuple[float, int]]:
        """Number of falls in each time bin that has any: (start of the bin [s], falls)."""
        bins = Counter(int(fall.seconds / bin_seconds) for fall in self.falls)
        return [(index * bin_seconds, bins[index]) for index in sorted(bins)]


def metrics_of(errors: dict[str, NDArray[np.float64]]) -> dict[str, Metric]:
    """Summarize (K, N) errors in which nan means fallen, or not defined at that tick."""
    result = {}
    for name, values in errors.items():
        per_trial = _nanmean(values, axis=0)
        known = per_trial[np.isfinite(per_trial)]
        worst = float(np.percentile(known, 95)) if len(known) else math.nan
        result[name] = Metric(float(_nanmean(values)), worst, UNITS[name][0])
    return result


def segments_of(
    info: BundleInfo, fall_tick: NDArray[np.int64], joint_error: NDArray[np.float64], ticks: int
) -> tuple[Segment, ...]:
    """Count who entered and who survived each stretch, the hold after it, and the check at the end.

    Args:
        info: names and starts of the stretches.
        fall_tick: (N,) tick of each fall, -1 for none, ticks + 1 for a wrong pose at the end.
        joint_error: (K, N) [rad], row k after tick k + 1.
        ticks: control ticks K of a trial.
    """
    starts = [*info.segment_starts, info.num_steps]
    ends = [*starts[1:], ticks + 1]
    fell = np.where(fall_tick < 0, ticks + 2, fall_tick)
    rows = []
    for name, start, end in zip([*info.segment_names, AFTER], starts, ends, strict=True):
        if end <= start:
            continue
        entered, survived = int((fell >= start).sum()), int((fell >= end).sum())
        error = float(_nanmean(joint_error[max(0, start - 1) : max(0, end - 1)]))
        rows.append(Segment(name, start * info.control_dt, end * info.control_dt, entered, survived, error))
    seconds, entered, survived = ticks * info.control_dt, int((fell > ticks).sum()), int((fell > ticks + 1).sum())
    rows.append(Segment(END, seconds, seconds, entered, survived, math.nan))
    return tuple(rows)


def falls_of(info: BundleInfo, fall_tick: NDArray[np.int64], causes: list[str], ticks: int) -> tuple[Fall, ...]:
    """Say for every fall when, in which stretch, how far into it, and why."""
    starts = [*info.segment_starts, info.num_steps, ticks + 1]
    ends = [*starts[1:-1], ticks, ticks + 1]
    names = [*info.segment_names, AFTER, END]
    falls = []
    for trial in np.flatnonzero(fall_tick >= 0):
        tick = int(fall_tick[trial])
        s = int(np.searchsorted(starts, tick, side="right")) - 1
        progress = (tick - starts[s]) / max(1, ends[s] - starts[s])
        seconds = min(tick, ticks) * info.control_dt
        falls.append(Fall(int(trial), seconds, names[s], min(1.0, progress), causes[trial]))
    return tuple(falls)


def wilson_interval(successes: int, trials: int, z: float = 1.959964) -> tuple[float, float]:
    """95 % interval of a share.

    Source: Wilson 1927, "Probable inference, the law of succession, and statistical inference"; unlike the
    textbook interval it stays inside [0, 1] and has a width at 100 %.
    """
    share, z2 = successes / trials, z * z
    middle = (share + z2 / (2 * trials)) / (1 + z2 / trials)
    half = z * math.sqrt(share * (1 - share) / trials + z2 / (4 * trials * trials)) / (1 + z2 / trials)
    return max(0.0, middle - half), min(1.0, middle + half)


def _nanmean(values: NDArray[np.float64], axis: int | None = None) -> Any:
    with warnings.catch_warnings():
        # An empty mean is nan by intent: nobody got there.
        warnings.simplefilter("ignore", category=RuntimeWarning)
        return np.nanmean(values, axis=axis) if values.size else math.nan


def _trials(count: int) -> str:
    return f"{count} trial" + "s" * (count != 1)


def _number(value: float) -> str:
    return "none" if math.isnan(value) else f"{value:.3g}"


def _without_nan(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nan(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_without_nan(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
