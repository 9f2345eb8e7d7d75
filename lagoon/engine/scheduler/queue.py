"""A queue of jobs: as many at a time as there is room for; one that is killed is started anew, none takes others down.

What enters: jobs and a scheduler. What leaves: the state of each, as it changes and at the end.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from lagoon.engine.scheduler.jobs import Job, JobScheduler, Update
from lagoon.errors import LagoonError

DEATHS, DEATH_SECONDS = 3, 600.0
"""A job that is killed more often than this within so many seconds has failed."""
LEAVE_SECONDS = 60.0
"""Jobs that were asked to save and end get this long."""
INTERRUPTED = 130
"""Exit code of a job that has saved its work because it was asked to."""
_TICK = 0.25
State = Literal["waiting", "running", "done", "failed", "stopped"]


@dataclass
class JobRow:
    """Where a job is."""

    job: Job
    state: State = "waiting"
    stage: str = ""
    fraction: float = 0.0
    message: str = ""
    code: int | None = None
    """Exit code, or the negative number of the signal that ended it."""
    restarts: int = 0
    seconds: float = 0.0
    """Wall time that it ran, over all its starts [s]."""
    since: float = 0.0
    deaths: list[float] = field(default_factory=list)
    error: str = ""
    """Why it could not be started."""


class JobQueue:
    """Runs jobs in their order."""

    def __init__(
        self, scheduler: JobScheduler, jobs: Sequence[Job], at_once: int = 0, tell: Callable[[str], None] | None = None
    ) -> None:
        """Take the jobs over.

        Args:
            scheduler: starts them; closed at the end of ``run``.
            jobs: with different names, none with more cores than the scheduler has.
            at_once: most jobs that run at a time; 0 sets no limit.
            tell: gets a line when a job is started anew.
        """
        self._scheduler, self._at_once, self._tell = scheduler, at_once or len(jobs), tell or (lambda line: None)
        self.rows = {job.name: JobRow(job) for job in jobs}

    def run(self, stop: Callable[[], bool], show: Callable[[], None] = lambda: None) -> list[JobRow]:
        """Run all jobs.

        Args:
            stop: asked all the time; once it says True, all jobs are asked to save and end, and none is started.
            show: called after each look at the jobs.

        Returns:
            One row per job, in their order; none is waiting or running unless the queue was stopped.
        """
        asked: float | None = None
        try:
            while True:
                if asked is None and stop():
                    asked = time.monotonic()
                    self._scheduler.interrupt()
                if asked is None:
                    self._start_waiting()
                running = self._in("running")
                if not running and (asked is not None or not self._in("waiting")):
                    break
                if asked is not None and time.monotonic() - asked > LEAVE_SECONDS:
                    break
                for update in self._scheduler.poll(_TICK):
                    self._take(update, asked is not None)
                now = time.monotonic()
                for row in running:
                    if row.state == "running":
                        row.seconds, row.since = row.seconds + now - row.since, now
                show()
        finally:
            self._scheduler.close()
            for row in self._in("running"):
                row.state = "stopped"
        return list(self.rows.values())

    def _in(self, state: State) -> list[JobRow]:
        return [row for row in self.rows.values() if row.state == state]

    def _start_waiting(self) -> None:
        for row in self._in("waiting"):
            if len(self._in("running")) >= self._at_once:
                return
            try:
                if not self._scheduler.start(row.job):
                    return  # Those behind it may be smaller, but would let it wait forever.
            except LagoonError as error:
                row.state, row.error = "failed", str(error)
                continue
            row.state, row.code, row.since = "running", None, time.monotonic()

    def _take(self, update: Update, stopping: bool) -> None:
        row = self.rows[update.name]
        if update.code is None:
            row.stage, row.fraction, row.message = update.stage, update.fraction, update.message
            return
        row.code = update.code
        if update.code == 0:
            row.state, row.fraction = "done", 1.0
        elif update.code == INTERRUPTED or (stopping and update.code < 0):
            row.state = "stopped"
        elif update.code < 0 and self._again(row):
            row.state, row.restarts = "waiting", row.restarts + 1
            self._tell(
                f"{row.job.name} was killed (signal {-update.code}), perhaps for lack of memory. It is started anew "
                "and goes on from its last checkpoint."
            )
        else:
            row.state = "failed"

    def _again(self, row: JobRow) -> bool:
        now = time.monotonic()
        row.deaths = [at for at in row.deaths if now - at < DEATH_SECONDS] + [now]
        return len(row.deaths) <= DEATHS
