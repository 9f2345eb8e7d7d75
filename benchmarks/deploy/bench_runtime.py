"""How long a policy bundle takes to load, and one control tick takes, on this computer.

Usage:
    python benchmarks/deploy/bench_runtime.py BUNDLE [--seconds 10] [--json FILE]

BUNDLE is a bundle folder, for example skills/wave-hello-b84e317c/bundle. "tight" calls the policy in a
loop; "paced" calls it once per control period, with cold caches, as on a robot.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import time
from datetime import date
from pathlib import Path

import numpy as np

from lagoon import __version__
from lagoon.bundle import load
from lagoon.deploy.runtime import PolicyRunner


def percentiles(seconds: list[float]) -> dict[str, float]:
    values = 1e3 * np.array(seconds)
    return {
        "p50_ms": float(np.median(values)),
        "p99_ms": float(np.percentile(values, 99)),
        "max_ms": float(values.max()),
    }


def ticks(runner: PolicyRunner, count: int, period: float) -> dict[str, float]:
    """Time ``count`` ticks, one every ``period`` seconds; 0 for as fast as it goes."""
    bundle = runner.bundle
    rows = () if runner.batch is None else (runner.batch,)
    sensors = [
        np.broadcast_to(value, (*rows, len(value)))
        for value in (bundle.default_joint_pos, np.zeros(bundle.num_joints), [1.0, 0.0, 0.0, 0.0], np.zeros(3))
    ]
    taken, deadline, cpu = [], time.perf_counter(), time.process_time()
    for _ in range(count):
        start = time.perf_counter()
        runner.step(*sensors)
        taken.append(time.perf_counter() - start)
        deadline += period
        time.sleep(max(0.0, deadline - time.perf_counter()) if period else 0.0)
    return {**percentiles(taken), "cpu_ms_per_tick": 1e3 * (time.process_time() - cpu) / count}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("bundle", type=Path)
    parser.add_argument("--seconds", type=float, default=10.0, help="length of the paced run")
    parser.add_argument("--json", type=Path, help="also write the numbers here")
    args = parser.parse_args()
    loads = []
    for _ in range(20):
        start = time.perf_counter()
        bundle = load(args.bundle)
        loads.append(time.perf_counter() - start)
    result = {
        "load and verify": percentiles(loads),
        "tick, tight": ticks(PolicyRunner(bundle), 5000, 0.0),
        "tick, paced": ticks(PolicyRunner(bundle), round(args.seconds / bundle.control_dt), bundle.control_dt),
        "tick of 128 robots, tight": ticks(PolicyRunner(bundle, batch=128), 500, 0.0),
    }
    for name, numbers in result.items():
        print(f"{name:28s}" + "  ".join(f"{key} {value:8.3f}" for key, value in numbers.items()))
    if args.json:
        facts = {
            "date": date.today().isoformat(),
            "machine": f"{platform.machine()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}",
            "lagoon": __version__,
            "policy_sha256": bundle.policy_sha256,
        }
        args.json.parent.mkdir(parents=True, exist_ok=True)
        args.json.write_text(json.dumps({**facts, "results": result}, indent=2) + "\n")


if __name__ == "__main__":
    main()
