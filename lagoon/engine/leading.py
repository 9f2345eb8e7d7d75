"""A run that the calling process leads: go on where a folder left off, end with a checkpoint, leave all as it was.

What enters: how the session is started, the recipe, a folder. What leaves: the last checkpoint; metrics in the folder.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Protocol

import torch

from lagoon.engine.checkpoint import Checkpoint, latest_checkpoint
from lagoon.engine.cores import available_cores, pin
from lagoon.engine.hooks import Hooks
from lagoon.engine.interrupts import Interrupts
from lagoon.engine.leader import Budget, Leader, LeaderSession, is_done
from lagoon.engine.profile import profiled
from lagoon.progress import Progress, silent
from lagoon.spans import recording, span


class Session(LeaderSession, Protocol):
    """What is led, with the processes that it started."""

    def close(self) -> None:
        """Stop all processes and free all memory."""
        ...


def lead(
    start: Callable[[Checkpoint | None, list[int], Path | None], Session],
    config: Budget,
    folder: Path,
    hooks: Hooks | None = None,
    progress: Progress | None = None,
    profile: bool = False,
) -> Path:
    """Train until the budget is used, a hook says stop or a signal comes; nothing is done where that was so before.

    This process has one torch thread meanwhile, and may be pinned; both are as before when it returns.

    Args:
        start: (checkpoint to go on from, cores, folder for profiles) -> the session.
        config: how long, and what is written.
        folder: for checkpoints, metrics and TensorBoard.
        hooks: looks in after each iteration, in this process.
        progress: told how far it is.
        profile: record what the processes do.

    Returns:
        The ``.json`` file of the last checkpoint.

    Raises:
        KeyboardInterrupt: after Ctrl-C, once a checkpoint is saved.
    """
    checkpoint = latest_checkpoint(folder / "checkpoints")
    if checkpoint is not None and is_done(checkpoint, config):
        return checkpoint.path
    threads, cores = torch.get_num_threads(), available_cores()
    torch.set_num_threads(1)
    try:
        with Interrupts() as interrupts, profiled(folder, profile) as where, recording(where, "trainer"):
            with span("start"):
                session = start(checkpoint, cores, where)
            try:
                leader = Leader(session, folder, hooks, progress or silent, interrupts, checkpoint)
                path, finished = leader.lead()
            finally:
                session.close()
    finally:
        torch.set_num_threads(threads)
        pin(cores)
    if interrupts.requested and not finished:
        raise KeyboardInterrupt
    return path
