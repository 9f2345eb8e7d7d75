"""Processes on this machine: started, watched, started anew, and never left behind.

What enters: what each process shall do. What leaves: what they report, and which of them have died.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import select
import signal
import sys
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Any

import torch

from lagoon.engine.cores import pin
from lagoon.engine.interrupts import INTERRUPTS, die_with
from lagoon.engine.processes import signals_ignored
from lagoon.errors import LagoonError

_LEAVE_SECONDS = 2.0
_DEATHS = 3
_DEATH_SECONDS = 60.0
_PIPE_BYTES = 4096  # A pipe takes this much at once or nothing.


class Reporter:
    """A process's own end of the line to the one that started it; numbers and words, as JSON."""

    def __init__(self, line: Connection) -> None:
        self._line = line

    def __call__(self, **facts: Any) -> bool:
        """Send facts; False, and nothing is sent, when nobody reads: a process must never wait for its log."""
        content = json.dumps(facts).encode()
        _, free, _ = select.select([], [self._line], [], 0.0)
        if not free or len(content) > _PIPE_BYTES - 4:
            return False
        self._line.send_bytes(content)
        return True

    def failed(self, text: str) -> None:
        """Send why this process ends."""
        self._line.send_bytes(json.dumps({"error": text[-60_000:]}).encode())


Work = Callable[[Reporter], None]
"""What a process does, picklable; it returns when it shall end."""


@dataclass
class Running:
    """One process."""

    name: str
    work: Callable[[int], Work]
    """How often it was started before -> what it does."""
    core: int | None
    process: BaseProcess
    line: Connection
    starts: int = 1
    errors: list[str] = field(default_factory=list)
    deaths: list[float] = field(default_factory=list)


class LocalScheduler:
    """Starts processes with one torch thread each, and a core of its own where there are enough."""

    def __init__(self) -> None:
        self._running: list[Running] = []

    @property
    def processes(self) -> dict[str, BaseProcess]:
        """Name -> process."""
        return {running.name: running.process for running in self._running}

    def start(self, name: str, work: Callable[[int], Work], core: int | None = None) -> None:
        """Start a process.

        Args:
            name: for messages.
            work: how often it was started before -> what it does; a process that was killed gets another one.
            core: the only core that it uses; None leaves that to the system.
        """
        process, line = self._spawn(name, work(0), core)
        self._running.append(Running(name, work, core, process, line))

    def _spawn(self, name: str, work: Work, core: int | None) -> tuple[BaseProcess, Connection]:
        context = multiprocessing.get_context("spawn")
        reader, writer = context.Pipe(duplex=False)
        target = partial(_main, work, writer, os.getpid(), core)
        process = context.Process(target=target, name=f"lagoon-{name}", daemon=True)
        with signals_ignored():
            process.start()
        writer.close()
        return process, reader

    def reports(self) -> list[tuple[str, dict[str, Any]]]:
        """Return (name, facts) of everything that processes reported since the last call."""
        return [(running.name, facts) for running in self._running for facts in _read(running)]

    def revive(self, bury: Callable[[str], None]) -> list[str]:
        """Start anew what was killed; returns the names.

        Args:
            bury: called with the name before the new process starts, to free what the dead one held.

        Raises:
            LagoonError: a process ended with an error of its own, never started, or is killed again and again.
        """
        revived = []
        for running in self._running:
            if running.process.is_alive():
                continue
            running.process.join()
            self._check(running)
            bury(running.name)
            running.process, running.line = self._spawn(running.name, running.work(running.starts), running.core)
            running.starts += 1
            revived.append(running.name)
        return revived

    def _check(self, running: Running) -> None:
        """Raise unless a dead process may be started anew."""
        _read(running)
        code = running.process.exitcode
        if running.errors:
            raise LagoonError(f"The process {running.name} failed: {running.errors[0].strip()}")
        if code is not None and code >= 0:
            raise LagoonError(
                f"The process {running.name} ended with code {code} while starting; its error stands above. A script "
                'that trains needs the guard: if __name__ == "__main__". Or train with train.topology=colocated '
                "train.ppo.workers=1, which starts none."
            )
        now = time.monotonic()
        running.deaths = [at for at in running.deaths if now - at < _DEATH_SECONDS] + [now]
        if len(running.deaths) > _DEATHS:
            raise LagoonError(
                f"The process {running.name} was killed {len(running.deaths)} times within {_DEATH_SECONDS:.0f} s, "
                f"last with code {code}, perhaps for lack of memory. Run the same command again with fewer "
                "environments or actors to go on from the last checkpoint: train.num_envs=NUMBER, train.actors=NUMBER."
            )

    def close(self, seconds: float = _LEAVE_SECONDS) -> None:
        """Wait for all processes to leave by themselves, then end those that have not."""
        deadline = time.monotonic() + seconds
        for running in self._running:
            running.process.join(max(deadline - time.monotonic(), 0.0))
            if running.process.is_alive():
                running.process.kill()
                running.process.join()
            running.line.close()
        self._running.clear()


def _read(running: Running) -> list[dict[str, Any]]:
    found = []
    with suppress(EOFError, OSError, ValueError):  # The process has died, perhaps in the middle of a word.
        while running.line.poll():
            facts = json.loads(running.line.recv_bytes())
            if "error" in facts:
                running.errors.append(facts["error"])
            else:
                found.append(facts)
    return found


def _main(work: Work, line: Connection, parent: int, core: int | None) -> None:
    for number in INTERRUPTS:
        signal.signal(number, signal.SIG_IGN)
    die_with(parent)
    torch.set_num_threads(1)
    if core is not None:
        pin([core])
    reporter = Reporter(line)
    try:
        work(reporter)
    except BaseException as error:
        reporter.failed(str(error) if isinstance(error, LagoonError) else traceback.format_exc())
        os._exit(1)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)
