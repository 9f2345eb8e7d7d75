"""A job script for SLURM: one array of runs, each on one machine or joined over several by torchrun.

What enters: what to run and what to ask the cluster for. What leaves: the text of a file for ``sbatch``.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

from lagoon.engine.scheduler.config import SlurmConfig
from lagoon.errors import BadInputError

_TEMPLATE = """#!/bin/bash
# {origin}
#SBATCH --job-name={name}
#SBATCH --array=0-{last}{limit}
#SBATCH --nodes={nodes}
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task={cores}
#SBATCH --time={time}
{asked}#SBATCH --output="{logs}/{name}-%A_%a.log"
#SBATCH --open-mode=append
#SBATCH --requeue
#SBATCH --signal=B:USR1@120

set -euo pipefail
cd {folder}
{setup}
# One row per skill; each runs as an element of the array.
skills=(
{rows}
)
skill=${{skills[$SLURM_ARRAY_TASK_ID]}}

# Two minutes before the time limit the run is queued again. SLURM then sends it SIGTERM: it saves, and goes on later.
trap 'scontrol requeue "$SLURM_JOB_ID"' USR1

if [ "$SLURM_NNODES" -gt 1 ]; then
    head=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
    launch=({python} -m torch.distributed.run --nnodes="$SLURM_NNODES" --nproc-per-node={cores}
        --rdzv-id="$SLURM_JOB_ID" --rdzv-backend=c10d --rdzv-endpoint="$head:{port}")
else
    launch=({python})
fi
srun --cpus-per-task={cores} "${{launch[@]}}" -m {module} {before} "$skill" {after} &
step=$!
code=0
wait "$step" || code=$?
# A trap interrupts the first wait; the run itself may still be saving.
if [ "$code" -eq 138 ]; then
    code=0
    wait "$step" || code=$?
fi
exit "$code"
"""


def job_script(
    config: SlurmConfig,
    name: str,
    skills: Sequence[str],
    before: Sequence[str],
    after: Sequence[str],
    logs: Path,
    folder: Path,
    python: str,
    origin: str,
    at_once: int = 0,
) -> str:
    """Return the script.

    Args:
        config: what to ask the cluster for.
        name: of the job, for its log files too.
        skills: the argument in which the runs differ.
        before: arguments before it; the first is the verb.
        after: arguments after it.
        logs: absolute folder of the log files; it must exist when the job starts.
        folder: absolute working folder, which all machines see.
        python: interpreter with lagoon, on all machines.
        origin: says in the file where it comes from.
        at_once: most elements of the array that run at a time; 0 sets no limit.

    Raises:
        BadInputError: a path cannot stand in a job script.
    """
    if any(c in str(logs) for c in '"%\\') or not str(logs).isprintable():
        raise BadInputError(
            f'SLURM would misread the folder of the logs, {str(logs)!r}: it may not hold ", % or \\. Choose another '
            "with skills_dir=PATH."
        )
    wishes = {"partition": config.partition, "account": config.account, "mem": config.memory}
    return _TEMPLATE.format(
        origin=" ".join(origin.split()),
        name=name,
        last=len(skills) - 1,
        limit=f"%{at_once}" if at_once else "",
        nodes=config.nodes,
        cores=config.cores,
        time=config.time,
        asked="".join(f"#SBATCH --{key}={value}\n" for key, value in wishes.items() if value),
        logs=logs,
        folder=shlex.quote(str(folder)),
        setup=config.setup,
        rows="\n".join(f"    {shlex.quote(skill)}" for skill in skills),
        python=shlex.quote(python),
        port=config.port,
        module="lagoon.cli",
        before=shlex.join(before),
        after=shlex.join(after),
    )
