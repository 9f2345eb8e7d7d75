"""Imports and retargets clips of quadrupeds with the default settings: the table of animals in docs/retarget.md.

Usage: python benchmarks/retarget/bench_animals.py CLIP... [--robot go2]

CLIP is a file that ``lagoon import`` takes, such as those of motion_imitation (in its package on PyPI, under
motion_imitation/data/motions). Times are CPU seconds of the faster of two runs, at the clip's own speed.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from lagoon.importers.config import ImportConfig
from lagoon.importers.quadruped import import_quadruped
from lagoon.retarget.config import RetargetConfig
from lagoon.retarget.quadruped import retarget_quadruped
from lagoon.robot import load_robot

RUNS = 2


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("clips", type=Path, nargs="+")
    parser.add_argument("--robot", default="go2")
    options = parser.parse_args()
    robot = load_robot(options.robot)
    print("| clip | skill | CPU | feet follow, mean | slide, mean | pressure point mean / p90 / max | verdict |")
    print("|---|---|---|---|---|---|---|")
    for path in options.clips:
        animal, cpu = import_quadruped(path, ImportConfig())[0], float("inf")
        for _ in range(RUNS):
            began = time.process_time()
            _, report = retarget_quadruped(animal, robot, RetargetConfig(speed=1.0))
            cpu = min(cpu, time.process_time() - began)
        pressure = " / ".join(
            f"{100 * x:.1f}" for x in (report.pressure_mean, report.pressure_p90, report.pressure_max)
        )
        reasons = ", ".join(dict.fromkeys(reason.kind for reason in report.verdict.reasons))
        print(
            f"| {path.stem} | {report.duration:.1f} s | {cpu:.1f} s | {100 * report.tracking_mean:.1f} cm "
            f"| {100 * report.foot_slide_mean:.1f} cm/s | {pressure} cm "
            f"| {report.verdict.grade}{': ' + reasons if reasons else ''} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
