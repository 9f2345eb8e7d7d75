"""Topology "colocated": every process acts and learns, and all of them share gradients.

What enters: how to make an environment, the recipe, a folder, a seed. What leaves: checkpoints, metrics, and
the path of the last checkpoint. One process needs no networking; several are joined by torch.distributed.
"""

from __future__ import annotations

import math
from functools import partial
from pathlib import Path

from lagoon.engine.checkpoint import latest_checkpoint, load_checkpoint
from lagoon.engine.config import PPOConfig
from lagoon.engine.cores import available_cores
from lagoon.engine.group import Group
from lagoon.engine.hooks import Hooks
from lagoon.engine.interrupts import Interrupts
from lagoon.engine.leader import Control, Leader, is_done
from lagoon.engine.processes import data_parallel
from lagoon.engine.profile import profiled
from lagoon.engine.session import MakeEnv, Session
from lagoon.errors import BadInputError
from lagoon.progress import Progress, silent
from lagoon.spans import recording, span


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
    if checkpoint is not None and is_done(checkpoint, config):
        return checkpoint.path
    start = checkpoint.path if checkpoint is not None else None
    with Interrupts() as interrupts, profiled(folder, config.profile) as profile:
        follow = partial(_follow, make_env, config, seed, start, profile)
        with data_parallel(size, follow, lambda: interrupts.requested) as group, recording(profile, "rank-0"):
            with span("start"):
                session = Session(make_env, config, seed, group, checkpoint)
            try:
                leader = Leader(session, folder, hooks, progress or silent, interrupts, checkpoint)
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


def _follow(
    make_env: MakeEnv, config: PPOConfig, seed: int, start: Path | None, profile: Path | None, group: Group
) -> None:
    """Do what rank 0 says until it says stop."""
    with recording(profile, f"rank-{group.rank}"):
        _iterate(make_env, config, seed, start, group)


def _iterate(make_env: MakeEnv, config: PPOConfig, seed: int, start: Path | None, group: Group) -> None:
    with span("start"):
        session = Session(make_env, config, seed, group, load_checkpoint(start) if start is not None else None)
    try:
        while True:
            control = Control().shared(group)
            if control.save:
                group.gather(session.state())
            if control.stop:
                return
            session.reports(session.iterate(control.fraction))
    finally:
        session.close()
