"""How far does a policy go? Survival against friction, payload, delay and pushes, each until half of the robots fall.

Usage: python benchmarks/imitation/bench_robustness.py SKILL_FOLDER... [--trials 128] [--seed 0] [--png FILE]

One quantity at a time is the same for all robots and moves outward; everything else is randomized as in
`lagoon evaluate`, in the same physics. Writes robustness.json beside this file and prints a table. Several skill
folders of one command, made from different seeds, give the spread between trainings.
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np

from lagoon import bundle
from lagoon.deploy.config import EvaluateConfig
from lagoon.deploy.evaluate import evaluate
from lagoon.motion.robot_motion import RobotMotion
from lagoon.paths import write_text
from lagoon.robot import load_robot
from lagoon.skill import Skill

FAILURE = 0.5
"""A curve ends at the first value at which fewer survive."""
CURVES: dict[str, tuple[str, tuple[float, ...]]] = {
    "slippery": ("friction [-]", (0.8, 0.6, 0.5, 0.4, 0.3, 0.25, 0.2, 0.15, 0.1)),
    "payload": ("mass on the trunk [kg]", (0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0)),
    "delay": ("measurement to torque [s]", (0.0, 0.01, 0.02, 0.03, 0.04, 0.05, 0.06, 0.08)),
    "push": ("change of velocity, twice [m/s]", (0.0, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0, 1.3)),
}


def at(name: str, value: float, base: EvaluateConfig) -> EvaluateConfig:
    """Return the trials with one quantity fixed."""
    fixed = (value, value)
    return {
        "slippery": lambda: replace(base, friction=fixed),
        "payload": lambda: replace(base, payload=fixed),
        "delay": lambda: replace(base, delay=fixed),
        "push": lambda: replace(base, pushes=(2, 2), push_speed=fixed),
    }[name]()


def curve(skill: Skill, name: str, base: EvaluateConfig, seed: int) -> list[dict[str, float]]:
    """Survival at each value until failure."""
    robot = load_robot(skill.robot)
    policy, motion = bundle.load(skill.bundle_folder, robot), RobotMotion.load(skill.robot_path)
    points = []
    for value in CURVES[name][1]:
        found = evaluate(policy, motion, robot, at(name, value, base), seed)
        low, high = found.survival_interval
        points.append({"value": value, "survival": found.survival, "low": low, "high": high})
        print(f"{skill.folder}: {name} {value:g}: {found.survival:.1%}", file=sys.stderr, flush=True)
        if found.survival < FAILURE:
            break
    return points


def limit(points: list[dict[str, float]]) -> str:
    """Where the curve crosses the failure level, in words."""
    for before, after in pairwise(points):
        if after["survival"] < FAILURE <= before["survival"]:
            share = (before["survival"] - FAILURE) / (before["survival"] - after["survival"])
            return f"{before['value'] + share * (after['value'] - before['value']):.2g}"
    return f"fails at {points[0]['value']:g}" if points[0]["survival"] < FAILURE else f"beyond {points[-1]['value']:g}"


def draw(runs: list[dict], target: Path) -> None:
    """Draw one panel a quantity, one line a skill."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, panels = plt.subplots(1, len(CURVES), figsize=(4.0 * len(CURVES), 3.2), sharey=True)
    for panel, (name, (label, _)) in zip(np.atleast_1d(panels), CURVES.items(), strict=True):
        for run in runs:
            points = run["curves"].get(name, [])
            values = [point["value"] for point in points]
            panel.plot(values, [point["survival"] for point in points], marker="o", label=run["skill"])
            panel.fill_between(values, [p["low"] for p in points], [p["high"] for p in points], alpha=0.2)
        panel.axhline(FAILURE, color="grey", linewidth=0.8)
        panel.set_xlabel(label)
        if name == "slippery":
            panel.invert_xaxis()
            panel.set_ylabel("survival")
            panel.legend(fontsize=7)
    figure.tight_layout()
    figure.savefig(target, dpi=120)


def main() -> None:
    """Measure, write, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("skills", nargs="+", type=Path)
    parser.add_argument("--trials", type=int, default=128)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--curves", nargs="+", choices=list(CURVES), default=list(CURVES))
    parser.add_argument("--png", type=Path)
    parser.add_argument("--json", type=Path, default=Path(__file__).with_name("robustness.json"))
    options = parser.parse_args()
    base, runs = EvaluateConfig(trials=options.trials), []
    for folder in options.skills:
        skill = Skill.open(folder)
        curves = {name: curve(skill, name, base, options.seed) for name in options.curves}
        runs.append({"skill": skill.command, "training_seed": skill.stages["train"].seed, "curves": curves})
        content = {"trials": options.trials, "seed": options.seed, "failure": FAILURE, "runs": runs}
        write_text(options.json, json.dumps(content, indent=1) + "\n")
    print("| skill | seed | " + " | ".join(f"{name}, {CURVES[name][0]}" for name in options.curves) + " |")
    print("|" + "---|" * (2 + len(options.curves)))
    for run in runs:
        cells = " | ".join(limit(run["curves"][name]) for name in options.curves)
        print(f"| {run['skill']} | {run['training_seed']} | {cells} |")
    if options.png:
        draw(runs, options.png)


if __name__ == "__main__":
    main()
