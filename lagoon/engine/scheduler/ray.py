"""Jobs over the machines of a Ray cluster: Ray says where each one runs, and tells when its machine is lost.

What enters: jobs, as for ``jobs.LocalJobs``. What leaves: the same updates. Ray carries control only; the folders of
the skills and of the logs are read and written by the jobs, so all machines must see them under one path.
"""

from __future__ import annotations

import os
import socket
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from lagoon.engine.cores import available_cores
from lagoon.engine.scheduler.config import RayConfig
from lagoon.engine.scheduler.jobs import Job, LocalJobs, Update
from lagoon.errors import LagoonError, require

KILLED = -9
LINGER_SECONDS = 10.0
"""A job whose Ray process was killed may still be saving; it is told of after this time, when its folder is free."""
_ANSWER_SECONDS = 0.5
_CLOSE_SECONDS = 5.0


class Runner:
    """What Ray runs for each job, on the machine that it chose."""

    def __init__(self, job: Job, folder: str) -> None:
        """Start the job; the process that does so must be the one that Ray ends, so that the job ends with it."""
        os.chdir(folder)
        self._name, self._leases = job.name, list[socket.socket]()
        self._jobs = LocalJobs(self._lease(job.cores))
        self._jobs.start(job)

    def _lease(self, count: int) -> list[int]:
        """Take cores that no other job of this machine has; all of them where that cannot be told."""
        mine: list[int] = []
        for core in available_cores():
            lease = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
            try:
                lease.bind(f"\0lagoon-core-{core}")  # The kernel gives it back, however this process ends.
            except OSError:
                lease.close()
                continue
            self._leases.append(lease)
            mine.append(core)
            if len(mine) == count:
                return mine
        return available_cores()

    def poll(self) -> list[Update]:
        """Return what happened; waits a little for something to happen."""
        return self._jobs.poll(_ANSWER_SECONDS)

    def machine(self) -> str:
        """Name of the machine that it runs on, and its process here."""
        return f"{socket.gethostname()}:{os.getpid()}"

    def interrupt(self) -> None:
        """Ask the job to save and end."""
        self._jobs.interrupt()

    def close(self) -> None:
        """End the job at once."""
        self._jobs.close()


@dataclass
class _Placed:
    job: Job
    actor: Any
    answer: Any
    """Reference to the answer that was asked for last."""
    lost: float | None = None
    """When its process was found dead."""


class RayJobs:
    """Jobs on a Ray cluster that is already there."""

    def __init__(self, config: RayConfig) -> None:
        """Join the cluster.

        Raises:
            MissingExtraError: Ray is not installed.
            LagoonError: there is no cluster at that address.
        """
        self._ray: Any = require("ray", "ray")
        self._began = not self._ray.is_initialized()
        if self._began:
            try:
                self._ray.init(address=config.address, log_to_driver=False, logging_level="ERROR")
            except (ConnectionError, RuntimeError, ValueError) as error:
                raise LagoonError(
                    f"There is no Ray cluster at ray.address={config.address} ({' '.join(str(error).split())[:160]}). "
                    "Start one with 'ray start --head', join machines with 'ray start --address=HOST:6379', or leave "
                    "scheduler=ray out."
                ) from error
        self._placed: dict[str, _Placed] = {}

    def _cores(self) -> list[int]:
        return [int(node["Resources"].get("CPU", 0)) for node in self._ray.nodes() if node["Alive"]] or [0]

    def capacity(self) -> int:
        """Return the cores of all machines."""
        return max(sum(self._cores()), 1)

    def largest(self) -> int:
        """Return the cores of the largest machine."""
        return max(*self._cores(), 1)

    def start(self, job: Job) -> bool:
        """Hand a job to Ray, which keeps it until a machine has room; False when all cores are spoken for."""
        if sum(placed.job.cores for placed in self._placed.values()) + job.cores > self.capacity():
            return False
        runner = self._ray.remote(Runner).options(num_cpus=job.cores, max_restarts=0, name=None)
        actor = runner.remote(job, os.getcwd())
        self._placed[job.name] = _Placed(job, actor, actor.poll.remote())
        return True

    def poll(self, seconds: float) -> list[Update]:
        """Return what happened, waiting at most this long for something to happen."""
        updates: list[Update] = []
        asked = {placed.answer: placed for placed in self._placed.values() if placed.lost is None}
        ready = self._ray.wait(list(asked), num_returns=len(asked), timeout=seconds)[0] if asked else []
        for reference in ready:
            updates += self._answer(asked[reference])
        if not asked:
            time.sleep(seconds)
        for name, placed in list(self._placed.items()):
            if placed.lost is not None and time.monotonic() - placed.lost > LINGER_SECONDS:
                del self._placed[name]
                updates.append(Update(name, code=KILLED))
        return updates

    def _answer(self, placed: _Placed) -> list[Update]:
        try:
            updates: list[Update] = self._ray.get(placed.answer)
        except self._ray.exceptions.RayActorError as error:
            if isinstance(cause := getattr(error, "cause", None), LagoonError):
                raise cause from error
            placed.lost = time.monotonic()
            return []
        except self._ray.exceptions.RayTaskError as error:
            raise LagoonError(f"The job {placed.job.name} could not be started by Ray: {error}") from error
        if any(update.code is not None for update in updates):
            self._ray.kill(placed.actor)
            del self._placed[placed.job.name]
        else:
            placed.answer = placed.actor.poll.remote()
        return updates

    def machines(self) -> dict[str, str]:
        """Name of each job that runs -> machine, and process of Ray there."""
        return {name: self._ray.get(placed.actor.machine.remote()) for name, placed in self._placed.items()}

    def interrupt(self) -> None:
        """Ask all jobs to save their work and end."""
        for placed in self._placed.values():
            placed.actor.interrupt.remote()

    def close(self) -> None:
        """End what still runs, and leave the cluster as it was."""
        for placed in self._placed.values():
            with suppress(self._ray.exceptions.RayError):
                self._ray.get(placed.actor.close.remote(), timeout=_CLOSE_SECONDS)
            self._ray.kill(placed.actor)
        self._placed.clear()
        if self._began:
            self._ray.shutdown()
