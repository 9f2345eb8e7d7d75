"""Whole runs as jobs: what a scheduler of jobs owes, and the one that starts them on this machine.

What enters: command lines, each with a number of cores and a file for what it prints. What leaves: how far each is, and
how it ended. Schedulers carry control only: a job reads and writes its own files.
"""

from __future__ import annotations

import json
import os
import select
import shlex
import signal
import subprocess
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any, Protocol

from lagoon.engine.cores import available_cores, pin
from lagoon.engine.interrupts import INTERRUPTS, die_with
from lagoon.errors import LagoonError

LINE = "LAGOON_JOB"
"""Environment variable of a job: the process id of who started it, and the descriptor for its progress."""
BEGIN = "--- "
"""Begins the line of a log that says when a run began, and with which command."""
_POLL_SECONDS = 0.1
_LONGEST = 200


@dataclass(frozen=True)
class Job:
    """One run."""

    name: str
    """Unique among the jobs of a scheduler."""
    command: tuple[str, ...]
    """Program and arguments; run in the folder of who starts it. Run again, it goes on where it stopped."""
    log: Path
    """Gets, at its end, all that the run prints."""
    cores: int = 1
    """Cores that belong to it alone while it runs."""


@dataclass(frozen=True)
class Update:
    """Something that happened to a job."""

    name: str
    stage: str = ""
    fraction: float = 0.0
    """Done share of the stage, in [0, 1]."""
    message: str = ""
    code: int | None = None
    """Exit code once it has ended, or the negative number of the signal that ended it; None while it runs."""


class JobScheduler(Protocol):
    """Starts jobs and tells about them; ``local``, ``ray``."""

    def capacity(self) -> int:
        """Return the cores that there are, free or not."""
        ...

    def largest(self) -> int:
        """Return the cores of the largest machine: no job can have more."""
        ...

    def start(self, job: Job) -> bool:
        """Start a job; False, and nothing happens, when its cores are not free."""
        ...

    def poll(self, seconds: float) -> list[Update]:
        """Return what happened, waiting at most this long for something to happen."""
        ...

    def interrupt(self) -> None:
        """Ask all jobs to save their work and end, as Ctrl-C does."""
        ...

    def close(self) -> None:
        """End what still runs, at once."""
        ...


@dataclass
class _Running:
    job: Job
    process: subprocess.Popen[bytes]
    line: int
    """Descriptor that its progress is read from."""
    cores: list[int]
    rest: bytes = b""
    ended: bool = False


class LocalJobs:
    """Jobs on this machine, each pinned to cores of its own.

    A job is a process group of its own, so that Ctrl-C of the terminal reaches only who started it, who then asks the
    jobs to save. When that one is killed outright, the kernel sends the jobs the same Ctrl-C.
    """

    def __init__(self, cores: list[int] | None = None) -> None:
        """Args: cores: to share among the jobs; all that this process may use by default."""
        self._all = cores or available_cores()
        self._free = list(self._all)
        self._running: dict[str, _Running] = {}

    def capacity(self) -> int:
        """Return the number of cores."""
        return len(self._all)

    def largest(self) -> int:
        """Return the number of cores: there is one machine."""
        return len(self._all)

    def start(self, job: Job) -> bool:
        """Start a job on free cores.

        Raises:
            LagoonError: its log or its program cannot be opened.
        """
        if job.cores > len(self._free):
            return False
        cores, self._free = self._free[: job.cores], self._free[job.cores :]
        try:
            self._running[job.name] = self._spawn(job, cores)
        except OSError as error:
            self._free = sorted(self._free + cores)
            raise LagoonError(
                f"Could not start {job.name} with its log {job.log}: {error.strerror or error}. Free some space or "
                "choose another folder with skills_dir=PATH, then run the same command again."
            ) from error
        return True

    def _spawn(self, job: Job, cores: list[int]) -> _Running:
        job.log.parent.mkdir(parents=True, exist_ok=True)
        reader, writer = os.pipe()
        own = available_cores()
        try:
            os.set_blocking(writer, False)  # A job must never wait for its reader.
            with job.log.open("ab", buffering=0) as log:
                now, line = datetime.now(UTC).isoformat(timespec="seconds"), shlex.join(job.command)
                log.write(f"{BEGIN}{now} {' '.join(line.split())}\n".encode("utf-8", "replace"))
                pin(cores)
                process = subprocess.Popen(
                    job.command,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    pass_fds=(writer,),
                    process_group=0,
                    env=_environment(os.environ, len(cores), writer),
                )
        except BaseException:
            os.close(reader)
            raise
        finally:
            pin(own)
            os.close(writer)
        os.set_blocking(reader, False)
        return _Running(job, process, reader, cores)

    def poll(self, seconds: float) -> list[Update]:
        """Return what happened, waiting at most this long for something to happen."""
        deadline = time.monotonic() + seconds
        while True:
            updates = [update for running in list(self._running.values()) for update in self._look(running)]
            left = deadline - time.monotonic()
            if updates or left <= 0:
                return updates
            lines = [running.line for running in self._running.values() if not running.ended]
            select.select(lines, [], [], min(left, _POLL_SECONDS))

    def _look(self, running: _Running) -> list[Update]:
        code = running.process.poll()  # Before reading, so that the last words of one that has ended are read.
        updates = [Update(running.job.name, **facts) for facts in _read(running)]
        if code is not None:
            self._forget(running)
            updates.append(Update(running.job.name, code=code))
        return updates

    def _forget(self, running: _Running) -> None:
        os.close(running.line)
        self._free = sorted(self._free + running.cores)
        del self._running[running.job.name]

    def pids(self) -> dict[str, int]:
        """Name -> process id of what runs."""
        return {name: running.process.pid for name, running in self._running.items()}

    def interrupt(self) -> None:
        """Ask all jobs to save their work and end."""
        for running in self._running.values():
            running.process.send_signal(signal.SIGINT)

    def close(self) -> None:
        """Kill what still runs, with all that it started."""
        for running in list(self._running.values()):
            with suppress(ProcessLookupError):
                os.killpg(running.process.pid, signal.SIGKILL)
            running.process.wait()
            self._forget(running)


def _environment(inherited: Mapping[str, str], cores: int, line: int) -> dict[str, str]:
    """What a job's libraries shall know: threads as many as cores, and where to tell progress."""
    return {"OMP_NUM_THREADS": str(cores), **inherited, LINE: f"{os.getpid()}:{line}"}


def _read(running: _Running) -> list[dict[str, Any]]:
    """Return the newest whole report, if there is one: only that is worth showing."""
    with suppress(BlockingIOError):
        while chunk := os.read(running.line, 65536):
            running.rest += chunk
        running.ended = True
    *lines, running.rest = running.rest.split(b"\n")
    for line in reversed(lines):
        with suppress(ValueError, KeyError, TypeError):
            facts = json.loads(line)
            return [{"stage": str(facts["s"]), "fraction": float(facts["f"]), "message": str(facts["m"])}]
    return []


class ProgressLine:
    """A job's own end of the line."""

    def __init__(self, descriptor: int) -> None:
        os.set_inheritable(descriptor, False)
        self._descriptor = descriptor

    def tell(self, stage: str, fraction: float, message: str) -> None:
        """Send how far a stage is; what nobody reads is dropped."""
        facts = {"s": stage, "f": round(fraction, 4), "m": message[:_LONGEST]}
        with suppress(OSError):  # Full, or nobody there any more.
            os.write(self._descriptor, json.dumps(facts).encode() + b"\n")


@cache
def progress_line() -> ProgressLine | None:
    """Return the line when this process is a job, and let Ctrl-C come when who started it dies; else None."""
    words = os.environ.pop(LINE, "")  # Processes that this one starts are no jobs.
    parent, _, descriptor = words.partition(":")
    if not (parent.isdigit() and descriptor.isdigit()):
        return None
    if threading.current_thread() is threading.main_thread():
        # Who started it may ignore or block Ctrl-C, as shells do for what ends in &, and Ray; a job inherits that.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, INTERRUPTS)
    die_with(int(parent), signal.SIGINT)
    return ProgressLine(int(descriptor))
