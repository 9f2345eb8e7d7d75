"""Jobs as real processes, of Python without torch so that they start at once."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from lagoon.engine.cores import available_cores, shares
from lagoon.engine.scheduler.jobs import LINE, Job, LocalJobs, Update, progress_line
from lagoon.engine.scheduler.queue import DEATHS, INTERRUPTED, JobQueue
from lagoon.errors import LagoonError
from tests.engine.waiting import wait_for

PROGRAM = """
import json, os, sys, time
from pathlib import Path
from lagoon.engine.scheduler.jobs import progress_line

line, folder, (what, *more) = progress_line(), Path(sys.argv[1]), sys.argv[2:]
times = len(list(folder.glob("start-*")))
facts = {"cores": sorted(os.sched_getaffinity(0)), "threads": os.environ["OMP_NUM_THREADS"], "at": time.monotonic()}
(folder / f"start-{times}").write_text(json.dumps(facts))
print("begun", times, flush=True)
line.tell("train", 0.5, "halfway")
try:
    if what == "wait":
        (folder / "ready").touch()
        time.sleep(60)
    time.sleep(0.1)
except KeyboardInterrupt:
    (folder / "saved").touch()
    sys.exit(130)
(folder / "end").write_text(str(time.monotonic()))
sys.exit(int(more[0]) if what == "exit" else 0)
"""


def job(folder: Path, name: str, *what: str, cores: int = 1) -> Job:
    (folder / name).mkdir(parents=True)
    (folder / "program.py").write_text(PROGRAM)
    command = (sys.executable, str(folder / "program.py"), str(folder / name), *what)
    return Job(name, command, folder / "logs" / f"{name}.log", cores)


def starts(folder: Path) -> list[dict]:
    return [json.loads(path.read_text()) for path in sorted(folder.glob("start-*"))]


def test_skills_are_packed_before_one_is_split():
    assert shares(3, 2) == [1, 1, 1]
    assert shares(1, 8) == [8]
    assert shares(3, 8) == [3, 3, 2]
    assert shares(9, 8) == [1] * 9
    assert shares(5, 8, each=3) == [3] * 5
    assert shares(2, 4, each=6) == [4, 4]
    # Whoever waits gets what those before it had, whichever of them ends first.
    assert shares(5, 8, at_once=3) == [2] * 5
    assert shares(3, 8, at_once=9) == [3, 3, 2]


def test_jobs_have_cores_of_their_own_and_one_that_fails_leaves_the_others_alone(tmp_path):
    own = available_cores()
    jobs = [job(tmp_path, "a", "exit", "0"), job(tmp_path, "b", "exit", "2"), job(tmp_path, "c", "exit", "0")]
    seen = []
    scheduler = LocalJobs(own[:2])
    queue = JobQueue(scheduler, jobs)
    rows = queue.run(lambda: False, lambda: seen.extend((r.stage, r.fraction, r.message) for r in queue.rows.values()))
    assert [(row.state, row.code, row.restarts) for row in rows] == [("done", 0, 0), ("failed", 2, 0), ("done", 0, 0)]
    assert ("train", 0.5, "halfway") in seen
    places = {name: starts(tmp_path / name)[0] for name in "abc"}
    assert all(len(place["cores"]) == 1 for place in places.values())
    assert {place["threads"] for place in places.values()} <= {"1", os.environ.get("OMP_NUM_THREADS", "1")}
    if len(own) > 1:
        assert places["a"]["cores"] != places["b"]["cores"]
        first_end = min(float((tmp_path / name / "end").read_text()) for name in "ab")
        assert places["c"]["at"] > first_end  # There was no core for it before.
    assert available_cores() == own
    log = jobs[1].log.read_text().splitlines()
    assert log[0].startswith("--- 20") and log[1:] == ["begun 0"]


class Scripted:
    """A scheduler whose jobs end at the next look, with the codes that were written down for them."""

    def __init__(self, codes):
        self.codes, self.running, self.most, self.closed = {n: list(c) for n, c in codes.items()}, [], 0, False

    def capacity(self):
        return 8

    def start(self, job):
        if self.codes[job.name][0] == "refused":
            raise LagoonError("no")
        self.running.append(job.name)
        self.most = max(self.most, len(self.running))
        return True

    def poll(self, seconds):
        running, self.running = self.running, []
        return [Update(name, code=self.codes[name].pop(0)) for name in running]

    def interrupt(self):
        pass

    def close(self):
        self.closed = True


def queue_of(codes, **settings):
    scheduler = Scripted(codes)
    return scheduler, JobQueue(scheduler, [Job(name, (), Path(name)) for name in codes], **settings)


def test_no_more_run_side_by_side_than_asked_for():
    scheduler, queue = queue_of({name: [0] for name in "abcde"}, at_once=2)
    assert [row.state for row in queue.run(lambda: False)] == ["done"] * 5
    assert scheduler.most == 2 and scheduler.closed


def test_how_jobs_end():
    told = []
    codes = {
        "once": [-9, 0],
        "ever": [-11] * (DEATHS + 1),
        "error": [2],
        "verdict": [1],
        "asked": [INTERRUPTED],
        "refused": ["refused"],
    }
    scheduler, queue = queue_of(codes, tell=told.append)
    rows = {row.job.name: row for row in queue.run(lambda: False)}
    states = {name: (row.state, row.restarts) for name, row in rows.items()}
    assert states == {
        "once": ("done", 1),
        "ever": ("failed", DEATHS),
        "error": ("failed", 0),
        "verdict": ("failed", 0),
        "asked": ("stopped", 0),
        "refused": ("failed", 0),
    }
    assert rows["refused"].error == "no" and not any(scheduler.codes[name] for name in codes if name != "refused")
    assert [line for line in told if line.startswith("once was killed (signal 9)")]


def test_all_save_when_asked_to_and_those_that_wait_are_left_alone(tmp_path):
    jobs = [job(tmp_path, name, "wait") for name in "abc"]
    cores = available_cores()[:2]
    queue = JobQueue(LocalJobs(cores), jobs)
    ready = [tmp_path / name / "ready" for name in "ab"[: len(cores)]]
    asked = []

    def stop() -> bool:
        if not asked and all(path.exists() for path in ready):
            asked.append(time.monotonic())
        return bool(asked)

    rows = queue.run(stop)
    assert time.monotonic() - asked[0] < 5.0
    assert [row.state for row in rows[: len(cores)]] == ["stopped"] * len(cores)
    assert rows[2].state == "waiting"
    assert [(tmp_path / name / "saved").exists() for name in "abc"][: len(cores)] == [True] * len(cores)


LEADER = """
import signal, sys, time
from pathlib import Path
from lagoon.engine.scheduler.jobs import Job, LocalJobs
# As a shell does for what it starts with &, and as Ray does; jobs inherit it.
signal.signal(signal.SIGINT, signal.SIG_IGN)
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
folder = Path(sys.argv[1])
scheduler = LocalJobs()
scheduler.start(Job("a", (sys.executable, str(folder / "program.py"), str(folder / "a"), "wait"), folder / "a.log"))
while True:
    scheduler.poll(1.0)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="Parent-death signals as Linux has them.")
def test_a_killed_controller_leaves_no_job_and_its_jobs_save(tmp_path):
    job(tmp_path, "a", "wait")
    leader = subprocess.Popen([sys.executable, "-c", LEADER, str(tmp_path)])
    wait_for((tmp_path / "a" / "ready").exists)
    (pid,) = [int(p.name) for p in Path("/proc").glob("[0-9]*") if str(tmp_path / "a") in arguments_of(p)]
    leader.send_signal(signal.SIGKILL)
    leader.wait(10)
    wait_for(lambda: not Path(f"/proc/{pid}").exists())
    assert (tmp_path / "a" / "saved").exists()


def arguments_of(process: Path) -> list[str]:
    try:
        return (process / "cmdline").read_bytes().decode().split("\0")
    except OSError:
        return []


def test_cores_come_back_after_a_job_that_could_not_start(tmp_path):
    scheduler = LocalJobs(available_cores()[:1])
    with pytest.raises(LagoonError, match="Could not start a"):
        scheduler.start(Job("a", ("/no/such/program",), tmp_path / "a.log"))
    assert scheduler.start(job(tmp_path, "b", "exit", "0"))
    assert not scheduler.start(job(tmp_path, "c", "exit", "0"))
    scheduler.close()


def test_a_process_that_is_no_job_has_no_line(monkeypatch):
    monkeypatch.setenv(LINE, "nonsense")
    progress_line.cache_clear()
    assert progress_line() is None and LINE not in os.environ
    progress_line.cache_clear()
