"""Many skills, several training seeds, three kinds of trials: the numbers behind a claim about the whole.

What enters: evaluations of single policies. What leaves: a table of results that grows on disk, and summaries with
confidence intervals over the seeds; two trainings of one command are two samples, two trials of one policy are not.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import t as student

from lagoon.deploy.config import EvaluateConfig
from lagoon.deploy.report import Evaluation, wilson_interval
from lagoon.errors import CorruptFileError
from lagoon.paths import write_text
from lagoon.record import hash_of

SCHEMA_VERSION = 1
NOMINAL, RANDOMIZED, OTHER = "nominal", "randomized", "other physics"
METRICS = (
    "joint_error",
    "foot_error",
    "tilt_error",
    "height_error",
    "foot_slip",
    "power",
    "torque_peak",
    "chatter",
    "torque_rate",
)
"""Of the evaluation's numbers, those in the report."""


def conditions(base: EvaluateConfig, trials: int) -> dict[str, EvaluateConfig]:
    """Return the three kinds of trials.

    ``nominal`` is the training's physics with a robot as described; its sensors still have noise and its starts differ,
    or all trials would be one. ``randomized`` adds what differs between robots. ``other physics`` is that in physics
    the policy was not trained in, which is what ``lagoon evaluate`` does.
    """
    nominal = replace(
        base,
        trials=trials,
        physics="training",
        friction=(0.8, 0.8),
        mass_scale=(1.0, 1.0),
        payload=(0.0, 0.0),
        com_offset=0.0,
        gain_scale=(1.0, 1.0),
        strength=(1.0, 1.0),
        delay=(0.0, 0.0),
        joint_pos_offset=0.0,
        ang_vel_offset=0.0,
        tilt_offset=0.0,
        heading_drift=0.0,
        pushes=(0, 0),
    )
    return {
        NOMINAL: nominal,
        RANDOMIZED: replace(base, trials=trials, physics="training"),
        OTHER: replace(base, trials=trials, physics="checking"),
    }


@dataclass(frozen=True)
class Result:
    """One policy under one kind of trials."""

    command: str
    seed: int
    """Of the training."""
    condition: str
    fingerprint: str
    """Of the policy and of all settings of the trials."""
    passed: bool
    trials: int
    survived: int
    numbers: dict[str, float | None]
    """Mean of each of METRICS over surviving time."""
    verdict: tuple[str, ...]
    """The evaluation in sentences: the first one, then where it falls."""

    @staticmethod
    def of(evaluation: Evaluation, seed: int, condition: str, fingerprint: str) -> Result:
        """Take from an evaluation what the suite needs."""
        lines = evaluation.lines()
        falls = [line for line in lines if line.startswith(("Falls in ", "At the end:"))]
        means = {name: evaluation.metrics[name].mean for name in METRICS}
        return Result(
            evaluation.command,
            seed,
            condition,
            fingerprint,
            evaluation.passed,
            evaluation.trials,
            evaluation.survived,
            {name: float(f"{value:.5g}") if math.isfinite(value) else None for name, value in means.items()},
            (lines[0], *falls),
        )


def fingerprint_of(policy_sha256: str, config: EvaluateConfig, seed: int) -> str:
    """Name of an evaluation: the same name gives the same result, on any number of threads."""
    settings = {name: value for name, value in asdict(config).items() if name != "threads"}
    return hash_of([policy_sha256, settings, seed])


@dataclass
class Results:
    """All results of a suite, kept in one file that is written after every evaluation."""

    path: Path
    rows: list[Result] = field(default_factory=list)

    @staticmethod
    def open(path: Path) -> Results:
        """Read what is there; nothing if there is no file.

        Raises:
            CorruptFileError: the file cannot be read as results.
        """
        if not path.is_file():
            return Results(path)
        try:
            raw = json.loads(path.read_text(encoding="utf-8"))
            if raw["schema_version"] != SCHEMA_VERSION:
                raise ValueError(f"schema_version {raw['schema_version']}")
            return Results(path, [Result(**{**row, "verdict": tuple(row["verdict"])}) for row in raw["results"]])
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise CorruptFileError(
                f"{path} cannot be read as results of a suite ({error}). Move it away to evaluate all skills again."
            ) from error

    def find(self, fingerprint: str) -> Result | None:
        """Return the result of this very evaluation, if there is one."""
        return next((row for row in self.rows if row.fingerprint == fingerprint), None)

    def add(self, result: Result) -> None:
        """Keep a result in place of an older one of the same skill, seed and condition; writes the file."""
        key = (result.command, result.seed, result.condition)
        self.rows = [row for row in self.rows if (row.command, row.seed, row.condition) != key] + [result]
        content = {"schema_version": SCHEMA_VERSION, "results": [asdict(row) for row in self.rows]}
        write_text(self.path, json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False) + "\n")


@dataclass(frozen=True)
class Summary:
    """One command under one kind of trials, over all its seeds."""

    command: str
    condition: str
    seeds: tuple[int, ...]
    passed: int
    """Seeds that pass."""
    survival: float
    """Mean over seeds."""
    interval: tuple[float, float] | None
    """95 % interval of that mean over seeds (Student's t); None for a single seed."""
    pooled: tuple[float, float]
    """95 % interval of the share over all trials (Wilson), as if all were of one policy."""
    numbers: dict[str, float | None]
    """Means over seeds."""


def summarise(rows: Iterable[Result]) -> list[Summary]:
    """Put the seeds of each command and condition together, in the order in which they first appear."""
    groups: dict[tuple[str, str], list[Result]] = {}
    for row in rows:
        groups.setdefault((row.command, row.condition), []).append(row)
    return [_summary(command, condition, found) for (command, condition), found in groups.items()]


def _summary(command: str, condition: str, rows: list[Result]) -> Summary:
    shares = [row.survived / row.trials for row in rows]
    numbers: dict[str, Any] = {}
    for name in METRICS:
        known = [value for row in rows if (value := row.numbers.get(name)) is not None]
        numbers[name] = float(np.mean(known)) if known else None
    return Summary(
        command,
        condition,
        tuple(sorted(row.seed for row in rows)),
        sum(row.passed for row in rows),
        float(np.mean(shares)),
        seed_interval(shares),
        wilson_interval(sum(row.survived for row in rows), sum(row.trials for row in rows)),
        numbers,
    )


def seed_interval(shares: list[float]) -> tuple[float, float] | None:
    """95 % interval of the mean of shares over seeds, inside [0, 1]; None for fewer than two."""
    if len(shares) < 2:
        return None
    mean, half = float(np.mean(shares)), float(np.std(shares, ddof=1) / math.sqrt(len(shares)))
    half *= float(student.ppf(0.975, len(shares) - 1))
    return max(0.0, mean - half), min(1.0, mean + half)
