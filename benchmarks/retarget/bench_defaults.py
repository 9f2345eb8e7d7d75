"""Retargets nine clips of several sources with the default settings: the table in docs/retarget.md.

Usage: python benchmarks/retarget/bench_defaults.py DATA_FOLDER [--robot go2]

DATA_FOLDER as for bench_clips.py. Times are CPU seconds of the faster of two runs.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from bench_clips import clips

from lagoon.retarget.config import RetargetConfig
from lagoon.retarget.retarget import retarget
from lagoon.robot import load_robot

CLIPS = (
    ("wave", "authored2/wave_02", "upright"),
    ("clap", "quaternius/q_male_Man_Clapping", "upright"),
    ("bow", "authored2/bow_02", "upright"),
    ("squat", "authored/squat_00", "upright"),
    ("wave", "authored2/wave_02", "four_legged"),
    ("march", "authored/march_02", "upright"),
    ("walk", "deepmimic/humanoid3d_walk", "upright"),
    ("kick", "deepmimic/humanoid3d_kick", "upright"),
    ("cartwheel", "deepmimic/humanoid3d_cartwheel", "auto"),
)
RUNS = 2


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--robot", default="go2")
    options = parser.parse_args()
    robot = load_robot(options.robot)
    humans = {key: human for name in ("permissive", "authored") for key, _, human in clips(options.data, name)}
    print(
        "| clip | map | clip | skill | CPU | feet follow, mean | slide, mean "
        "| pressure point mean / p90 / max | weight |"
    )
    print("|---|---|---|---|---|---|---|---|---|")
    for name, key, morphology in CLIPS:
        human, cpu = humans[key], float("inf")
        for _ in range(RUNS):
            began = time.process_time()
            _, report = retarget(human, robot, RetargetConfig(morphology=morphology, speed=1.0))
            cpu = min(cpu, time.process_time() - began)
        pressure = " / ".join(
            f"{100 * x:.1f}" for x in (report.pressure_mean, report.pressure_p90, report.pressure_max)
        )
        print(
            f"| {name} | {report.morphology} | {human.num_frames / human.fps:.1f} s | {report.duration:.1f} s "
            f"| {cpu:.1f} s | {100 * report.tracking_mean:.1f} cm | {100 * report.foot_slide_mean:.1f} cm/s "
            f"| {pressure} cm | {report.load_min:.2f} to {report.load_max:.2f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
