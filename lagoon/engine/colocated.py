"""Topology "colocated": every process acts and learns, and all of them share gradients.

What enters: how to make an environment, the recipe, a folder, a seed. What leaves: checkpoints, metrics, and
the path of the last checkpoint. One process needs no networking; several are joined by torch.distributed.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import torch

from lagoon.engine.checkpoint import Checkpoint, latest_checkpoint, load_checkpoint, save_checkpoint
from lagoon.engine.config import PPOConfig
from lagoon.engine.group import Group
from lagoon.engine.hooks import Hooks, IterationInfo
from lagoon.engine.interrupts import Interrupts
from lagoon.engine.metrics import Averages, MetricsWriter
from lagoon.engine.processes import available_cores, data_parallel
from lagoon.engine.session import MakeEnv, Session
from lagoon.errors import BadInputError, StageFailedError
from lagoon.progress import Progress, silent

BUDGET = ("total_steps", "settle_steps", "minutes")
"""Fields of PPOConfig that say how long a run is."""


def run(
    make_env: MakeEnv,
    config: PPOConfig,
    folder: Path,
    seed: int = 0,
    hooks: Hooks | None = None,
    progress: Progress | None = None,
) -> Path:
    """Train until the budget is used, a hook says stop or a signal comes; go on where a folder left off.

    A finished folder is left as it is, unless one of ``BUDGET`` was changed: then training goes on with the
    schedules of the new budget.

    Args:
        make_env: (rank, num_envs, seed) -> environment; picklable when there are several workers.
        config: the recipe.
        folder: ``checkpoints/``, ``metrics.jsonl`` and ``tensorboard/`` lie there.
        seed: with one seed and one number of workers, two runs end with equal bits (unless ``minutes`` is set).
        hooks: called on rank 0, in this process.
        progress: told after every iteration.

    Returns:
        The ``.json`` file of the last checkpoint.

    Raises:
        BadInputError: the environments cannot be split over the workers, or the folder belongs to other sizes.
        CorruptFileError: there are checkpoints and none is whole.
        StageFailedError: numbers stopped being finite.
        KeyboardInterrupt: SIGINT or SIGTERM came; the work until then is saved.
    """
    size = worker_count(config)
    checkpoint = latest_checkpoint(folder / "checkpoints")
    if checkpoint is not None and _is_done(checkpoint, config):
        return checkpoint.path
    start = checkpoint.path if checkpoint is not None else None
    follow = partial(_follow, make_env, config, seed, start)
    with Interrupts() as interrupts, data_parallel(size, follow, lambda: interrupts.requested) as group:
        session = Session(make_env, config, seed, group, checkpoint)
        try:
            leader = _Leader(session, folder, hooks, progress or silent, interrupts, checkpoint)
            path, finished = leader.lead()
        finally:
            session.close()
    if interrupts.requested and not finished:
        raise KeyboardInterrupt
    return path


def worker_count(config: PPOConfig) -> int:
    """Return how many processes a run gets.

    Raises:
        BadInputError: ``workers`` does not divide ``num_envs``.
    """
    if config.workers == 0:
        cores = len(available_cores())
        return next(n for n in range(min(cores, config.num_envs), 0, -1) if config.num_envs % n == 0)
    if config.num_envs % config.workers:
        raise BadInputError(
            f"train.workers is {config.workers}, which does not divide train.num_envs = {config.num_envs}; every "
            f"worker gets the same number. Use train.num_envs="
            f"{math.ceil(config.num_envs / config.workers) * config.workers}, or another train.workers."
        )
    return config.workers


def _is_done(checkpoint: Checkpoint, config: PPOConfig) -> bool:
    """Tell whether a checkpoint ends this run; with another budget there may be more to do."""
    saved = checkpoint.facts["config"]
    same = all(saved.get(name, 0) == getattr(config, name) for name in BUDGET)
    return bool(checkpoint.facts["finished"]) and same


@dataclass
class _Control:
    """What rank 0 decides before each iteration."""

    fraction: float = 0.0
    save: bool = False
    stop: bool = False

    def shared(self, group: Group) -> _Control:
        """Return rank 0's control, on every rank."""
        fraction, save, stop = group.lead_(
            torch.tensor([self.fraction, self.save, self.stop], dtype=torch.float64)
        ).tolist()
        return _Control(fraction, bool(save), bool(stop))


def _follow(make_env: MakeEnv, config: PPOConfig, seed: int, start: Path | None, group: Group) -> None:
    """Do what rank 0 says until it says stop."""
    session = Session(make_env, config, seed, group, load_checkpoint(start) if start is not None else None)
    try:
        while True:
            control = _Control().shared(group)
            if control.save:
                group.gather(session.state())
            if control.stop:
                return
            metrics = session.iterate(control.fraction)
            group.gather((metrics, session.watch.take()))
    finally:
        session.close()


class _Leader:
    """The loop of rank 0."""

    def __init__(
        self,
        session: Session,
        folder: Path,
        hooks: Hooks | None,
        progress: Progress,
        interrupts: Interrupts,
        checkpoint: Checkpoint | None,
    ) -> None:
        self._session, self._folder, self._hooks = session, folder, hooks
        self._progress, self._interrupts = progress, interrupts
        self._before = float(checkpoint.facts["elapsed"]) if checkpoint is not None else 0.0
        self._since = time.monotonic()

    @property
    def _elapsed(self) -> float:
        return self._before + time.monotonic() - self._since

    def _share(self, steps: int) -> float:
        """How much of ``steps``, or of the minutes if that is more, is used up; at most 1."""
        minutes = self._session.config.minutes
        done = self._session.steps / steps
        if minutes is not None:
            done = max(done, self._elapsed / (60.0 * minutes))
        return min(done, 1.0)

    def _fraction(self) -> float:
        """Where the schedules are."""
        return self._share(self._session.config.total_steps)

    def _spent(self) -> float:
        """Share of the longest run that is possible."""
        config = self._session.config
        return self._share(config.total_steps + (config.settle_steps if config.minutes is None else 0))

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
                control = _Control(fraction, save, stop).shared(session.group)
                if control.save:
                    path, saved = self._save(fraction, finished), time.monotonic()
                if control.stop:
                    return path, finished
                enough = self._iterate(fraction, writer)

    def _save(self, fraction: float, finished: bool) -> Path:
        session = self._session
        tensors, facts = session.checkpoint(session.group.gather(session.state()))
        facts |= {"finished": finished, "fraction": fraction, "elapsed": self._elapsed}
        folder = self._folder / "checkpoints"
        return save_checkpoint(folder, session.steps, tensors, facts, session.config.keep_checkpoints)

    def _iterate(self, fraction: float, writer: MetricsWriter) -> bool:
        session = self._session
        before = session.steps
        own = session.iterate(fraction)
        reports = session.group.gather((own, session.watch.take()))
        metrics = _merge(reports, session.steps - before)
        metrics |= {"progress/steps": float(session.steps), "progress/fraction": fraction}
        metrics |= {"progress/version": float(session.trainer.version), "progress/minutes": self._elapsed / 60.0}
        writer.write(session.iteration, metrics)
        self._check_finite(metrics)
        now = self._fraction()
        self._progress(self._spent(), f"{session.steps:,} steps, reward {metrics['train/reward']:.3f}")
        if self._hooks is None:
            return False
        info = IterationInfo(
            session.iteration, session.steps, session.trainer.version, now, self._elapsed, metrics, self._folder
        )
        with session.watch("hooks"):
            return bool(self._hooks.on_iteration(info, session.policy))

    def _check_finite(self, metrics: Mapping[str, float]) -> None:
        bad = [name for name, value in metrics.items() if name.startswith("train/") and not math.isfinite(value)]
        if bad:
            raise StageFailedError(
                f"Training diverged at {self._session.steps:,} steps: {', '.join(bad)} stopped being finite. "
                "The last checkpoint is good. Lower train.ppo.lr_max, or look for values that are not finite with "
                "lagoon.engine.environment.check_vec_env, and run the same command again."
            )


def _merge(reports: list[tuple[dict[str, float], dict[str, float]]], samples: int) -> dict[str, float]:
    """Average the numbers of all ranks and add up their CPU time."""
    averages, seconds = Averages(), dict[str, float]()
    for metrics, cpu in reports:
        averages.add(metrics)
        for purpose, value in cpu.items():
            seconds[purpose] = seconds.get(purpose, 0.0) + value
    total = sum(seconds.values()) or math.inf
    shares = {f"time/{purpose}": value / total for purpose, value in seconds.items()}
    return averages.take() | shares | {"speed/cpu_seconds": total, "speed/samples_per_cpu_second": samples / total}
