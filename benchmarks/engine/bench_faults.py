"""How long a run stands still after ``kill -9`` of an actor, and of the trainer that a queue starts anew.

Most of both is starting Python with torch, which depends on the machine and on who else uses it. So every round also
times that start alone; the ratio is what carries over.

Usage: python benchmarks/engine/bench_faults.py [--rounds 3] [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tasks import make_cheap

from lagoon.engine.config import GraphConfig, PPOConfig
from lagoon.engine.run import run
from lagoon.engine.scheduler.jobs import Job, LocalJobs
from lagoon.engine.scheduler.queue import JobQueue

RECIPE = PPOConfig(
    num_envs=32, horizon=16, hidden=(16,), total_steps=10**9, workers=1, tensorboard=False, checkpoint_seconds=0.0
)


def start_alone() -> float:
    """Seconds until Python has imported what an actor or a trainer imports."""
    start = time.monotonic()
    subprocess.run([sys.executable, "-c", "import lagoon.engine.run, torch._dynamo"], check=True)
    return time.monotonic() - start


class KillActor:
    """Kills the only actor once; ends the run when an update came after that."""

    def __init__(self) -> None:
        self.at = self.last = self.seconds = 0.0

    def on_iteration(self, info, policy):
        now = time.monotonic()
        if self.at:
            self.seconds = max(self.seconds, now - self.last)
        elif info.iteration == 10:
            child = next(c for c in multiprocessing.active_children() if c.name == "lagoon-actor-0")
            os.kill(child.pid, signal.SIGKILL)
            self.at = now
        self.last = now
        # What the dead actor had finished is still learned from; the pause comes after that.
        return bool(self.at) and info.metrics["queue/restarts"] > 0 and self.seconds > 0 and now - self.at > 0.5


def actor_pause() -> float:
    """Longest time between two updates from the kill on."""
    config = PPOConfig(
        num_envs=32,
        horizon=16,
        hidden=(16,),
        total_steps=10**9,
        tensorboard=False,
        topology="async",
        graph=GraphConfig(actors=1, ring=1, max_staleness=1),
    )
    hook = KillActor()
    with tempfile.TemporaryDirectory() as folder:
        run(make_cheap, config, Path(folder), 0, hook)
    return hook.seconds


def trainer_pause() -> float:
    """Time from the kill of a training in a queue to the first iteration of its successor."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        metrics = folder / "run" / "metrics.jsonl"
        job = Job("run", (sys.executable, __file__, "--train", str(folder / "run")), folder / "log")
        scheduler, killed, found = LocalJobs(), [], []

        def count() -> int:
            return metrics.read_text().count("\n") if metrics.exists() else 0

        def stop() -> bool:
            if not killed and count() >= 10:
                os.kill(scheduler.pids()["run"], signal.SIGKILL)
                time.sleep(0.01)
                killed.append((time.monotonic(), count()))
            elif killed and not found and "run" in scheduler.pids() and count() > killed[0][1]:
                found.append(time.monotonic() - killed[0][0])
            return bool(found)

        JobQueue(scheduler, [job]).run(stop)
        lines = [json.loads(line)["iteration"] for line in metrics.read_text().splitlines()]
        assert lines == list(range(1, len(lines) + 1))
        return found[0]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--train", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.train:
        run(make_cheap, RECIPE, arguments.train, 0)
        return
    rounds = []
    for index in range(arguments.rounds):
        rounds.append({"start": start_alone(), "actor": actor_pause(), "trainer": trainer_pause()})
        now = rounds[-1]
        print(
            f"round {index + 1}: Python with torch starts in {now['start']:.1f} s; pause after an actor's death "
            f"{now['actor']:.1f} s, ratio {now['actor'] / now['start']:.2f}; after the trainer's "
            f"{now['trainer']:.1f} s, ratio {now['trainer'] / now['start']:.2f}",
            flush=True,
        )
        if arguments.json:
            arguments.json.write_text(json.dumps({"rounds": rounds}, indent=1) + "\n")


if __name__ == "__main__":
    main()
