"""Ranks that torchrun started: on one machine, and on two as torchrun's two agents on the loopback."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from orphans import orphaned_memory
from point_mass import make_point_mass
from run_two_ranks import CONFIG

from lagoon.cli import __main__ as cli
from lagoon.engine.checkpoint import checkpoint_paths, load_checkpoint
from lagoon.engine.colocated import run
from lagoon.engine.cores import available_cores
from lagoon.engine.ranks import Place, place

HERE = Path(__file__).parent
RANK = {"RANK": "1", "WORLD_SIZE": "2", "LOCAL_RANK": "1", "LOCAL_WORLD_SIZE": "2", "MASTER_ADDR": "x"}


def free_port() -> str:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return str(found.getsockname()[1])


def test_a_process_knows_its_place(monkeypatch):
    assert place() is None
    for name, value in RANK.items():
        monkeypatch.setenv(name, value)
    assert place() is None  # Something else set them: torchrun names a port too.
    monkeypatch.setenv("MASTER_PORT", "1")
    assert place() == Place(rank=1, size=2, local_rank=1, local_size=2)
    monkeypatch.setenv("WORLD_SIZE", "1")
    assert place() is None


def test_torchruns_ranks_end_with_the_bits_of_local_workers(tmp_path):
    """Stronger than gradients that agree within 1e-6: sums, statistics and seeds are the same."""
    shared = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": free_port(), "WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": "2"}
    ranks = []
    for rank in ("0", "1"):
        words = [sys.executable, str(HERE / "run_two_ranks.py"), str(tmp_path / f"disk-{rank}")]
        environment = os.environ | shared | {"RANK": rank, "LOCAL_RANK": rank}
        ranks.append(subprocess.Popen(words, env=environment, stdout=subprocess.PIPE, text=True))
    local = load_checkpoint(run(make_point_mass, replace(CONFIG, workers=2), tmp_path / "local", 3))
    ends = [rank.communicate(timeout=120)[0].split() for rank in ranks]
    assert [rank.returncode for rank in ranks] == [0, 0]
    assert ends[0] == ends[1]  # Both are told where the checkpoint lies: on the disk of rank 0.
    assert not (tmp_path / "disk-1").exists()
    joined = load_checkpoint(Path(ends[0][0]))
    assert joined.tensors.keys() == local.tensors.keys() and joined.facts["iteration"] == 3
    assert all(torch.equal(joined.tensors[name], local.tensors[name]) for name in local.tensors)
    # Called again, the finished run is left as it is, and so is one whose budget has grown continued.
    # And no rank takes gloo's threads into the interpreter's end, where they abort it now and then.
    assert ends[0][1:] == ["3", "5", "left"]


def test_several_skills_and_torchrun_do_not_go_together(monkeypatch, capsys, tmp_path):
    from lagoon.skill import Skill

    for command in ("bow", "clap"):
        Skill.new(tmp_path, command, "go2").save()
    monkeypatch.setattr("lagoon.cli.many.place", lambda: Place(0, 2, 0, 2))
    assert cli.main(["train", "bow", "clap", f"skills_dir={tmp_path}"]) == 2
    assert "torchrun joins processes for one skill, and 2 are named" in capsys.readouterr().err


class Agents:
    """One torchrun per machine."""

    def __init__(self, folder: Path, machines: int, restarts: int = 0) -> None:
        self.port, self.programs = free_port(), []
        for machine in range(machines):
            words = [sys.executable, "-m", "torch.distributed.run", f"--nnodes={machines}", "--nproc-per-node"]
            words += [str(2 // machines), "--rdzv-backend=c10d", f"--rdzv-endpoint=127.0.0.1:{self.port}"]
            words += ["--local-addr=127.0.0.1", "--rdzv-id=test", f"--max-restarts={restarts}"]
            words += [str(HERE / "run_forever.py"), str(folder / f"disk-{machine}"), "0"]
            environment = os.environ | {"GLOO_SOCKET_IFNAME": "lo"}
            with (folder / f"log-{machine}.txt").open("ab") as log:
                self.programs.append(subprocess.Popen(words, env=environment, stdout=log, stderr=log))

    def ranks(self) -> dict[int, int]:
        """Rank -> process id."""
        found = {}
        for program in self.programs:
            for pid in Path(f"/proc/{program.pid}/task/{program.pid}/children").read_text().split():
                names = dict(line.split("=", 1) for line in read_environment(pid) if "=" in line)
                found[int(names.get("RANK", -1))] = int(pid)
        return found

    def wait(self, seconds: float = 60.0) -> list[int]:
        return [program.wait(seconds) for program in self.programs]

    def end(self) -> None:
        for program in self.programs:
            if program.poll() is None:
                program.kill()


def read_environment(pid: str) -> list[str]:
    try:
        return Path(f"/proc/{pid}/environ").read_text().split("\0")
    except OSError:
        return []


def iterations(folder: Path) -> list[int]:
    path = folder / "metrics.jsonl"
    lines = path.read_text().splitlines() if path.exists() else []
    return [json.loads(line)["iteration"] for line in lines if line.endswith("}")]


def wait_for(condition, seconds: float = 180.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "It took too long."
        time.sleep(0.05)


def leader(folder: Path) -> Path:
    """The disk of the machine that has rank 0: torchrun decides which one."""
    return next((path for path in folder.glob("disk-*") if iterations(path)), folder / "disk-0")


def in_order(disk: Path) -> None:
    found = iterations(disk)
    assert found == list(range(1, len(found) + 1))
    facts = load_checkpoint(checkpoint_paths(disk / "checkpoints")[-1]).facts
    assert facts["iteration"] == facts["version"] <= len(found)


linux = pytest.mark.skipif(sys.platform != "linux", reason="It looks into /proc.")


@pytest.mark.slow
@linux
@pytest.mark.timeout(600)
def test_two_machines_learn_together_save_on_a_signal_to_either_and_go_on(tmp_path):
    before = orphaned_memory()
    for asked in (0, 1):  # A signal to the machine of rank 0, and to the other one.
        agents = Agents(tmp_path, machines=2)
        try:
            at = len(iterations(leader(tmp_path)))
            wait_for(lambda a=agents, n=at: len(iterations(leader(tmp_path))) > n + 3 and len(a.ranks()) == 2)
            disk, ranks, start = leader(tmp_path), agents.ranks(), time.monotonic()
            of_zero = [ranks[0] in children(program.pid) for program in agents.programs].index(True)
            agents.programs[of_zero if asked == 0 else 1 - of_zero].send_signal(signal.SIGTERM)
            wait_for(lambda r=ranks: not any(Path(f"/proc/{pid}").exists() for pid in r.values()), 60)
            assert time.monotonic() - start < 5 * max(1.0, os.getloadavg()[0] / len(available_cores()))
            agents.programs[1].send_signal(signal.SIGTERM)
            agents.programs[0].send_signal(signal.SIGTERM)
            agents.wait()
        finally:
            agents.end()
        in_order(disk)
        facts = load_checkpoint(checkpoint_paths(disk / "checkpoints")[-1]).facts
        assert facts["iteration"] == len(iterations(disk)) and len(facts["ranks"]) == 2
        if leader(tmp_path) != disk or of_zero != int(disk.name[-1]):
            pytest.fail("Rank 0 wrote somewhere else.")
    wait_for(lambda: orphaned_memory() <= before, 30)  # Other programs may be about to map theirs.


def children(pid: int) -> list[int]:
    return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


@pytest.mark.slow
@linux
@pytest.mark.timeout(600)
@pytest.mark.parametrize("victim", [0, 1])
def test_a_killed_rank_is_started_anew_by_torchrun_and_the_run_goes_on(tmp_path, victim):
    before = orphaned_memory()
    agents = Agents(tmp_path, machines=1, restarts=2)
    disk = tmp_path / "disk-0"
    try:
        wait_for(lambda: len(iterations(disk)) > 3)
        first = agents.ranks()
        os.kill(first[victim], signal.SIGKILL)
        wait_for(lambda: set(agents.ranks().values()).isdisjoint(first.values()) and len(agents.ranks()) == 2)
        at = len(iterations(disk))
        wait_for(lambda: len(iterations(disk)) > at + 3)
        agents.programs[0].send_signal(signal.SIGTERM)
        agents.wait()
    finally:
        agents.end()
    in_order(disk)
    wait_for(lambda: orphaned_memory() <= before, 30)


@pytest.mark.slow
@linux
@pytest.mark.timeout(600)
def test_a_killed_agent_leaves_no_rank(tmp_path):
    agents = Agents(tmp_path, machines=1)
    try:
        wait_for(lambda: len(iterations(tmp_path / "disk-0")) > 2)
        ranks = agents.ranks()
        agents.programs[0].kill()
        wait_for(lambda: not any(Path(f"/proc/{pid}").exists() for pid in ranks.values()), 30)
    finally:
        agents.end()
    in_order(tmp_path / "disk-0")
