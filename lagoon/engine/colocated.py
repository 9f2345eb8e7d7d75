"""Topology "colocated": every process acts and learns, and all of them share gradients.

What enters: how to make an environment, the recipe, a folder, a seed. What leaves: checkpoints, metrics, and
the path of the last checkpoint. One process needs no networking; several are joined by torch.distributed.
"""

from __future__ import annotations

import math
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import partial
from pathlib import Path

import torch.distributed as dist

from lagoon.engine import torchrun
from lagoon.engine.checkpoint import Checkpoint, latest_checkpoint, load_checkpoint
from lagoon.engine.config import PPOConfig
from lagoon.engine.cores import available_cores
from lagoon.engine.group import Group
from lagoon.engine.hooks import Hooks
from lagoon.engine.interrupts import Interrupts
from lagoon.engine.leader import ASKED, Control, Leader, is_done
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

    Where torchrun started this program, every rank calls this; rank 0 leads, and only its folder is used.

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
    torchrun.enlist()
    if torchrun.joined() and dist.get_rank() > 0:
        return torchrun.follow_one()
    size = worker_count(config)
    checkpoint = latest_checkpoint(folder / "checkpoints")
    if checkpoint is not None and is_done(checkpoint, config):
        torchrun.tell(checkpoint.path)
        return checkpoint.path
    with Interrupts() as interrupts, profiled(folder, config.profile) as profile:
        ranks = _ranks(size, make_env, config, seed, checkpoint, profile, interrupts)
        with ranks as group, recording(profile, "rank-0"):
            with span("start"):
                session = Session(make_env, config, seed, group, checkpoint)
            try:
                leader = Leader(session, folder, hooks, progress or silent, interrupts, checkpoint)
                path, finished = leader.lead()
            finally:
                session.close()
    torchrun.tell(path)
    if interrupts.requested and not finished:
        raise KeyboardInterrupt
    return path


def _ranks(
    size: int,
    make_env: MakeEnv,
    config: PPOConfig,
    seed: int,
    checkpoint: Checkpoint | None,
    profile: Path | None,
    interrupts: Interrupts,
) -> AbstractContextManager[Group]:
    """The processes of a run: those of torchrun, or new ones on this machine."""
    if torchrun.joined():
        # The others may have another disk, so they get what the file holds.
        return torchrun.data_parallel(partial(_follow, make_env, config, seed, checkpoint, None))
    start = checkpoint.path if checkpoint is not None else None
    follow = partial(_follow, make_env, config, seed, start, profile)
    return data_parallel(size, follow, lambda: interrupts.requested)


def worker_count(config: PPOConfig) -> int:
    """Return how many processes a run gets.

    Raises:
        BadInputError: ``workers`` does not divide ``num_envs``, or is not the number that torchrun started.
    """
    if torchrun.joined():
        size = dist.get_world_size()
        if config.workers not in (0, size):
            raise BadInputError(
                f"train.workers is {config.workers}, but torchrun started {size} processes. Leave train.workers out."
            )
        config = replace(config, workers=size)
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
    make_env: MakeEnv,
    config: PPOConfig,
    seed: int,
    start: Path | Checkpoint | None,
    profile: Path | None,
    group: Group,
) -> None:
    """Do what rank 0 says until it says stop."""
    with recording(profile, f"rank-{group.rank}"):
        _iterate(make_env, config, seed, start, group)


def _iterate(make_env: MakeEnv, config: PPOConfig, seed: int, start: Path | Checkpoint | None, group: Group) -> None:
    checkpoint = load_checkpoint(start) if isinstance(start, Path) else start
    with span("start"):
        session = Session(make_env, config, seed, group, checkpoint)
    try:
        while True:
            control = Control().shared(group)
            if control.save:
                group.gather(session.state())
            if control.stop:
                return
            numbers = session.iterate(control.fraction)
            session.reports(numbers | ({ASKED: 1.0} if group.asked_to_stop() else {}))
    finally:
        session.close()
