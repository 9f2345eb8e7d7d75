"""The loop of the process that leads a run, whatever the topology: decide, iterate, log, save, stop.

What enters: a session, which knows how an iteration is done. What leaves: checkpoints and metrics.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import torch
from torch import Tensor

from lagoon.engine.checkpoint import Checkpoint, save_checkpoint
from lagoon.engine.group import Group
from lagoon.engine.hooks import Hooks, IterationInfo
from lagoon.engine.interrupts import Interrupts
from lagoon.engine.metrics import Averages, MetricsWriter, Stopwatch
from lagoon.errors import StageFailedError
from lagoon.progress import Progress
from lagoon.spans import span

BUDGET = ("total_steps", "wait_steps", "settle_steps", "minutes")
"""Fields of PPOConfig that say how long a run is."""
ASKED = "control/asked_to_stop"
"""Among the numbers of a rank that somebody wants to stop."""
Report = tuple[dict[str, float], dict[str, float]]
"""Numbers for the log, and CPU seconds by purpose, of one process."""


class Budget(Protocol):
    """What the settings of a run have to say, whatever algorithm they are for; see ``PPOConfig``."""

    @property
    def total_steps(self) -> int:
        """Samples over which all schedules run."""
        ...

    @property
    def wait_steps(self) -> int:
        """Samples before that for which the schedules may wait."""
        ...

    @property
    def settle_steps(self) -> int:
        """Samples that may follow."""
        ...

    @property
    def minutes(self) -> float | None:
        """Wall time after which the run ends, or None."""
        ...

    @property
    def checkpoint_seconds(self) -> float:
        """Time between two checkpoints."""
        ...

    @property
    def keep_checkpoints(self) -> int:
        """How many to keep."""
        ...

    @property
    def tensorboard(self) -> bool:
        """Whether to write event files."""
        ...

    @property
    def unit(self) -> str:
        """What the samples are called."""
        ...

    @property
    def if_diverged(self) -> str:
        """What to do when numbers stop being finite, without a full stop."""
        ...


class LeaderSession(Protocol):
    """What a topology has to offer to be led."""

    @property
    def config(self) -> Budget:
        """The recipe."""
        ...

    group: Group

    @property
    def policy(self) -> Any:
        """What is trained."""
        ...

    watch: Stopwatch
    iteration: int
    steps: int

    @property
    def version(self) -> int:
        """Number of updates that made the parameters."""
        ...

    def ready(self, cancelled: Callable[[], bool]) -> bool:
        """Wait until an iteration can be done without waiting; False when ``cancelled`` says so first."""
        ...

    def iterate(self, fraction: float) -> dict[str, float]:
        """Learn from one batch; returns numbers for the log."""
        ...

    def reports(self, own: dict[str, float]) -> list[Report]:
        """Return what all processes report, given the leader's numbers."""
        ...

    def state(self) -> dict[str, Any]:
        """Return what only this process knows."""
        ...

    def checkpoint(self, ranks: list[dict[str, Any]]) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """Return tensors and facts for a checkpoint."""
        ...


def is_done(checkpoint: Checkpoint, config: Budget) -> bool:
    """Tell whether a checkpoint ends this run; with another budget there may be more to do."""
    saved = checkpoint.facts["config"]
    same = all(saved.get(name, 0) == getattr(config, name) for name in BUDGET)
    return bool(checkpoint.facts["finished"]) and same


@dataclass
class Control:
    """What rank 0 decides before each iteration."""

    fraction: float = 0.0
    save: bool = False
    stop: bool = False

    def shared(self, group: Group) -> Control:
        """Return rank 0's control, on every rank."""
        fraction, save, stop = group.lead_(
            torch.tensor([self.fraction, self.save, self.stop], dtype=torch.float64)
        ).tolist()
        return Control(fraction, bool(save), bool(stop))


class Leader:
    """The loop of rank 0."""

    def __init__(
        self,
        session: LeaderSession,
        folder: Path,
        hooks: Hooks | None,
        progress: Progress,
        interrupts: Interrupts,
        checkpoint: Checkpoint | None,
    ) -> None:
        self._session, self._folder, self._hooks = session, folder, hooks
        self._progress, self._interrupts = progress, interrupts
        self._before = float(checkpoint.facts["elapsed"]) if checkpoint is not None else 0.0
        self._since = self._last = time.monotonic()
        self._notes: dict[str, float] = {}
        self._began = _began(session, checkpoint)

    @property
    def _elapsed(self) -> float:
        return self._before + time.monotonic() - self._since

    def _share(self, done: float) -> float:
        """``done``, or the share of the minutes that is used up if that is more; at most 1."""
        minutes = self._session.config.minutes
        if minutes is not None:
            done = max(done, self._elapsed / (60.0 * minutes))
        return min(done, 1.0)

    def _begin(self) -> None:
        """Let the schedules run from now on."""
        if self._began is None:
            self._began = self._session.steps

    def _done(self) -> float:
        """Samples since the schedules began, as a share of those over which they run; more than 1 once they have."""
        if self._began is None and self._session.steps >= self._session.config.wait_steps:
            self._begin()
        return 0.0 if self._began is None else (self._session.steps - self._began) / self._session.config.total_steps

    def _fraction(self) -> float:
        """Where the schedules are."""
        return self._share(self._done())

    def _spent(self) -> float:
        """Share of the longest run that is possible from here."""
        config, steps = self._session.config, self._session.steps
        before = config.wait_steps if self._began is None else self._began
        after = config.settle_steps if config.minutes is None else 0
        return self._share(steps / (before + config.total_steps + after))

    def lead(self) -> tuple[Path, bool]:
        """Return the last checkpoint, and whether the run is finished."""
        session, config = self._session, self._session.config
        enough, saved, path = False, time.monotonic(), self._folder
        with MetricsWriter(self._folder, session.iteration, config.tensorboard) as writer:
            while True:
                fraction = self._fraction()
                finished = enough or self._spent() >= 1.0
                stop = finished or self._interrupts.requested
                save = stop or time.monotonic() - saved >= config.checkpoint_seconds
                control = Control(fraction, save, stop).shared(session.group)
                if control.save:
                    with span("save"):
                        path, saved = self._save(fraction, finished), time.monotonic()
                if control.stop:
                    return path, finished
                if session.ready(lambda: self._interrupts.requested):
                    enough = self._iterate(fraction, writer)

    def _save(self, fraction: float, finished: bool) -> Path:
        session = self._session
        tensors, facts = session.checkpoint(session.group.gather(session.state()))
        facts |= {"finished": finished, "fraction": fraction, "elapsed": self._elapsed, "began": self._began}
        folder = self._folder / "checkpoints"
        return save_checkpoint(folder, session.steps, tensors, facts, session.config.keep_checkpoints)

    def _iterate(self, fraction: float, writer: MetricsWriter) -> bool:
        session, config = self._session, self._session.config
        before = session.steps
        metrics = _merge(session.reports(session.iterate(fraction)), session.steps - before)
        if metrics.pop(ASKED, 0.0):
            self._interrupts.requested = True
        metrics |= {"progress/steps": float(session.steps), "progress/fraction": fraction}
        metrics["progress/steps_left"] = max((1.0 - self._done()) * session.config.total_steps, 0.0)
        metrics |= {"progress/version": float(session.version), "progress/minutes": self._elapsed / 60.0}
        now = time.monotonic()
        metrics |= {"speed/samples_per_second": (session.steps - before) / max(now - self._last, 1e-9)} | self._notes
        self._last, self._notes = now, {}
        with span("log"):
            writer.write(session.iteration, metrics)
        self._check_finite(metrics)
        with span("progress"):
            self._progress(self._spent(), f"{session.steps:,} {config.unit}, reward {metrics['train/reward']:.3f}")
        if self._hooks is None:
            return False
        info = IterationInfo(
            session.iteration,
            session.steps,
            session.version,
            self._fraction(),
            self._elapsed,
            metrics,
            self._folder,
            self._notes,
            self._done(),
            None if self._began is not None else self._begin,
        )
        with session.watch("hooks"):
            return bool(self._hooks.on_iteration(info, session.policy))

    def _check_finite(self, metrics: Mapping[str, float]) -> None:
        bad = [name for name, value in metrics.items() if name.startswith("train/") and not math.isfinite(value)]
        if bad:
            config = self._session.config
            raise StageFailedError(
                f"Training diverged at {self._session.steps:,} {config.unit}: {', '.join(bad)} stopped being finite. "
                f"The last checkpoint is good. {config.if_diverged}, and run the same command again."
            )


def _began(session: LeaderSession, checkpoint: Checkpoint | None) -> int | None:
    """At how many steps the schedules began; None while they wait. Minutes leave no time to wait."""
    if session.config.wait_steps == 0 or session.config.minutes is not None:
        return 0
    return None if checkpoint is None else checkpoint.facts.get("began", 0)


def _merge(reports: list[Report], samples: int) -> dict[str, float]:
    """Average the numbers of all ranks and add up their CPU time."""
    averages, seconds = Averages(), dict[str, float]()
    for metrics, cpu in reports:
        averages.add(metrics)
        for purpose, value in cpu.items():
            seconds[purpose] = seconds.get(purpose, 0.0) + value
    total = sum(seconds.values()) or math.inf
    shares = {f"time/{purpose}": value / total for purpose, value in seconds.items()}
    return averages.take() | shares | {"speed/cpu_seconds": total, "speed/samples_per_cpu_second": samples / total}
