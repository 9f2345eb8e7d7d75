"""One run of one library in a process of its own, and what it counted.

What enters: a recipe and an interpreter. What leaves: samples per second, where the time went, and a check that the
library did the work that the recipe asks for.
"""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from peers.install import PEERS, ROOT
from peers.recipe import Recipe
from peers.tally import FIELDS, VARIABLE, Tally, between

INEXACT = {"sample_factory": 0.05, "rllib": 0.12}
"""Share by which steps and rows may differ: Sample Factory steps while it learns, so that a window ends in the middle
of rollouts; RLlib learns from one more row per piece of an episode, which it masks, and spends a step on each reset."""


@dataclass(frozen=True)
class Measured:
    """What one run did between its first iterations, which warm up, and its last."""

    samples_per_second: float
    steps: float
    """Robot steps per iteration."""
    gradient_steps: float
    """Per iteration, in each process that learns."""
    rows: float
    """Rows that gradients were computed for, per iteration."""
    ended: float
    """Episodes that ended, per robot step."""
    shares: dict[str, float]
    """Wall time by purpose over the wall time of the window: mean of the processes that have the purpose."""
    cpu_us: dict[str, float]
    """CPU time per sample by purpose, and "all" of it, of all processes that act or learn [us]. Unlike wall time, it
    hardly depends on what else the machine does."""


def cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def measured(marks: list[dict[str, Any]], recipe: Recipe, warm_up: int) -> Measured:
    """Return what lies between two marks.

    Args:
        marks: of the tally, one per iteration.
        recipe: what was asked for.
        warm_up: marks before the window.

    Raises:
        RuntimeError: there are too few marks.
    """
    if len(marks) < warm_up + 1:
        raise RuntimeError(f"{len(marks)} iterations were marked; expected more than {warm_up}.")
    first, last = marks[warm_up - 1], marks[-1]
    iterations, wall = len(marks) - warm_up, last["wall"] - first["wall"]
    processes = list(between(first, last).values())
    total = {field: sum(counted[field] for counted in processes) for field in FIELDS}
    samples = recipe.batch * iterations
    learners = sum(counted["gradient_steps"] > 0 for counted in processes)

    def share(field: str) -> float:
        working = [counted[field] for counted in processes if counted[field] > 0]
        return sum(working) / len(working) / wall if working else 0.0

    physics = share("physics_seconds")
    shares = {"physics": physics, "environment": share("env_seconds") - physics, "update": share("update_seconds")}
    shares["rest"] = 1.0 - sum(shares.values())
    return Measured(
        samples_per_second=samples / wall,
        steps=total["steps"] / iterations,
        gradient_steps=total["gradient_steps"] / iterations / max(learners, 1),
        rows=total["rows"] / iterations,
        ended=total["ended"] / total["steps"],
        shares=shares,
        cpu_us={
            "physics": 1e6 * total["physics_cpu"] / samples,
            "environment": 1e6 * (total["env_cpu"] - total["physics_cpu"]) / samples,
            "update": 1e6 * total["update_cpu"] / samples,
            "rest": 1e6 * (total["cpu_seconds"] - total["env_cpu"] - total["update_cpu"]) / samples,
            "all": 1e6 * total["cpu_seconds"] / samples,
        },
    )


def check(found: Measured, recipe: Recipe, tolerance: float) -> None:
    """Raise an AssertionError unless a library did what the recipe says.

    Args:
        found: what it did.
        recipe: what was asked for.
        tolerance: share by which counts may differ.
    """
    for name, expected in (
        ("steps", recipe.batch),
        ("rows", recipe.batch * recipe.epochs),
        ("gradient_steps", recipe.epochs * recipe.minibatches),
    ):
        value = getattr(found, name)
        assert abs(value - expected) <= tolerance * expected, f"{name} per iteration: {value}; expected {expected}"


def run(
    name: str,
    python: str,
    recipe: Recipe,
    warm_up: int,
    extra: tuple[str, ...] = (),
    tolerance: float | None = None,
    limit: float = 900.0,
) -> dict[str, Any]:
    """Run a library once and return what it did, as JSON values.

    Args:
        name: key of ``PEERS``.
        python: interpreter that has it.
        recipe: what it has to do.
        warm_up: iterations that do not count, at least one.
        extra: further arguments of the adapter.
        tolerance: see ``check``; None takes the library's.
        limit: seconds after which a run counts as failed.

    Raises:
        RuntimeError: it failed or took longer than ``limit`` seconds; the text holds the end of what it printed.
        AssertionError: it did other work than it was asked for.
    """
    with tempfile.TemporaryDirectory() as folder:
        status, said = spawn(python, PEERS[name].module, recipe, Path(folder), extra, limit)
        marks = Tally(Path(folder)).marks()
        if status and len(marks) < recipe.iterations:
            raise RuntimeError(f"ended with {status}:\n{said}")
        found = measured(marks[: recipe.iterations], recipe, warm_up)
    check(found, recipe, INEXACT.get(name, 0.0) if tolerance is None else tolerance)
    return asdict(found) | {"load": os.getloadavg()[0]}


def spawn(
    python: str, module: str, recipe: Recipe, folder: Path, extra: tuple[str, ...] = (), limit: float = 900.0
) -> tuple[int, str]:
    """Run an adapter in a process of its own; return its exit status and the end of what it printed.

    Raises:
        RuntimeError: it took longer than ``limit`` seconds, and was ended with all that it had started.
    """
    paths = [str(ROOT), str(ROOT / "benchmarks" / "engine")]
    environment = os.environ | {
        VARIABLE: str(folder),
        "OMP_NUM_THREADS": str(recipe.torch_threads),
        "PYTHONPATH": os.pathsep.join([*paths, *filter(None, [os.environ.get("PYTHONPATH")])]),
    }
    log = folder / "log"
    # Without this a SIGTERM would end this process and leave the child, which is in a session of its own. It is only
    # remembered, since raising an error could come between the child's birth and knowing of it.
    asked: list[int] = []
    before = signal.signal(signal.SIGTERM, lambda number, _: asked.append(number))
    try:
        with log.open("w") as out:
            child = subprocess.Popen(
                [python, "-m", f"peers.{module}", recipe.to_json(), *extra],
                stdout=out,
                stderr=subprocess.STDOUT,
                env=environment,
                start_new_session=True,
            )
        try:
            status = _wait(child, limit, asked)
        except BaseException as error:
            # The library's own processes too: they are in the child's session.
            os.killpg(child.pid, signal.SIGKILL)
            child.wait()
            if isinstance(error, subprocess.TimeoutExpired):
                raise RuntimeError(f"not done after {limit:.0f} s:\n{_end(log)}") from error
            raise
    finally:
        signal.signal(signal.SIGTERM, before)
    return status, _end(log)


def _wait(child: subprocess.Popen, limit: float, asked: list[int]) -> int:
    """Return the exit status; raises SystemExit once a signal was asked for."""
    end = time.monotonic() + limit
    while True:
        try:
            return child.wait(min(0.2, limit))
        except subprocess.TimeoutExpired:
            if asked:
                raise SystemExit(128 + asked[0]) from None
            if time.monotonic() > end:
                raise


def _end(log: Path, lines: int = 12) -> str:
    return "\n".join(log.read_text(errors="replace").splitlines()[-lines:])
