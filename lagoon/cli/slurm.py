"""``scheduler=slurm``: writes the job script of a training and hands it to ``sbatch`` where there is one.

What enters: a call and its skills. What leaves: a file beside the logs, and a job in the cluster's queue.
"""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from lagoon.cli.console import Terminal
from lagoon.cli.many import LOGS, Member, settings_of
from lagoon.cli.verb import Call
from lagoon.engine.scheduler.slurm import job_script
from lagoon.errors import LagoonError
from lagoon.paths import write_text


def submit(call: Call, verb: str, members: Mapping[str, Member]) -> int:
    """Write the script and queue it.

    Raises:
        LagoonError: there is no sbatch here, or it refused; the script is written all the same.
    """
    logs = (Path(call.config.skills_dir) / LOGS).resolve()
    path = logs / f"{verb}.sbatch"
    script = job_script(
        call.config.slurm,
        f"lagoon-{verb}",
        [member.words[-1] for member in members.values()],
        (verb, *(["--again"] if call.again else []), *next(iter(members.values())).words[:-1]),
        settings_of(call),
        logs,
        Path.cwd(),
        sys.executable,
        f"Written by: {shlex.join(call.words)}",
        call.config.jobs,
    )
    write_text(path, script)
    line = f"sbatch {shlex.quote(str(path))}"
    if shutil.which("sbatch") is None:
        raise LagoonError(
            f"The command 'sbatch' is not on this machine, so nothing was queued. The job script is written; type this "
            f"where SLURM is: {line}"
        )
    done = subprocess.run(["sbatch", str(path)], capture_output=True, text=True)
    if done.returncode:
        raise LagoonError(
            f"sbatch refused the job: {' '.join(done.stderr.split())}. Set what the cluster wants with "
            f"slurm.partition=NAME, slurm.account=NAME, slurm.time=TIME, or edit the script and type: {line}"
        )
    screen = Terminal()
    screen.say(f"{done.stdout.strip()}: {len(members)} skills, script {path}")
    screen.say("Its state:         squeue --me")
    screen.say(f"Its logs:          {logs}/lagoon-{verb}-*.log")
    return 0
