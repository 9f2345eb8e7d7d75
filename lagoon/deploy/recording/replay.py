"""Runs a bundle's policy again over recorded states and compares its targets with the recorded ones.

What enters: a bag and a bundle. What leaves: for each run of the skill, how far the two differ and where first.
It tells whether the graph on that computer computed what it computes here, from what the robot said.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lagoon.bundle import PolicyBundle
from lagoon.deploy.check_report import bundle_sha256
from lagoon.deploy.recording.bag import read_bag
from lagoon.deploy.runtime import PolicyRunner
from lagoon.deploy.transport.base import MEASURED
from lagoon.errors import BadInputError, CorruptFileError


@dataclass(frozen=True)
class Mismatch:
    """The first target of a run that differs by more than the tolerance."""

    tick: int
    time: float
    """Since the start of the bag [s]."""
    joint: str
    recorded: float
    """[rad]."""
    recomputed: float
    """[rad]."""

    def __str__(self) -> str:
        return (
            f"The first mismatch is at tick {self.tick}, {self.time:.3f} s into the bag: the recorded target of "
            f"{self.joint} is {self.recorded:.6f} rad, and the policy says {self.recomputed:.6f}."
        )


@dataclass(frozen=True)
class RunComparison:
    """One run of the skill."""

    time: float
    """When it began, since the start of the bag [s]."""
    ticks: int
    largest: float
    """Largest difference of a target [rad]."""
    joint: str
    """Where that was."""
    mismatch: Mismatch | None


@dataclass(frozen=True)
class Replay:
    """All runs of one skill in a bag."""

    command: str
    tolerance: float
    """Allowed difference [rad]: that of the bundle's golden ticks."""
    runs: tuple[RunComparison, ...]
    headless: int
    """Ticks whose run began before what the bag remembers; a policy cannot be entered in the middle."""
    others: int
    """Ticks of other skills."""

    @property
    def passed(self) -> bool:
        """True when something was compared and nothing differed."""
        return bool(self.runs) and all(run.mismatch is None for run in self.runs)


def replay(path: Path, bundle: PolicyBundle) -> Replay:
    """Compare the runs of this bundle's skill in a bag.

    Raises:
        BadInputError: the bag is of another bundle, or does not exist.
        CorruptFileError: the bag is damaged.
    """
    info, steps = read_bag(path)
    _check_bundle(path, info, bundle)
    own = list(info["bundles"]).index(bundle.command)
    ticked = np.flatnonzero(steps["ticked"])
    mine = ticked[steps["skill"][ticked] == own]
    begin = np.flatnonzero(steps["ticks"][mine] == 1)
    headless = int(begin[0]) if len(begin) else len(mine)
    # A step for which nothing had arrived used the state before it.
    newest = np.maximum.accumulate(np.where(steps["has_state"], np.arange(len(steps)), -1))
    runner = PolicyRunner(bundle)
    runs = [
        _compare(path, steps, ticks, newest, runner)
        for ticks in (np.split(mine[headless:], begin[1:] - headless) if len(begin) else [])
    ]
    return Replay(bundle.command, bundle.golden_tolerance, tuple(runs), headless, len(ticked) - len(mine))


def _check_bundle(path: Path, info: dict[str, Any], bundle: PolicyBundle) -> None:
    recorded = info["bundles"]
    if not isinstance(recorded, dict) or bundle.command not in recorded:
        names = ", ".join(f"'{name}'" for name in recorded) or "none"
        raise BadInputError(f"The bag {path} holds no run of '{bundle.command}'. Its skills: {names}.")
    have = bundle_sha256(bundle.folder)
    if recorded[bundle.command] != have:
        raise BadInputError(
            f"The bag {path} was recorded with another bundle of '{bundle.command}': sha256 "
            f"{str(recorded[bundle.command])[:12]}..., and {bundle.folder} has {have[:12]}.... Name the one that ran "
            "with bundle=FOLDER."
        )
    if tuple(info["joint_names"]) != tuple(bundle.joint_names):
        raise BadInputError(f"The joints of the bag {path} are not those of the bundle, in its order.")


def _compare(
    path: Path, steps: NDArray[Any], ticks: NDArray[Any], newest: NDArray[Any], runner: PolicyRunner
) -> RunComparison:
    bundle, zero = runner.bundle, int(steps["ns"][0])
    runner.reset()
    largest, joint, mismatch = -1.0, "", None
    for tick, k in enumerate(ticks):
        if steps["ticks"][k] != tick + 1 or newest[k] < 0:
            raise CorruptFileError(f"The bag {path} lacks tick {tick} of '{bundle.command}', or the state before it.")
        state, target = steps[newest[k]], steps["target"][k]
        sensors = (state[name] for name in MEASURED)
        found = np.ravel(runner.step_all(*sensors))
        # A target that is no number differs by more than any other.
        difference = np.where(np.isfinite(target), np.abs(found - target), np.inf)
        j = int(np.argmax(difference))
        if mismatch is None and difference[j] > bundle.golden_tolerance:
            at = 1e-9 * (int(steps["ns"][k]) - zero)
            mismatch = Mismatch(tick, at, bundle.joint_names[j], float(target[j]), float(found[j]))
        if difference[j] > largest:
            largest, joint = float(difference[j]), bundle.joint_names[j]
    return RunComparison(1e-9 * (int(steps["ns"][ticks[0]]) - zero), len(ticks), largest, joint, mismatch)
