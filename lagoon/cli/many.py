"""Several skills at once: one process each, packed over the cores, shown in one table.

What enters: a call that names several skills, and their folders. What leaves: what the verb leaves for each of them,
one log file per skill, a summary, an exit code. One that fails does not take the others down.
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from lagoon.cli.console import Terminal, shown
from lagoon.cli.many_table import ManyTable
from lagoon.cli.verb import Call
from lagoon.engine.cores import shares
from lagoon.engine.interrupts import Interrupts
from lagoon.engine.ranks import place
from lagoon.engine.scheduler.jobs import BEGIN, Job, JobScheduler, LocalJobs
from lagoon.engine.scheduler.queue import JobQueue, JobRow
from lagoon.errors import BadInputError, LagoonError
from lagoon.skill import Skill

LOGS = "logs"
"""Folder of the log files, in the folder of the skills."""
OWN = ("jobs", "scheduler", "slurm", "ray")
"""Settings of the queue, which its jobs do not get."""


@dataclass(frozen=True)
class Member:
    """One of several skills."""

    words: tuple[str, ...]
    """How its own process is told which one it is."""
    command: str
    folder: Path
    stage: str
    """Whose result stands in the summary."""


def run_many(call: Call, verb: str, members: Mapping[str, Member], scheduler: JobScheduler | None = None) -> int:
    """Run a verb for several skills side by side; returns the exit code.

    Args:
        call: the verb's settings hold for all of them.
        verb: for example ``"train"``.
        members: by unique name.
        scheduler: starts the processes; on this machine by default.

    Returns:
        0 when all went well; 130 after Ctrl-C; 1 when verdicts of failure are all that went wrong; else 2.
    """
    screen, config = Terminal(), call.config
    if place() is not None:
        raise BadInputError(
            f"torchrun joins processes for one skill, and {len(members)} are named. Name one, or leave torchrun out: "
            f"lagoon {verb} packs several over the cores by itself."
        )
    if config.jobs < 0:
        raise BadInputError(f"jobs={config.jobs}: expected 0 (as many as there are cores) or more. Type jobs=NUMBER.")
    scheduler = scheduler or LocalJobs()
    jobs = _jobs(call, verb, members, scheduler)
    labels = {name: shown(member.command, 30) for name, member in members.items()}
    cores = sorted({job.cores for job in jobs})
    each = f"{cores[0]} core{'s' if cores[-1] > 1 else ''}" if len(cores) == 1 else f"{cores[0]} or {cores[-1]} cores"
    side_by_side = min(len(jobs), config.jobs or len(jobs), scheduler.capacity() // cores[0])
    screen.say(f"{verb}: {len(jobs)} skills, {side_by_side} side by side on {each} each; logs in {jobs[0].log.parent}/")
    with Interrupts() as interrupts, ManyTable(screen, labels) as table:
        queue = JobQueue(scheduler, jobs, config.jobs, table.say)
        rows = queue.run(lambda: interrupts.requested, lambda: table.show(queue.rows.values(), interrupts.requested))
    results = {row.job.name: _result(row, members[row.job.name]) for row in rows}
    table.summary(rows, results)
    for line in _next_steps(rows, members):
        screen.say(line)
    if interrupts.requested and any(row.state != "done" for row in rows):
        raise KeyboardInterrupt
    return exit_code(rows)


def exit_code(rows: list[JobRow]) -> int:
    """Return what all rows together come to; a verdict of failure weighs less than work that was not done."""
    codes = {0 if row.state == "done" else (row.code or LagoonError.exit_code) for row in rows}
    if codes <= {0, 1}:
        return max(codes)
    return codes.pop() if len(codes) == 1 and min(codes) > 0 else LagoonError.exit_code


def _jobs(call: Call, verb: str, members: Mapping[str, Member], scheduler: JobScheduler) -> list[Job]:
    config, cores, most = call.config, scheduler.capacity(), scheduler.largest()
    ppo = config.train.ppo
    each = ppo.workers if ppo.topology == "colocated" else min(2, cores)  # The other topologies are never one process.
    settings = settings_of(call)
    again = ["--again"] if call.again else []
    logs = Path(config.skills_dir) / LOGS
    jobs = []
    for (name, member), share in zip(members.items(), shares(len(members), cores, each, config.jobs), strict=True):
        words = (verb, *again, *member.words, *settings)
        jobs.append(
            Job(name, (sys.executable, "-m", "lagoon.cli", *words), logs / f"{verb}-{name}.log", min(share, most))
        )
    return jobs


def settings_of(call: Call) -> list[str]:
    """Return the settings that were typed, less those of the queue."""
    return [word for key, word in call.typed if key.partition(".")[0] not in OWN]


def _result(row: JobRow, member: Member) -> str:
    """In a few words how it ended."""
    if row.state == "waiting":
        return "not begun"
    if row.state == "stopped":
        return f"stopped at {row.fraction:.0%} of {row.stage}" if row.stage else "stopped before it began"
    if row.state == "failed" and row.code != 1:
        return row.error or _last_error(row.job.log) or f"ended with code {row.code}"
    record = Skill.open(member.folder).stages[member.stage]
    return record.error or record.result


def _last_error(log: Path) -> str:
    """The error that a log ends with, in its own words."""
    with suppress(OSError):
        for line in reversed(log.read_text(encoding="utf-8", errors="replace").splitlines()):
            if line.startswith("Error: "):
                return line.removeprefix("Error: ")
            if line.startswith(BEGIN):
                break  # What stands above is of an earlier run.
    return ""


def _next_steps(rows: list[JobRow], members: Mapping[str, Member]) -> list[str]:
    lines = []
    for row in rows:
        member = members[row.job.name]
        folder = shlex.quote(str(member.folder))
        if row.state == "done" and member.stage == "train":
            lines.append(f"Next:              lagoon export {folder}")
        elif row.state == "done":
            lines.append(f"Look at it:        {member.folder / 'preview.html'} (open in a browser)")
        elif row.state == "failed":
            lines.append(f"What went wrong:   {row.job.log}")
    if any(row.state not in ("done", "stopped") for row in rows):
        lines.append("The same line again tries only what is not done.")
    return lines
