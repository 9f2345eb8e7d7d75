"""Where the time of a run went, from what its processes recorded, and what to change.

What enters: a folder of totals, see ``lagoon.spans``. What leaves: a table, advice, and both as ``profile.md``.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from lagoon.paths import write_text

FOLDER = "profile"
"""Of a run's folder."""
PHYSICS, ENVIRONMENT, INFERENCE, UPDATE = "physics", "env", "inference", "update"
WAIT = "wait: "
"""What a process waits for begins so."""
SAMPLES, PARAMETERS = "copy samples", "copy parameters"
OTHER = "other"
_MAIN = "MainThread"
_MUCH = 0.3
_HARDLY = 0.1
_NAMES = {ENVIRONMENT: "environment's own code", "hooks": "checks", "start": "start-up", OTHER: "everything else"}


@dataclass(frozen=True)
class WorkerTime:
    """One process: seconds of wall time by part, of its main thread."""

    name: str
    wall: float
    """Seconds that were observed."""
    cpu: float
    """CPU seconds of all its threads."""
    parts: dict[str, float]
    traced_all: bool = True

    @property
    def kind(self) -> str:
        """``actor`` of ``actor-3``."""
        return self.name.partition("-")[0]

    def share(self, *names: str) -> float:
        """Return the share of the wall time spent in parts that begin with one of some names."""
        total = sum(seconds for part, seconds in self.parts.items() if part.startswith(names))
        return total / self.wall if self.wall > 0 else 0.0

    @property
    def starved(self) -> float:
        """Share of the wall time in which the process neither waited by itself nor had a core."""
        return max(1.0 - self.share(WAIT) - self.cpu / self.wall, 0.0) if self.wall > 0 else 0.0


@contextmanager
def profiled(folder: Path, wanted: bool) -> Iterator[Path | None]:
    """Yield where the processes of a run shall record; write the page once the body has ended, however it did.

    Args:
        folder: of the run; the profile of an earlier run is removed.
        wanted: False yields None and does nothing.
    """
    if not wanted:
        yield None
        return
    shutil.rmtree(folder / FOLDER, ignore_errors=True)
    try:
        yield folder / FOLDER
    finally:
        write(folder)


def read(folder: Path) -> list[WorkerTime]:
    """Return what the processes of a run recorded, in the order of their names; broken files are passed over."""
    found = []
    for path in sorted((folder / FOLDER).glob("*.totals.json")):
        try:
            totals = json.loads(path.read_text(encoding="utf-8"))
            rows = totals["threads"].get(_MAIN, {})
            parts = {part: float(row["seconds"]) for part, row in rows.items()}
            wall = float(totals["wall"])
            parts[OTHER] = parts.get(OTHER, 0.0) + max(wall - sum(parts.values()), 0.0)
            found.append(WorkerTime(totals["name"], wall, float(totals["cpu"]), parts, bool(totals["traced_all"])))
        except (ValueError, KeyError, TypeError, AttributeError):
            continue
    return found


def advice(workers: list[WorkerTime]) -> list[str]:
    """Say what would make a run faster; each sentence names the number that it comes from.

    Thresholds: a third of the time is much, a tenth hardly any. Nothing is said where nothing stands out.
    """
    kinds = {kind: [w for w in workers if w.kind == kind] for kind in ("rank", "trainer", "actor", "policy")}
    said = [*_trainer(kinds), *_actors(kinds), *_policies(kinds), *_ranks(kinds["rank"])]
    starved = [w for w in workers if w.starved > _MUCH]
    if starved:
        said.append(
            f"{starved[0].name} had no core for {starved[0].starved:.0%} of its time: other programs or too many "
            "processes share the cores. Use fewer (train.workers=NUMBER or train.actors=NUMBER), or a quieter machine."
        )
    return said or ["Nothing stands out."]


def _mean(workers: list[WorkerTime], *parts: str) -> float:
    return sum(w.share(*parts) for w in workers) / len(workers) if workers else 0.0


def _trainer(kinds: dict[str, list[WorkerTime]]) -> list[str]:
    waits = _mean(kinds["trainer"], WAIT)
    if waits > _MUCH:
        return [
            f"The trainer waits {waits:.0%} of its time for samples: give it more actors, here or with lagoon join."
        ]
    return []


def _actors(kinds: dict[str, list[WorkerTime]]) -> list[str]:
    actors = kinds["actor"]
    permits, answers = _mean(actors, f"{WAIT}permit"), _mean(actors, f"{WAIT}actions")
    said = []
    if permits > _MUCH and _mean(kinds["trainer"], WAIT) < _HARDLY:
        said.append(
            f"Actors wait {permits:.0%} of their time for the trainer, which is busy: fewer actors do, or make the "
            "update cheaper (train.epochs, train.hidden), or allow older samples (train.max_staleness)."
        )
    if answers > _MUCH and _mean(kinds["policy"], WAIT) < _HARDLY:
        said.append(
            f"Actors wait {answers:.0%} of their time for actions, and the policy workers are busy: "
            "train.policy_workers=NUMBER, or train.topology=async, where every actor has the policy itself."
        )
    elif answers > _MUCH:
        said.append(
            f"Actors wait {answers:.0%} of their time for actions though policy workers have time: more environments "
            "per actor (train.ring=NUMBER) step meanwhile, or use train.topology=async."
        )
    return said + _environment(actors)


def _policies(kinds: dict[str, list[WorkerTime]]) -> list[str]:
    waits = _mean(kinds["policy"], WAIT)
    if waits > 2 * _MUCH and _mean(kinds["actor"], WAIT) < _MUCH:
        return [f"Policy workers wait {waits:.0%} of their time: they can serve more actors, or fewer of them do."]
    return []


def _ranks(ranks: list[WorkerTime]) -> list[str]:
    said = _environment(ranks)
    waits = _mean(ranks, f"{WAIT}other workers")
    if waits > _HARDLY:
        said.append(
            f"Workers wait {waits:.0%} of their time for one another: the slowest sets the pace. Use as many as there "
            "are free cores (train.workers=NUMBER)."
        )
    update, acting = _mean(ranks, UPDATE), _mean(ranks, PHYSICS, ENVIRONMENT)
    if update > 2 * acting and ranks:
        said.append(
            f"The update takes {update:.0%}, acting {acting:.0%}: fewer epochs (train.epochs) or a smaller network."
        )
    return said


def _environment(workers: list[WorkerTime]) -> list[str]:
    own, physics = _mean(workers, ENVIRONMENT), _mean(workers, PHYSICS)
    copies = _mean(workers, SAMPLES, PARAMETERS)
    said = []
    if own > _MUCH and own > physics > 0.0:
        said.append(f"The environment's own code takes {own:.0%}, its physics only {physics:.0%}: look there first.")
    if copies > _HARDLY:
        said.append(
            f"Copying samples and parameters takes {copies:.0%}: more robots per environment make fewer copies."
        )
    return said


def table(workers: list[WorkerTime]) -> list[list[str]]:
    """Return a head and one row per part: its share of each worker's wall time, parts of the largest share first."""
    shares: dict[str, list[float]] = {}
    for i, worker in enumerate(workers):
        for part, seconds in worker.parts.items():
            row = shares.setdefault(part, [0.0] * len(workers))
            row[i] = seconds / worker.wall if worker.wall > 0 else 0.0
    head = ["share of wall time", *(worker.name for worker in workers)]
    ordered = sorted(shares.items(), key=lambda item: -sum(item[1]))
    rows = [[_NAMES.get(part, part), *(f"{share:.1%}" if share else "" for share in row)] for part, row in ordered]
    rows.append(["CPU time over wall time", *(f"{w.cpu / w.wall:.2f}" if w.wall > 0 else "" for w in workers)])
    rows.append(["observed [s]", *(f"{worker.wall:.1f}" for worker in workers)])
    return [head, *rows]


def write(folder: Path) -> Path | None:
    """Write ``profile.md`` from what the processes left; returns it, or None where they left nothing."""
    workers = read(folder)
    if not workers:
        return None
    head, *rows = table(workers)
    rule = ["---", *["---:"] * len(workers)]
    lines = [f"| {' | '.join(row)} |" for row in (head, rule, *rows)]
    text = [
        "# Where the time went",
        "Wall time of each process's main thread; what is inside another part counts only there.",
        "",
        *lines,
        "",
        "## What to change",
        *(f"- {sentence}" for sentence in advice(workers)),
        "",
        "## Traces",
        "Open `*.trace.json` of this folder in https://ui.perfetto.dev (several at once share one clock).",
        *([] if all(w.traced_all for w in workers) else ["Traces hold the beginning of the run, the table all of it."]),
    ]
    path = folder / FOLDER / "profile.md"
    write_text(path, "\n".join(text) + "\n")
    return path
