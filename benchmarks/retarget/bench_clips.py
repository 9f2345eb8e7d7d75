"""Retargets every clip of a motion data set: crashes, limits, floor, slide, verdicts and speed, by verb.

Usage: python benchmarks/retarget/bench_clips.py DATA_FOLDER [--sets permissive authored] [--every 4] [--robot go2]

DATA_FOLDER holds NAME.npz and NAME.jsonl in the layout of lagoon.text2motion.corpus. Finished clips are kept in
clips.jsonl beside this script, so that an interrupted run goes on; --fresh begins anew. Times are CPU seconds.
"""

from __future__ import annotations

import argparse
import json
import re
import time
from collections import defaultdict
from pathlib import Path

import numpy as np

from lagoon.motion.human_motion import HumanMotion
from lagoon.motion.skeleton import JOINT_NAMES
from lagoon.retarget.config import RetargetConfig
from lagoon.retarget.quality import measure
from lagoon.retarget.retarget import retarget
from lagoon.robot import load_robot

HERE = Path(__file__).parent
DONE = HERE / "clips.jsonl"
RESULTS = HERE / "results.json"
NUMBERS = (
    "tracking_mean",
    "foot_slide_mean",
    "foot_slide_max",
    "penetration_max",
    "joint_limit_violations",
    "velocity_violations",
    "velocity_use_max",
    "torque_use_max",
    "pressure_mean",
    "pressure_p90",
    "self_collisions",
    "flight",
    "duration",
)


def clips(folder: Path, name: str):
    """Yield (id, caption, HumanMotion); the files are Y-up with the person facing +Z."""
    arrays = np.load(folder / f"{name}.npz", allow_pickle=False)
    rows = [json.loads(line) for line in (folder / f"{name}.jsonl").read_text().splitlines()]
    for row, start, length in zip(rows, arrays["start"], arrays["length"], strict=True):
        root = arrays["root"][start : start + length].astype(float)
        joints = np.concatenate([root[:, None], root[:, None] + arrays["local"][start : start + length]], axis=1)
        yield row["id"], row["captions"][0], HumanMotion(20.0, JOINT_NAMES, joints[..., [2, 0, 1]], row["captions"][0])


def examine(human: HumanMotion, robot, config: RetargetConfig) -> dict:
    """One clip's numbers, or its error."""
    began = time.process_time()
    try:
        motion, report = retarget(human, robot, config)
    except Exception as error:  # A crash is a result here.
        return {"error": f"{type(error).__name__}: {error}"}
    row: dict = {key: getattr(report, key) for key in NUMBERS}
    row |= {"cpu": time.process_time() - began, "map": report.morphology, "verdict": report.verdict.grade}
    row["reasons"] = sorted({reason.kind for reason in report.verdict.reasons})
    again = measure(motion, robot)
    row["same"] = bool(abs(again.penetration_max - report.penetration_max) < 1e-9)
    return row


def verb_of(caption: str) -> str:
    """First verb-like word of a caption, for grouping."""
    words = [
        w for w in re.findall(r"[a-z]+", caption.lower()) if w not in ("a", "the", "person", "do", "start", "some")
    ]
    return words[0] if words else "other"


def table(rows: list[dict]) -> list[str]:
    """Markdown by verb, the frequent ones, and all."""
    groups: dict[str, list[dict]] = defaultdict(list)
    for row in rows:
        groups[row["verb"]].append(row)
        groups["all"].append(row)
    lines = [
        "| verb | clips | crashes | slide median [cm/s] | deepest [mm] | limit violations | feet follow [cm] "
        "| trackable / hard / not | CPU s per s of clip |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for verb, group in sorted(groups.items(), key=lambda item: (item[0] == "all", -len(item[1]))):
        good = [row for row in group if "error" not in row]
        if (verb != "all" and len(group) < 6) or not good:
            continue
        take = lambda key, good=good: np.array([row[key] for row in good])  # noqa: E731
        grades = [sum(row["verdict"] == grade for row in good) for grade in ("trackable", "hard", "not trackable")]
        lines.append(
            f"| {verb} | {len(group)} | {len(group) - len(good)} | {100 * np.median(take('foot_slide_mean')):.2f} "
            f"| {1000 * take('penetration_max').max():.1f} "
            f"| {int((take('joint_limit_violations') + take('velocity_violations')).sum())} "
            f"| {100 * np.mean(take('tracking_mean')):.1f} | {' / '.join(map(str, grades))} "
            f"| {take('cpu').sum() / take('duration').sum():.2f} |"
        )
    return lines


def main() -> None:
    """Run what is missing and write results.json."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--sets", nargs="+", default=["permissive", "authored"])
    parser.add_argument("--every", type=int, default=1, help="take every n-th clip")
    parser.add_argument("--robot", default="go2")
    parser.add_argument("--fresh", action="store_true")
    options = parser.parse_args()
    if options.fresh:
        DONE.unlink(missing_ok=True)
    robot = load_robot(options.robot)
    done = {json.loads(line)["key"] for line in DONE.read_text().splitlines()} if DONE.exists() else set()
    for name in options.sets:
        for i, (clip, caption, human) in enumerate(clips(options.data, name)):
            key = f"{options.robot}/{name}/{clip}"
            if i % options.every or key in done:
                continue
            row = {"key": key, "verb": verb_of(caption)} | examine(human, robot, RetargetConfig(speed=1.0))
            with DONE.open("a") as file:
                file.write(json.dumps(row) + "\n")
            print(f"{key}: {row.get('error') or row['verdict']}", flush=True)
    rows = [json.loads(line) for line in DONE.read_text().splitlines()]
    lines = table([row for row in rows if row["key"].startswith(options.robot + "/")])
    RESULTS.write_text(json.dumps({"every": options.every, "table": lines}, indent=1) + "\n", encoding="utf-8")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
