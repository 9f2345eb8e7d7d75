"""One process per core: starts them, joins them into a group, and leaves none behind.

What enters: what the other ranks shall do. What leaves: the group, for rank 0, which is the calling process.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import socket
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from functools import partial
from multiprocessing.process import BaseProcess
from multiprocessing.synchronize import Semaphore
from pathlib import Path

import torch
import torch.distributed as dist

from lagoon.engine.cores import available_cores, pin
from lagoon.engine.group import Distributed, Group, Solo
from lagoon.engine.interrupts import INTERRUPTS, die_with
from lagoon.engine.shared_sum import SharedSum
from lagoon.errors import LagoonError

Follow = Callable[[Group], None]
Signals = list[list[Semaphore]]
# A follower waits as long as rank 0 may need between two iterations, for example to evaluate or to save.
PATIENCE = timedelta(hours=2)
_START_SECONDS = 120.0
_LEAVE_SECONDS = 2.0


@contextmanager
def data_parallel(size: int, follow: Follow, cancelled: Callable[[], bool] = lambda: False) -> Iterator[Group]:
    """Run ``follow`` in ``size - 1`` new processes and join them and this one into a group.

    Each process gets one torch thread and, where there are several, one core of its own. All settings of the
    calling process are put back afterwards.

    Args:
        size: processes in all; 1 starts none.
        follow: picklable; called with the group on ranks 1 and up.
        cancelled: asked while the processes start, which takes seconds; True gives up.

    Yields:
        The group, as rank 0.

    Raises:
        LagoonError: a process did not start or died; the text holds its error.
        KeyboardInterrupt: cancelled.
    """
    threads, cores = torch.get_num_threads(), available_cores()
    torch.set_num_threads(1)
    try:
        if size == 1:
            yield Solo()
        else:
            with tempfile.TemporaryDirectory(prefix="lagoon-ranks-") as folder:
                yield from _lead(size, follow, Path(folder), cores, cancelled)
    finally:
        torch.set_num_threads(threads)
        pin(cores)


def _lead(size: int, follow: Follow, folder: Path, cores: list[int], cancelled: Callable[[], bool]) -> Iterator[Group]:
    children: list[BaseProcess] = []
    patience = 0.0  # A process that is still starting would not notice that it should leave.

    def check_peers() -> None:
        if not all(child.is_alive() for child in children):
            raise RuntimeError("A worker process has died.")

    try:
        context = multiprocessing.get_context("spawn")
        signals = [[context.Semaphore(0) for _ in range(size)] for _ in range(size)]
        children = _spawn(size, partial(_follow, size, folder, os.getpid(), follow, signals), cores)
        pin([cores[0]])
        _await_ready(children, folder, cancelled)
        group = _join(0, size, folder, signals, check_peers)
        patience = _LEAVE_SECONDS
        yield group
    except RuntimeError as error:
        # The transport reports a dead peer as a RuntimeError; the peer's own report says why it died.
        report = _first_report(children, folder)
        if report is None:
            raise
        raise LagoonError(report) from error
    finally:
        if dist.is_initialized():
            dist.destroy_process_group()
        deadline = time.monotonic() + patience
        for child in children:
            child.join(max(deadline - time.monotonic(), 0.0))
            if child.is_alive():
                child.kill()
                child.join()


def _spawn(size: int, follow: Callable[[int, int], None], cores: list[int]) -> list[BaseProcess]:
    context = multiprocessing.get_context("spawn")
    children: list[BaseProcess] = []
    with signals_ignored():
        for rank in range(1, size):
            core = cores[rank % len(cores)]
            child = context.Process(target=follow, args=(rank, core), name=f"lagoon-rank-{rank}", daemon=True)
            child.start()
            children.append(child)
    return children


@contextmanager
def signals_ignored() -> Iterator[None]:
    """Let processes that are started meanwhile ignore Ctrl-C, from their first instruction on.

    Ctrl-C reaches every process of a terminal, and only the one that leads shall act on it.
    """
    main = threading.current_thread() is threading.main_thread()
    handlers = {number: signal.getsignal(number) for number in INTERRUPTS} if main else {}
    try:
        for number in handlers:
            signal.signal(number, signal.SIG_IGN)
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)


def _follow(size: int, folder: Path, parent: int, follow: Follow, signals: Signals, rank: int, core: int) -> None:
    for number in INTERRUPTS:
        signal.signal(number, signal.SIG_IGN)
    die_with(parent)
    torch.set_num_threads(1)
    pin([core])

    def check_peers() -> None:
        if os.getppid() != parent:
            os._exit(1)

    try:
        (folder / f"ready-{rank}").touch()
        follow(_join(rank, size, folder, signals, check_peers))
        dist.destroy_process_group()
    except BaseException as error:
        text = str(error) if isinstance(error, LagoonError) else traceback.format_exc()
        if folder.is_dir():
            (folder / f"error-{rank}.txt").write_text(text, encoding="utf-8")
        os._exit(1)
    # Not through the interpreter's own end: once torch._dynamo is loaded, gloo's threads outlive the process group
    # (torch 2.13), and one that still lets go of a tensor then finds no interpreter and aborts the process
    # ("terminate called without an active exception").
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


def _await_ready(children: list[BaseProcess], folder: Path, cancelled: Callable[[], bool]) -> None:
    deadline = time.monotonic() + _START_SECONDS
    for rank, child in enumerate(children, start=1):
        while not (folder / f"ready-{rank}").exists():
            if cancelled():
                raise KeyboardInterrupt
            if not child.is_alive():
                raise LagoonError(
                    f"Worker {rank} ended with code {child.exitcode} while starting; its error stands above. A script "
                    'that trains needs the guard: if __name__ == "__main__". '
                    "Or train in one process: train.ppo.workers=1"
                )
            if time.monotonic() > deadline:
                raise LagoonError(
                    f"Worker {rank} did not start within {_START_SECONDS:.0f} s. "
                    "Train in one process: train.ppo.workers=1"
                )
            time.sleep(0.01)


def _join(rank: int, size: int, folder: Path, signals: Signals, check_peers: Callable[[], None]) -> Group:
    with loopback():
        store = f"file://{folder}/store"
        dist.init_process_group("gloo", init_method=store, rank=rank, world_size=size, timeout=PATIENCE)
    return Distributed(SharedSum(rank, size, signals, folder, check_peers))


@contextmanager
def loopback() -> Iterator[None]:
    """Let gloo use this machine's own interface, unless one was chosen; for ranks that are all on one machine."""
    name = next((name for _, name in socket.if_nameindex() if name.startswith("lo")), None)
    if name is None or "GLOO_SOCKET_IFNAME" in os.environ:
        yield
        return
    # Otherwise gloo looks the machine's own name up, which fails where the network is odd or missing.
    os.environ["GLOO_SOCKET_IFNAME"] = name
    try:
        yield
    finally:
        del os.environ["GLOO_SOCKET_IFNAME"]


def _first_report(children: list[BaseProcess], folder: Path) -> str | None:
    for child in children:
        child.join(_LEAVE_SECONDS / 2)
    for rank, child in enumerate(children, start=1):
        path = folder / f"error-{rank}.txt"
        if path.exists():
            return f"Worker {rank} failed: {path.read_text(encoding='utf-8').strip()}"
        if child.exitcode not in (None, 0):
            return (
                f"Worker {rank} was ended from outside (code {child.exitcode}), perhaps for lack of memory. "
                "Run the same command again to go on from the last checkpoint."
            )
    return None
