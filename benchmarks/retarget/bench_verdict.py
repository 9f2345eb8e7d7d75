"""Does the verdict foretell what training can do? Short trainings of many clips against what was said of them before.

Usage: python benchmarks/retarget/bench_verdict.py DATA_FOLDER [--clips 32] [--steps 800000] [--processes 2]

The clips are drawn evenly from the three grades, by a fixed seed. Each is trained without randomization, on one core,
from the base policy where that fits (from nothing, 2 M steps taught no clip on two legs), and counts as learned if at
least 80 % of the noise-free robots of the last check reach the end from the start pose.
Precision and recall are those of the prediction "will not be learned": hard and not trackable together, and not
trackable alone. Finished clips are kept in trained.jsonl beside this script, so that an interrupted run goes on.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from multiprocessing import get_context
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

from bench_clips import clips  # noqa: E402

DONE = HERE / "trained.jsonl"
RESULTS = HERE / "verdict.json"
LEARNED = 0.8
GRADES = ("trackable", "hard", "not trackable")


def train_one(task: tuple[str, str, str, str, int]) -> dict:
    """Retarget and train one clip; returns its row."""
    from lagoon.engine.config import PPOConfig
    from lagoon.imitation.config import RandomizationConfig, StartConfig, TrainConfig
    from lagoon.imitation.train import train
    from lagoon.retarget.config import RetargetConfig
    from lagoon.retarget.retarget import retarget
    from lagoon.robot import load_robot

    folder, name, clip, robot_name, steps = task
    human = next(human for key, _, human in clips(Path(folder), name) if key == clip)
    robot = load_robot(robot_name)
    motion, report = retarget(human, robot, RetargetConfig(speed=1.0))
    config = TrainConfig(
        ppo=PPOConfig(total_steps=steps, workers=1),
        randomization=RandomizationConfig(ramp=(1.0, 1.0)),
        start=StartConfig(share=1.0, randomized=(1.0, 1.0)),
        easy_share=1.0,
        settle=0.0,
    )
    with tempfile.TemporaryDirectory() as place:
        train(motion, robot, config, Path(place), 0)
        checks = [json.loads(line) for line in (Path(place) / "checks.jsonl").read_text().splitlines()]
    return {
        "key": f"{robot_name}/{name}/{clip}",
        "caption": human.text,
        "map": report.morphology,
        "grade": report.verdict.grade,
        "reasons": [[r.kind, round(r.value, 3), r.stop - r.start + 1] for r in report.verdict.reasons],
        "levels": levels(report.demands, report.fps),
        "flight": report.flight,
        "pressure_mean": report.pressure_mean,
        "duration": report.duration,
        "survival": checks[-1]["survival"],
        "length": checks[-1]["length"],
        "steps": checks[-1]["steps"],
    }


def levels(demands: dict[str, list[float]], fps: float) -> dict[str, float]:
    """What each demand keeps up for as long as its limit asks, as a share of the level from which it is hard."""
    from lagoon.retarget.verdict import LIMITS

    found = {}
    for limit in LIMITS:
        least = max(1, round(limit.seconds * fps))
        values = np.asarray(demands.get(limit.key, [0.0]))
        if len(values) >= least:
            found[limit.key] = round(float(np.lib.stride_tricks.sliding_window_view(values, least).min(1).max()), 3)
    return found


def choose(rows: list[dict], count: int) -> list[str]:
    """Keys of clips, evenly over the grades, at most one of each first word while there are others."""
    draw = np.random.default_rng(0)
    chosen: list[str] = []
    by_grade = {grade: [row for row in rows if row.get("verdict") == grade] for grade in GRADES}
    for items in by_grade.values():
        draw.shuffle(items)
        seen: dict[str, int] = {}
        for row in items:
            row["turn"] = seen[row["verb"]] = seen.get(row["verb"], -1) + 1
        items.sort(key=lambda row: row["turn"])
    while len(chosen) < count and any(by_grade.values()):
        for items in by_grade.values():
            if items and len(chosen) < count:
                chosen.append(items.pop(0)["key"])
    return chosen


def scores(rows: list[dict], grades: tuple[str, ...]) -> dict[str, float]:
    """Precision and recall of 'will not be learned', said of these grades."""
    said = [row["grade"] in grades for row in rows]
    failed = [row["survival"] < LEARNED for row in rows]
    both = sum(a and b for a, b in zip(said, failed, strict=True))
    return {
        "precision": both / max(1, sum(said)),
        "recall": both / max(1, sum(failed)),
        "said": sum(said),
        "failed": sum(failed),
        "right": sum(a == b for a, b in zip(said, failed, strict=True)) / max(1, len(rows)),
    }


def main() -> None:
    """Train what is missing and write verdict.json."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--clips", type=int, default=32)
    parser.add_argument("--steps", type=int, default=800_000)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--robot", default="go2")
    options = parser.parse_args()
    known = HERE / "clips.jsonl"
    if not known.exists():
        parser.error(f"run bench_clips.py {options.data} first: the clips are drawn from its verdicts")
    wanted = choose([json.loads(line) for line in known.read_text().splitlines()], options.clips)
    done = {json.loads(line)["key"] for line in DONE.read_text().splitlines()} if DONE.exists() else set()
    tasks = []
    for key in wanted:
        robot, name, clip = key.split("/", 2)
        if key not in done and robot == options.robot:
            tasks.append((str(options.data), name, clip, robot, options.steps))
    with get_context("spawn").Pool(options.processes, maxtasksperchild=1) as pool:
        for row in pool.imap_unordered(train_one, tasks):
            with DONE.open("a") as file:
                file.write(json.dumps(row) + "\n")
            print(f"{row['caption']}: {row['grade']}, {row['survival']:.0%} survive", flush=True)
    rows = [json.loads(line) for line in DONE.read_text().splitlines()]
    result = {
        "clips": len(rows),
        "steps": options.steps,
        "learned": LEARNED,
        "hard or worse": scores(rows, GRADES[1:]),
        "not trackable": scores(rows, GRADES[2:]),
        "rows": rows,
    }
    RESULTS.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    print(json.dumps({key: result[key] for key in ("clips", "hard or worse", "not trackable")}, indent=1))


if __name__ == "__main__":
    main()
