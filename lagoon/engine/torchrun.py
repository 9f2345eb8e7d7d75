"""Data-parallel runs over the processes of torchrun, on one machine or several.

What enters: ranks that torchrun started. What leaves: the group that sums gradients and statistics through
torch.distributed. Rank 0 does everything else and writes all files; the others wait for what to follow, so that only
rank 0 needs the skill's folder. Pickled objects travel between ranks: they are processes of one run, on machines that
trust each other.
"""

from __future__ import annotations

import atexit
import os
import signal
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist

from lagoon.engine.cores import available_cores, pin
from lagoon.engine.group import Distributed, Group
from lagoon.engine.interrupts import Interrupts, die_with
from lagoon.engine.processes import PATIENCE, loopback
from lagoon.engine.ranks import Place, place
from lagoon.errors import LagoonError

Follow = Callable[[Group], None]


def joined() -> bool:
    """Tell whether this process is a rank of torchrun that has joined the others."""
    return place() is not None and dist.is_initialized()


def enlist() -> None:
    """Join the others if torchrun started this process and it has not yet."""
    own = place()
    if own is not None and not dist.is_initialized():
        join(own)


def join(own: Place) -> None:
    """Meet the other ranks; one thread and, where there are enough, one core for each rank of a machine."""
    die_with(os.getppid(), signal.SIGTERM)  # Of torchrun's agent: all save, and no rank is left behind.
    torch.set_num_threads(1)
    cores = available_cores()
    if own.local_size <= len(cores):
        pin([cores[own.local_rank]])
    # Parameters lie on the CPU, whose sums are gloo's business; nccl takes those of tensors on a GPU.
    cuda = torch.cuda.is_available() and dist.is_nccl_available()
    with loopback() if own.local_size == own.size else _as_it_is():
        dist.init_process_group("cpu:gloo,cuda:nccl" if cuda else "gloo", timeout=PATIENCE)
    atexit.register(_leave)  # gloo's threads must end before the interpreter does, or it aborts now and then.


def _leave() -> None:
    if dist.is_initialized():
        with suppress(RuntimeError):  # The others may have left first.
            dist.destroy_process_group()


@contextmanager
def _as_it_is() -> Iterator[None]:
    yield


@contextmanager
def leading() -> Iterator[None]:
    """On rank 0: join, do the body, and send the others home. Nested ones, and processes of no torchrun, do nothing."""
    own = place()
    if own is None or dist.is_initialized():
        yield
        return
    join(own)
    yield
    if dist.is_initialized():
        with suppress(RuntimeError):  # The same signal may have ended them already.
            tell(None)
        dist.destroy_process_group()


def tell(message: Follow | Path | None) -> None:
    """On rank 0: what the others shall follow, the path that it ended with, or None to go home."""
    if joined():
        dist.broadcast_object_list([message], src=0)


def _hear() -> Any:
    message: list[Any] = [None]
    dist.broadcast_object_list(message, src=0)
    return message[0]


@contextmanager
def data_parallel(follow: Follow) -> Iterator[Group]:
    """On rank 0: let the others follow.

    Args:
        follow: picklable; called with the group on all other ranks.

    Yields:
        The group, as rank 0.

    Raises:
        LagoonError: another rank has died.
    """
    tell(follow)
    try:
        yield Distributed()
    except BaseException as error:
        # The others may be in the middle of an iteration: the closed connection ends them.
        dist.destroy_process_group()
        if not isinstance(error, RuntimeError):
            raise
        raise LagoonError(
            f"The connection to another process of this run was lost ({' '.join(str(error).split())[:200]}). Its own "
            "error stands above or in its machine's log. Run the same command again to go on from the last checkpoint."
        ) from error


def follow_one() -> Path:
    """On the other ranks: follow rank 0 until a run is over; returns the path that it ended with, on rank 0's disk.

    Raises:
        LagoonError: rank 0 has ended without one.
    """
    while True:
        message = _hear()
        if isinstance(message, Path):
            return message
        if message is None:
            raise LagoonError("Rank 0 has ended without a checkpoint; what it printed says why.")
        _follow(message)


def _follow(follow: Follow) -> None:
    # A signal here is a wish that rank 0 hears with the next report: all shall save together.
    with Interrupts() as interrupts:
        follow(Distributed(asked=lambda: interrupts.requested))


def serve(own: Place) -> int:
    """Be one of the other ranks until rank 0 sends it home; returns the exit code, or ends the process."""
    join(own)
    try:
        while (message := _hear()) is not None:
            if not isinstance(message, Path):
                _follow(message)
        code = 0
    except RuntimeError as error:
        print(f"Rank {own.rank} on {socket.gethostname()} lost the others: {error}", file=sys.stderr)
        code = 1
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)  # See processes.py: gloo's threads do not survive the interpreter's own end.
