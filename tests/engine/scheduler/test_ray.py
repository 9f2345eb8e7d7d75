"""Jobs on two Ray nodes of one core each, as two machines on the loopback. Needs Ray, which is not part of ``dev``."""

import os
import signal
import sys
import time
from pathlib import Path

import pytest

from lagoon.engine.scheduler.config import RayConfig
from lagoon.engine.scheduler.jobs import Job
from lagoon.engine.scheduler.queue import JobQueue

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(900),
    pytest.mark.skipif(sys.platform != "linux", reason="It looks into /proc."),
]

PROGRAM = """
import os, sys, time
from pathlib import Path
from lagoon.engine.scheduler.jobs import progress_line

line, folder, seconds = progress_line(), Path(sys.argv[1]), float(sys.argv[2])
times = len(list(folder.glob("start-*")))
(folder / f"start-{times}").write_text(f"{os.getpid()} {os.environ.get('RAY_NODE_ID', '')}")
try:
    for step in range(int(seconds * 10)):
        line.tell("train", step / (seconds * 10), f"step {step}")
        time.sleep(0.1)
except KeyboardInterrupt:
    (folder / "saved").touch()
    sys.exit(130)
sys.exit(int(sys.argv[3]))
"""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    ray = pytest.importorskip("ray")
    from ray.cluster_utils import Cluster

    before = {name: os.environ.get(name) for name in ("RAY_AUTH_MODE", "PYTHONPATH")}
    os.environ["RAY_AUTH_MODE"] = "disabled"
    os.environ["PYTHONPATH"] = os.pathsep.join([str(Path(__file__).parents[3]), os.environ.get("PYTHONPATH", "")])
    made = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    try:
        made.add_node(num_cpus=1)
        made.wait_for_nodes()
        yield made
    finally:
        ray.shutdown()
        made.shutdown()
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.__setitem__(name, value)


def job(folder: Path, name: str, seconds: float = 0.5, code: int = 0) -> Job:
    (folder / name).mkdir()
    (folder / "program.py").write_text(PROGRAM)
    words = (sys.executable, str(folder / "program.py"), str(folder / name), str(seconds), str(code))
    return Job(name, words, folder / f"{name}.log")


def start_of(folder: Path, time: int = 0) -> list[str] | None:
    path = folder / f"start-{time}"
    return path.read_text().split(" ") if path.exists() and path.read_text() else None


def jobs_on(cluster):
    from lagoon.engine.scheduler.ray import RayJobs

    return RayJobs(RayConfig(cluster.address))


def test_jobs_run_on_both_nodes_and_one_that_fails_leaves_the_others_alone(cluster, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    scheduler = jobs_on(cluster)
    assert (scheduler.capacity(), scheduler.largest()) == (2, 1)
    seen: set[str] = set()
    jobs = [job(tmp_path, "a", 4), job(tmp_path, "b", 4, code=2), job(tmp_path, "c")]
    queue = JobQueue(scheduler, jobs)
    rows = queue.run(lambda: False, lambda: seen.update(row.message for row in queue.rows.values()))
    assert [(row.state, row.code) for row in rows] == [("done", 0), ("failed", 2), ("done", 0)]
    assert any(message.startswith("step") for message in seen)
    nodes = [start_of(tmp_path / name)[1] for name in "ab"]
    assert nodes[0] != nodes[1] or "" in nodes


def test_a_killed_ray_process_costs_a_restart_and_all_save_when_asked_to(cluster, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    scheduler = jobs_on(cluster)
    jobs = [job(tmp_path, "a", 300), job(tmp_path, "b", 300)]
    killed: list[float] = []
    asked: list[float] = []

    def stop() -> bool:
        if not killed and all(start_of(tmp_path / name) for name in "ab"):
            machines = scheduler.machines()
            os.kill(int(machines["a"].rpartition(":")[2]), signal.SIGKILL)
            killed.append(time.monotonic())
        if not asked and start_of(tmp_path / "a", 1):
            asked.append(time.monotonic())
        return bool(asked)

    rows = JobQueue(scheduler, jobs).run(stop)
    assert time.monotonic() - asked[0] < 30
    assert [(row.state, row.restarts) for row in rows] == [("stopped", 1), ("stopped", 0)]
    # The job of the killed process saved as well, before it was started anew.
    assert (tmp_path / "a" / "saved").exists() and (tmp_path / "b" / "saved").exists()
    pids = [int(start_of(tmp_path / name, time)[0]) for name, time in (("a", 0), ("a", 1), ("b", 0))]
    assert not any(Path(f"/proc/{pid}").exists() for pid in pids)
