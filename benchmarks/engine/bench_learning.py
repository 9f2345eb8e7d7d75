"""rsl-rl-lib and lagoon learn one skill with the same number of steps: how far they come, and how long it takes.

Same environment, networks, batch, epochs and KL target. Survival is the share of robots that the noise-free policy
brings from the first frame to the last, under full randomization. The runs of a seed follow one another.

Usage: python benchmarks/engine/bench_learning.py --venvs FOLDER --motion robot.npz [--steps 1200000] [--seeds 0 1 2]
"""

from __future__ import annotations

import argparse
import json
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from peers.install import PEERS, interpreter
from peers.recipe import Recipe
from peers.runs import cores, spawn

from lagoon.paths import write_text

THREADS = ("torch_threads", "env_threads")
MODULES = {"lagoon": "learn_lagoon", "rsl_rl": "learn_rsl_rl"}


def table(runs: list[dict[str, Any]]) -> str:
    """Return the last check of every run, and means, as markdown."""
    lines = [
        "| library | seed | survival | share of the clip | joint error [rad] | wall [s] | CPU of one process [s] |",
        "|" + "---|" * 7,
    ]
    for name in MODULES:
        last = [(run["seed"], run["checks"][-1]) for run in runs if run["library"] == name]
        for seed, row in last:
            lines.append(
                f"| {PEERS[name].title} | {seed} | {row['survival']:.1%} | {row['length']:.0%} "
                f"| {row['joint_error']:.3f} | {row['seconds']:.0f} | {row['cpu_seconds']:.0f} |"
            )
        if last:
            mean = {key: np.mean([row[key] for _, row in last]) for key in last[0][1]}
            lines.append(
                f"| {PEERS[name].title} | mean | {mean['survival']:.1%} | {mean['length']:.0%} "
                f"| {mean['joint_error']:.3f} | {mean['seconds']:.0f} | {mean['cpu_seconds']:.0f} |"
            )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--venvs", type=Path, required=True, help="folder of the libraries' virtual environments")
    parser.add_argument("--share", action="store_true", help="let them use the packages of this interpreter")
    parser.add_argument("--motion", type=Path, required=True, help="robot.npz of a skill")
    parser.add_argument("--steps", type=int, default=1_200_000)
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    parser.add_argument("--threads", type=int, default=cores(), help="of torch and physics in rsl-rl-lib")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    result: dict[str, Any] = {"motion": options.motion.name, "steps": options.steps, "runs": []}
    for seed in options.seeds:
        for name, module in MODULES.items():
            own = {"processes": cores()} if name == "lagoon" else dict.fromkeys(THREADS, options.threads)
            recipe = Recipe(str(options.motion.resolve()), seed=seed, **own)
            recipe = replace(recipe, iterations=options.steps // recipe.batch)
            with tempfile.TemporaryDirectory() as folder:
                python = interpreter(name, options.venvs, options.share)
                status, said = spawn(python, module, recipe, Path(folder), limit=3600.0)
                if status:
                    raise SystemExit(f"{PEERS[name].title} ended with {status}:\n{said}")
                checks = [json.loads(line) for line in (Path(folder) / "checks.jsonl").read_text().splitlines()]
            result["runs"].append({"library": name, "seed": seed, "checks": checks})
            print(f"{name}, seed {seed}: {checks[-1]}", flush=True)
            if options.json is not None:
                write_text(options.json, json.dumps(result, indent=1) + "\n")
    print(table(result["runs"]))


if __name__ == "__main__":
    main()
