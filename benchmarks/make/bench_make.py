"""From a command to a checked bundle: does it pass, how long does it take, where does the time go.

Usage: python benchmarks/make/bench_make.py --commands "wave hello" "clap your hands" bow --seeds 0 1 2
       python benchmarks/make/bench_make.py --summarise FOLDER   (skills that exist already)
       add --json FILE to write somewhere else than beside this script

Each run is `lagoon make` in a process of its own, one after the other. The JSON beside the table in
benchmarks/README.md comes from here; wall times depend on the machine and on what else runs on it, the
shares and the samples per CPU-second less so.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
from pathlib import Path

import numpy as np
import yaml

RESULTS = Path(__file__).parent / "results.json"


def run(command: str, seed: int, folder: Path, extra: list[str]) -> int:
    """Make one skill; the exit status is 0 on PASS and 1 on FAIL."""
    arguments = [sys.executable, "-m", "lagoon.cli", "make", "--", command, f"seed={seed}", f"skills_dir={folder}"]
    return subprocess.run([*arguments, *extra], check=False).returncode


def summarise(skill: Path) -> dict:
    """Collect a finished skill's numbers."""
    record = yaml.safe_load((skill / "skill.yaml").read_text(encoding="utf-8"))
    stages = record["stages"]
    row: dict = {
        "command": record["command"],
        "robot": record["robot"],
        "seed": stages["train"]["seed"],
        "lagoon": stages["train"].get("git_revision", ""),
        "seconds": {name: round(stage["seconds"], 1) for name, stage in stages.items() if stage.get("seconds")},
    }
    lines = [json.loads(line) for line in (skill / "train" / "metrics.jsonl").read_text().splitlines()]
    shares = {key: float(np.mean([line[f"time/{key}"] for line in lines])) for key in SHARES}
    config = yaml.safe_load((skill / "train" / "config.yaml").read_text(encoding="utf-8"))["ppo"]
    # An iteration's physics is the mean of a step times the steps, over the CPU time of all workers.
    workers = config["workers"] or len(os.sched_getaffinity(0))
    physics = [
        line["env/physics_ms"] * 1e-3 * config["horizon"] * workers / line["speed/cpu_seconds"]
        for line in lines
        if "env/physics_ms" in line
    ]
    if physics:
        shares["physics"] = float(np.mean(physics))
        shares["env"] -= shares["physics"]
    row["train"] = {
        "steps": int(lines[-1]["progress/steps"]),
        "cpu_seconds": round(sum(line["speed/cpu_seconds"] for line in lines)),
        "samples_per_cpu_second": round(float(np.mean([line["speed/samples_per_cpu_second"] for line in lines]))),
        "cpu_share": {key: round(value, 3) for key, value in shares.items()},
    }
    found = json.loads((skill / "evaluation.json").read_text(encoding="utf-8"))
    row["evaluation"] = {
        "passed": found["passed"],
        "checks": {check["name"]: check["value"] for check in found["checks"]},
    }
    if not found["passed"]:
        row["evaluation"]["why"] = found["verdict"][1:]
        row["train"]["reasons"] = _last(skill / "train" / "checks.jsonl").get("reasons", [])
    if (ladder := skill / "ladder.json").is_file():
        row["tried"] = [
            {key: attempt[key] for key in ("words", "changes", "passed", "survival", "steps")}
            for attempt in json.loads(ladder.read_text(encoding="utf-8"))["attempts"]
        ]
    return row


def _last(path: Path) -> dict:
    lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
    return json.loads(lines[-1]) if lines else {}


SHARES = ("env", "inference", "update", "other")
TABLE_SHARES = ("physics", "update", "env", "inference", "other")
HEADER = (
    "| command | seed | verdict | survival | joint error [rad] | all stages [s] | training [CPU s] | steps "
    "| samples per CPU-s | physics / update / environment / inference / other |"
)


def main() -> None:
    """Run, or only read, and write results.json."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--commands", nargs="+", default=["wave hello", "clap your hands", "bow"])
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    parser.add_argument("--folder", type=Path, default=Path("skills/bench"))
    parser.add_argument("--summarise", type=Path)
    parser.add_argument("--extra", nargs="*", default=[], help="overrides for lagoon make")
    parser.add_argument("--json", type=Path, default=RESULTS, help="file for the numbers")
    options = parser.parse_args()
    if options.summarise is None:
        for seed in options.seeds:
            for command in options.commands:
                run(command, seed, options.folder / f"seed{seed}", options.extra)
    root = options.summarise or options.folder
    rows = [summarise(path.parent) for path in root.rglob("evaluation.json")]
    rows.sort(key=lambda row: (row["command"], row["seed"]))
    head = {"cores": len(os.sched_getaffinity(0)), "machine": platform.machine(), "python": platform.python_version()}
    options.json.write_text(json.dumps({**head, "runs": rows}, indent=1) + "\n", encoding="utf-8")
    print(HEADER)
    print("|" + "---|" * (HEADER.count("|") - 1))
    for row in rows:
        checks, train = row["evaluation"]["checks"], row["train"]
        shares = " / ".join(f"{train['cpu_share'][key]:.0%}" for key in TABLE_SHARES)
        print(
            f"| {row['command']} | {row['seed']} | {'PASS' if row['evaluation']['passed'] else 'FAIL'} "
            f"| {checks['survival']:.1%} | {checks['joint error [rad]']:.3f} | {sum(row['seconds'].values()):.0f} "
            f"| {train['cpu_seconds']} | {train['steps'] / 1e6:.1f} M "
            f"| {train['samples_per_cpu_second']:,} | {shares} |"
        )


if __name__ == "__main__":
    main()
