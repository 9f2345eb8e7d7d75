"""The job script is checked by bash, and run with stand-ins for SLURM's own programs."""

import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from lagoon.cli import __main__ as cli
from lagoon.engine.scheduler.config import SlurmConfig
from lagoon.engine.scheduler.slurm import job_script
from lagoon.errors import BadInputError, BadSettingError
from lagoon.skill import Skill

ODD = "a 'b' \"c\" $(d) & e"


def script(folder: Path, config: SlurmConfig | None = None, skills=("/skills/bow", ODD)) -> Path:
    text = job_script(
        config or SlurmConfig(),
        "lagoon-train",
        skills,
        ("train", "--again"),
        ("seed=3", "train.hidden=[8, 8]"),
        folder,
        folder,
        str(folder / "python"),
        "Written by: lagoon train\nrm -rf /",
        at_once=1,
    )
    path = folder / "job.sbatch"
    path.write_text(text)
    return path


@pytest.fixture
def cluster(tmp_path) -> Path:
    """SLURM's programs, which write down what they are told."""
    programs = {
        "srun": 'echo "srun $1"; shift; exec "$@"',
        "scontrol": 'case $1 in show) echo node7; echo node8;; *) echo "$@" >> scontrol.log;; esac',
        "python": """printf "<%s>" "$@"
[ "${SLOW:-}" ] || exit 0
sleep 60 > sleep.log &
trap 'echo saved; kill %1; exit 0' TERM
: > begun
wait
""",
    }
    for name, body in programs.items():
        path = tmp_path / name
        path.write_text(f"#!/bin/bash\n{body}\n")
        path.chmod(0o755)
    return tmp_path


def environment(folder: Path, **more: str) -> dict[str, str]:
    slurm = {"SLURM_ARRAY_TASK_ID": "1", "SLURM_NNODES": "1", "SLURM_JOB_ID": "42", "SLURM_JOB_NODELIST": "node[7-8]"}
    return {"PATH": f"{folder}:{os.environ['PATH']}", **slurm, **more}


def run(folder: Path, **more: str) -> str:
    words = ["bash", str(folder / "job.sbatch")]
    return subprocess.run(
        words, env=environment(folder, **more), capture_output=True, text=True, timeout=60, check=True
    ).stdout


def test_each_element_of_the_array_trains_its_skill(cluster):
    path = script(cluster)
    subprocess.run(["bash", "-n", str(path)], check=True, timeout=60)
    rest = "<seed=3><train.hidden=[8, 8]>"
    assert run(cluster) == f"srun --cpus-per-task=8\n<-m><lagoon.cli><train><--again><{ODD}>{rest}"
    assert f"<--again></skills/bow>{rest}" in run(cluster, SLURM_ARRAY_TASK_ID="0")
    asked = [line for line in path.read_text().splitlines() if line.startswith("#SBATCH")]
    assert "#SBATCH --array=0-1%1" in asked and "#SBATCH --requeue" in asked
    assert not any("partition" in line or "account" in line for line in asked)
    assert path.read_text().splitlines()[1] == "# Written by: lagoon train rm -rf /"


def test_several_nodes_are_joined_by_torchrun(cluster):
    path = script(cluster, SlurmConfig(nodes=2, cores=4, partition="gpu", account="lab", memory="16G", time="1-0:30"))
    assert "<-m><torch.distributed.run><--nnodes=2><--nproc-per-node=4><--rdzv-id=42><--rdzv-backend=c10d>" in (
        out := run(cluster, SLURM_NNODES="2")
    )
    assert "<--rdzv-endpoint=node7:29500><-m><lagoon.cli><train>" in out
    text = path.read_text()
    assert all(
        f"#SBATCH --{wish}\n" in text
        for wish in ("nodes=2", "cpus-per-task=4", "partition=gpu", "account=lab", "mem=16G", "time=1-0:30")
    )


def test_before_the_time_limit_the_run_is_queued_again_and_may_still_save(cluster):
    script(cluster)
    words = ["bash", str(cluster / "job.sbatch")]
    job = subprocess.Popen(words, env=environment(cluster, SLOW="1"), stdout=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 60
    while not (cluster / "begun").exists():
        assert time.monotonic() < deadline
        time.sleep(0.02)
    job.send_signal(signal.SIGUSR1)
    while not (cluster / "scontrol.log").exists():
        assert time.monotonic() < deadline
        time.sleep(0.02)
    assert (cluster / "scontrol.log").read_text() == "requeue 42\n" and job.poll() is None
    children = Path(f"/proc/{job.pid}/task/{job.pid}/children").read_text().split()
    (step,) = [int(pid) for pid in children if str(cluster / "python") in Path(f"/proc/{pid}/cmdline").read_text()]
    os.kill(step, signal.SIGTERM)
    assert job.communicate(timeout=60)[0].endswith("saved\n") and job.returncode == 0


@pytest.mark.parametrize(
    "settings",
    [{"nodes": 0}, {"time": "soon"}, {"partition": "a b"}, {"setup": "a\nb"}, {"memory": "$(x)"}, {"port": 80}],
)
def test_what_cannot_stand_in_a_job_script_is_refused(settings):
    with pytest.raises(BadSettingError, match=next(iter(settings))):
        SlurmConfig(**settings)


def test_a_folder_that_slurm_would_misread_is_refused(tmp_path):
    with pytest.raises(BadInputError, match="SLURM would misread"):
        job_script(SlurmConfig(), "x", ["a"], ["train"], [], tmp_path / "100%", tmp_path, "python", "")


def test_the_verb_writes_the_script_and_queues_it_where_it_can(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    folders = []
    for command in ("bow", "clap"):
        skill = Skill.new(tmp_path / "skills", command, "go2")
        skill.save()
        folders.append(str(skill.folder.resolve()))
    words = ["train", "bow", "clap", "scheduler=slurm", "slurm.cores=3", "train.minutes=5"]
    path = tmp_path / "skills" / "logs" / "train.sbatch"
    monkeypatch.setenv("PATH", str(tmp_path))
    assert cli.main(words) == 2
    err = capsys.readouterr().err
    assert "'sbatch' is not on this machine, so nothing was queued" in err and err.endswith(f"is: sbatch {path}\n")
    text = path.read_text()
    assert all(f"    {shlex.quote(folder)}\n" in text for folder in folders)
    assert f"({sys.executable})" in text and '-m lagoon.cli train "$skill" train.minutes=5 &' in text

    sbatch = tmp_path / "sbatch"
    sbatch.write_text('#!/bin/sh\n[ "$1" ] && echo "Submitted batch job 7"\n')
    sbatch.chmod(0o755)
    assert cli.main(words) == 0
    assert "Submitted batch job 7: 2 skills" in capsys.readouterr().out
    sbatch.write_text("#!/bin/sh\necho 'Invalid account' >&2\nexit 1\n")
    assert cli.main(words) == 2
    assert "sbatch refused the job: Invalid account" in capsys.readouterr().err
