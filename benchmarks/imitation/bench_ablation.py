"""Phase-locked reward, alignment, style, both: the same motions and budget, several seeds.

Usage: python benchmarks/imitation/bench_ablation.py [--commands bow "wave hello"] [--seeds 0 1 2] [--steps 6e6]
           [--folder skills/ablation]

Every cell of the table is one `lagoon make` with fixed training (no settling, no remedies), so that all arms get the
same steps. The motion of a seed is made once and shared by its arms. Ctrl-C loses at most a minute: finished cells are
kept in ablation.json beside this file, the one that was cut short goes on from its checkpoint. The seeds of all cells
of a row go round before the next command begins, so that an unfinished table has whole rows first.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np

from lagoon.paths import write_text
from lagoon.skill import Skill, slug

RESULTS = Path(__file__).parent / "ablation.json"
ALIGNMENT, STYLE = "train.task.alignment.share=0.5", "train.task.style.share=0.3"
ARMS: dict[str, tuple[str, ...]] = {
    "phase-locked": (),
    "alignment": (ALIGNMENT,),
    "style": (STYLE,),
    "both": (ALIGNMENT, STYLE),
}
FIXED = ("train.settle=0", "train.start.policy=none", "remedies=0")
"""The same steps for all arms, all from nothing: a base policy fits some of the arms only."""
ROBOT = "go2"
INTERRUPTED = 130


def make(command: str, seed: int, arm: str, steps: int, folder: Path) -> Path:
    """Make one cell's skill and return its folder; its motion comes from the first arm of the seed if that exists."""
    where = folder / arm / f"seed{seed}"
    source = folder / next(iter(ARMS)) / f"seed{seed}" / slug(command, ROBOT)
    target = where / slug(command, ROBOT)
    if source != target and not target.exists() and (source / "human.npz").is_file():
        target.mkdir(parents=True)
        for name in ("human.npz", "candidates.json", "candidates.npz", "skill.yaml"):
            if (source / name).is_file():
                shutil.copy2(source / name, target / name)
    settings = [f"train.total_steps={steps}", *FIXED, *ARMS[arm]]
    words = ["make", "--", command, f"seed={seed}", f"robot={ROBOT}", f"skills_dir={where}", *settings]
    code = subprocess.run([sys.executable, "-m", "lagoon.cli", *words], check=False).returncode
    if code == INTERRUPTED:
        raise KeyboardInterrupt
    return target


def summarise(skill: Skill) -> dict[str, float | bool]:
    """What the table says about one skill."""
    found = json.loads(skill.evaluation_path.read_text(encoding="utf-8"))
    checks = {check["name"]: check["value"] for check in found["checks"]}
    metrics = {name: found["metrics"][name]["mean"] for name in ("aligned_joint_error", "time_lag", "action_rate")}
    return {
        "passed": found["passed"],
        "survival": checks["survival"],
        "joint_error": checks["joint error [rad]"],
        **metrics,
        "train_seconds": skill.stages["train"].seconds,
    }


def table(rows: list[dict]) -> list[str]:
    """Mean and range over seeds for each command and arm."""
    lines = [
        "| command | reward | seeds | survival, mean (range) | joint error | aligned |",
        "|---|---|---|---|---|---|",
    ]
    for command in dict.fromkeys(row["command"] for row in rows):
        for arm in ARMS:
            cell = [row for row in rows if row["command"] == command and row["arm"] == arm]
            if cell:
                survival = np.array([row["survival"] for row in cell])
                errors = [np.mean([row[key] for row in cell]) for key in ("joint_error", "aligned_joint_error")]
                lines.append(
                    f"| {command} | {arm} | {len(cell)} | {survival.mean():.1%} ({survival.min():.1%} to "
                    f"{survival.max():.1%}) | {errors[0]:.3f} | {errors[1]:.3f} |"
                )
    return lines


def main() -> None:
    """Run what is missing and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--commands", nargs="+", default=["bow", "wave on four legs", "clap your hands", "wave hello"])
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    parser.add_argument("--steps", type=float, default=6e6)
    parser.add_argument("--folder", type=Path, default=Path("skills/ablation"))
    parser.add_argument("--json", type=Path, default=RESULTS)
    options = parser.parse_args()
    rows = json.loads(options.json.read_text(encoding="utf-8")) if options.json.is_file() else []
    for command in options.commands:
        for seed in options.seeds:
            for arm in ARMS:
                key = {"command": command, "seed": seed, "arm": arm, "steps": int(options.steps)}
                if any(key.items() <= row.items() for row in rows):
                    continue
                skill = Skill.open(make(command, seed, arm, int(options.steps), options.folder))
                if not skill.evaluation_path.is_file() or "evaluate" not in skill.current():
                    print(f"{command}, seed {seed}, {arm}: no verdict, left out", file=sys.stderr)
                    continue
                rows.append(key | summarise(skill))
                write_text(options.json, json.dumps(rows, indent=1) + "\n")
    print("\n".join(table(rows)))


if __name__ == "__main__":
    main()
