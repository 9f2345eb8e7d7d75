"""Several skills at once: what it costs in processor time to train two side by side instead of one after the other.

Two skills that stand still are trained for a small budget by ``lagoon train``, as a user would: one line each, on all
cores; and one line for both. Processor time of all processes is compared, and wall time as far as the machine is free.

Usage: python benchmarks/engine/bench_jobs.py [--rounds 3] [--steps 120000] [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from lagoon.motion.robot_motion import RobotMotion
from lagoon.robot import load_robot
from lagoon.skill import Skill

COMMANDS = ("stand still", "stand firm")


def make_skills(folder: Path) -> None:
    """Write the motions, without generating them from words."""
    robot, frames = load_robot("go2"), 100
    for command in COMMANDS:
        skill = Skill.new(folder, command, robot.name)
        skill.save()
        RobotMotion(
            fps=50.0,
            robot=robot.name,
            joint_names=robot.joint_names,
            root_pos_w=np.tile([0.0, 0.0, robot.default_root_height], (frames, 1)),
            root_quat_w=np.tile([1.0, 0.0, 0.0, 0.0], (frames, 1)),
            joint_pos=np.tile(robot.default_joint_pos, (frames, 1)),
            foot_contact=np.ones((frames, 4), dtype=bool),
        ).save(skill.robot_path)


def seconds(lines: list[list[str]], steps: int) -> tuple[float, float]:
    """Run lines one after the other in a fresh folder; returns processor and wall seconds."""
    with tempfile.TemporaryDirectory() as folder:
        make_skills(Path(folder))
        settings = [f"skills_dir={folder}", f"train.total_steps={steps}", "train.easy_share=1", "train.settle=0"]
        before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
        for skills in lines:
            line = [sys.executable, "-m", "lagoon.cli", "train", *skills, *settings, "train.tensorboard=false"]
            subprocess.run(line, check=True, stdout=subprocess.DEVNULL)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, time.monotonic() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=120_000)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    rounds = []
    for index in range(arguments.rounds):
        alone = seconds([[command] for command in COMMANDS], arguments.steps)
        together = seconds([list(COMMANDS)], arguments.steps)
        rounds.append({"one_after_the_other": alone, "side_by_side": together})
        print(
            f"round {index + 1}: CPU {alone[0]:.1f} s against {together[0]:.1f} s, ratio {together[0] / alone[0]:.3f}; "
            f"wall {alone[1]:.1f} s against {together[1]:.1f} s, ratio {together[1] / alone[1]:.3f}",
            flush=True,
        )
    if arguments.json:
        arguments.json.write_text(json.dumps({"steps": arguments.steps, "rounds": rounds}, indent=1) + "\n")


if __name__ == "__main__":
    main()
