"""Retargets every clip of a motion data set: crashes, limits, floor, slide, verdicts and speed, by verb.

Beside it stands plain inverse kinematics, each frame on its own and started from the one before: no velocity limit, no
balance, no second pass, no smoothing. It is measured on the clip itself, for every --plain-th clip.

Usage: python benchmarks/retarget/bench_clips.py DATA_FOLDER [--sets permissive authored] [--robot go2]

DATA_FOLDER holds NAME.npz and NAME.jsonl in the layout of lagoon.text2motion.corpus. Finished clips are kept in
clips.jsonl beside this script, so that an interrupted run goes on; --fresh begins anew. Clips come coarse to fine, so
that a stopped run has an even sample of each set; --report writes the tables of what is there. Times are CPU seconds.
"""

from __future__ import annotations

import argparse
import json
import re
import time
from collections import defaultdict
from pathlib import Path

import numpy as np

from lagoon.motion.axes import to_z_up
from lagoon.motion.human_motion import HumanMotion
from lagoon.motion.skeleton import JOINT_NAMES
from lagoon.retarget import scaling
from lagoon.retarget.body import Body
from lagoon.retarget.config import RetargetConfig
from lagoon.retarget.contacts import detect
from lagoon.retarget.ik import WholeBodyIK
from lagoon.retarget.kinematics import Kinematics
from lagoon.retarget.morphology import choose_supports
from lagoon.retarget.motion import motion_targets
from lagoon.retarget.quality import foot_slide, measure
from lagoon.retarget.retarget import retarget
from lagoon.robot import RobotSpec, load_robot

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
    with np.load(folder / f"{name}.npz", allow_pickle=False) as file:
        arrays = {key: file[key] for key in ("start", "length", "root", "local")}  # Each access unpacks the whole.
    rows = [json.loads(line) for line in (folder / f"{name}.jsonl").read_text().splitlines()]
    for row, start, length in zip(rows, arrays["start"], arrays["length"], strict=True):
        root = arrays["root"][start : start + length].astype(float)
        joints = np.concatenate([root[:, None], root[:, None] + arrays["local"][start : start + length]], axis=1)
        yield row["id"], row["captions"][0], HumanMotion(20.0, JOINT_NAMES, to_z_up(joints), row["captions"][0])


def plain(human: HumanMotion, robot: RobotSpec, config: RetargetConfig) -> dict:
    """The same targets, each frame solved on its own from the solution before it; numbers of the clip itself."""
    kin, fps = Kinematics(robot), 1.0 / robot.control_dt
    body = Body.of(human, fps)
    supports = choose_supports(body, config.morphology, config.hand_height)
    contacts = detect(body, robot, supports, config)
    scales = scaling.fit(body, robot, config, upright=supports.first.rears_up)
    targets = motion_targets(body, contacts, scales, supports, kin, config)
    ik, at = WholeBodyIK(kin, config, fps), kin.stand()
    at[3:7], at[kin.address.joint_qpos] = targets.base_quat[0], targets.rest[0]
    qpos = np.empty((targets.num_frames, len(at)))
    for t in range(len(qpos)):
        at = qpos[t] = ik.pose(targets.frame(t), at, 60 if t == 0 else config.iterations)
    feet, far = np.array([kin.feet(row) for row in qpos]), []
    for t, row in enumerate(qpos):
        free = np.linalg.norm(kin.points_b(row)[0] - targets.foot_b[t], axis=1)
        held = np.linalg.norm(feet[t] - targets.foot_w[t], axis=1)
        between = (targets.grip[t] > 0.01) & ~targets.contact[t]
        far.append(np.where(between, 0.0, np.where(targets.contact[t], held, free)))
    speed = np.abs(np.diff(qpos[:, kin.address.joint_qpos], axis=0)) * fps / robot.joint_vel_limit
    return {
        "tracking_mean": float(np.mean(far)),
        "foot_slide_mean": foot_slide(feet, targets.contact, fps)[0],
        "velocity_use_max": float(speed.max()),
    }


def examine(human: HumanMotion, robot: RobotSpec, config: RetargetConfig, beside: bool) -> dict:
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
    if beside:
        names = list(motion.segment_names)
        start, stop = (int(motion.segment_starts[names.index("motion") + k]) for k in (0, 1))
        kin, cut = Kinematics(robot), slice(start, stop)
        rows = zip(motion.root_pos_w[cut], motion.root_quat_w[cut], motion.joint_pos[cut], strict=True)
        feet = np.array([kin.feet(kin.pack(*parts)) for parts in rows])
        speed = np.abs(np.diff(motion.joint_pos[cut], axis=0)) * motion.fps / robot.joint_vel_limit
        row["ours"] = {
            "tracking_mean": report.tracking_mean,
            "foot_slide_mean": foot_slide(feet, motion.foot_contact[cut], motion.fps)[0],
            "velocity_use_max": float(speed.max()),
        }
        row["plain"] = plain(human, robot, config)
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


def beside(rows: list[dict]) -> list[str]:
    """Markdown of this retargeting against plain inverse kinematics, over the clips that have both."""
    both = [row for row in rows if "plain" in row]
    lines = [
        f"| {len(both)} clips, the clip itself | feet follow, mean [cm] | slide, median [cm/s] | slide, p90 [cm/s] "
        "| fastest joint, median of its limit | clips over a speed limit |",
        "|---|---|---|---|---|---|",
    ]
    for key, label in (("ours", "lagoon"), ("plain", "frame by frame")):
        take = lambda name, key=key: np.array([row[key][name] for row in both])  # noqa: E731
        slide, speed = 100 * take("foot_slide_mean"), take("velocity_use_max")
        lines.append(
            f"| {label} | {100 * take('tracking_mean').mean():.1f} | {np.median(slide):.2f} "
            f"| {np.percentile(slide, 90):.2f} | {np.median(speed):.0%} | {(speed > 1.0).sum()} |"
        )
    return lines if both else []


def speeds(rows: list[dict]) -> list[str]:
    """Markdown of the speed by body map: seconds of motion for each CPU second."""
    lines = ["| map | clips | times real time, one core |", "|---|---|---|"]
    for name in ("upright", "four_legged"):
        good = [row for row in rows if row.get("map") == name]
        if good:
            rate = sum(row["duration"] for row in good) / sum(row["cpu"] for row in good)
            lines.append(f"| {name} | {len(good)} | {rate:.1f} |")
    return lines


def write(robot: str) -> None:
    """Write results.json and results.md from the clips that are done."""
    rows = [json.loads(line) for line in DONE.read_text().splitlines()]
    rows = [row for row in rows if row["key"].startswith(robot + "/")]
    parts = {"by verb": table(rows), "beside plain inverse kinematics": beside(rows), "speed": speeds(rows)}
    RESULTS.write_text(json.dumps({"clips": len(rows), "rows": rows}, indent=1) + "\n", encoding="utf-8")
    text = "\n\n".join("\n".join([f"## {name.capitalize()}", "", *lines]) for name, lines in parts.items())
    RESULTS.with_suffix(".md").write_text(f"# {len(rows)} clips on {robot}\n\n{text}\n", encoding="utf-8")
    print(text)


def main() -> None:
    """Run what is missing and write results.json and results.md."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--sets", nargs="+", default=["permissive", "authored"])
    parser.add_argument("--plain", type=int, default=4, help="measure plain inverse kinematics for every n-th clip")
    parser.add_argument("--report", action="store_true", help="run nothing, write the tables")
    parser.add_argument("--robot", default="go2")
    parser.add_argument("--fresh", action="store_true")
    options = parser.parse_args()
    if options.report:
        write(options.robot)
        return
    if options.fresh:
        DONE.unlink(missing_ok=True)
    robot = load_robot(options.robot)
    done = {json.loads(line)["key"] for line in DONE.read_text().splitlines()} if DONE.exists() else set()
    found = [(name, *clip) for name in options.sets for clip in clips(options.data, name)]
    for i in sorted(range(len(found)), key=lambda i: (i % 8 > 0, i % 4 > 0, i % 2 > 0, i)):
        name, clip, caption, human = found[i]
        key = f"{options.robot}/{name}/{clip}"
        if key in done:
            continue
        row = {"key": key, "verb": verb_of(caption)}
        row |= examine(human, robot, RetargetConfig(speed=1.0), i % options.plain == 0)
        with DONE.open("a") as file:
            file.write(json.dumps(row) + "\n")
        print(f"{key}: {row.get('error') or row['verdict']}", flush=True)
    write(options.robot)


if __name__ == "__main__":
    main()
