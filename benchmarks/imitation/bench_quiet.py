"""What makes the motors quiet? Goes on from finished policies with other settings, and measures what they command.

Usage: python benchmarks/imitation/bench_quiet.py SKILL_FOLDER... [--steps 1e6] [--trials 128] [--folder skills/quiet]
           [--arms "" task.reward.action_rate_penalty=1 "task.reward.action_rate_penalty=4 ppo.smoothness=30"]

The first arm, "", is the policy as it is. Every other arm continues the skill's training from its last checkpoint,
with the randomization full and the noise at its end, exports the result, and runs it through the trials of `lagoon
evaluate`.
An arm that is finished is not run again, one that was interrupted goes on from its checkpoint. Writes quiet.json beside
this file, one row for each arm and skill.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from lagoon import bundle
from lagoon.cli.ladder import changed
from lagoon.cli.schema import build
from lagoon.deploy.config import EvaluateConfig
from lagoon.deploy.evaluate import PHYSICS
from lagoon.deploy.sensors import NoisySensors
from lagoon.deploy.smoothness import CHATTER_HZ, chatter_of
from lagoon.deploy.tracking import ReferenceTrack, Tracker
from lagoon.deploy.trial_run import TrialRun
from lagoon.deploy.trials import draw_conditions
from lagoon.engine.checkpoint import latest_checkpoint
from lagoon.imitation.base_policy import begin
from lagoon.imitation.config import TrainConfig
from lagoon.imitation.export import export
from lagoon.imitation.train import train
from lagoon.motion.robot_motion import RobotMotion
from lagoon.motion.rotations import quat_yaw
from lagoon.paths import write_text
from lagoon.robot import load_robot
from lagoon.skill import Skill

RESULTS = Path(__file__).parent / "quiet.json"
ARMS = (
    "",
    "task.reward.action_rate_penalty=1",
    "task.reward.action_jerk_penalty=3",
    "ppo.smoothness=1",
    "task.reward.action_rate_penalty=4 ppo.smoothness=30",
)


def continued(skill: Skill, arm: str, steps: int, folder: Path) -> Path:
    """Train on with other settings; return the folder of the bundle."""
    motion, robot = RobotMotion.load(skill.robot_path), load_robot(skill.robot)
    if not (folder / "train").exists():
        fresh = folder / "train.new"
        shutil.rmtree(fresh, ignore_errors=True)
        shutil.copytree(skill.train_folder, fresh)
        fresh.rename(folder / "train")
    config: TrainConfig = build(TrainConfig, skill.stages["train"].config["train"])
    changes = {key: json.loads(value) for key, _, value in (word.partition("=") for word in arm.split())}
    config = changed(config, changes)
    last = latest_checkpoint(skill.train_folder / "checkpoints")
    assert last is not None
    after = int(last.facts["step"]) + steps - begin(motion, robot, config).config.ppo.total_steps
    # No check can be as steady as this: every arm gets the same steps.
    config = replace(config, steady=2.0, give_up=0, ppo=replace(config.ppo, settle_steps=after))
    checkpoint = train(motion, robot, config, folder / "train", skill.stages["train"].seed, _progress)
    export(checkpoint, motion, robot, config, skill.command, folder / "bundle", "")
    return folder / "bundle"


def measure(skill: Skill, policy: Path, trials: int, seed: int) -> dict[str, Any]:
    """Survival, steps of the targets and share of the torques that is fast, over randomized trials."""
    robot, motion, config = load_robot(skill.robot), RobotMotion.load(skill.robot_path), EvaluateConfig(trials=trials)
    loaded, physics = bundle.load(policy, robot), PHYSICS[config.physics]
    ticks = loaded.num_steps + round(config.hold_seconds / loaded.control_dt)
    draw, noise = (np.random.default_rng(child) for child in np.random.SeedSequence(seed).spawn(2))
    conditions = draw_conditions(config, loaded.num_joints, ticks, loaded.control_dt, physics.dt, draw)
    run = TrialRun(loaded, robot, physics, conditions, NoisySensors(config, conditions, noise), config.threads)
    targets, torques, power, alive = [], [], [], []
    try:
        reference, state = ReferenceTrack(motion, robot, run.backend.model), run.stand(config.stand_seconds)
        limit = robot.torque_limit * conditions.body.strength.numpy()
        heading = quat_yaw(state.root_quat_w.numpy().astype(np.float64))
        tracker = Tracker(reference, config, start_heading=heading, torque_limit=limit)
        for tick in range(1, ticks + 1):
            state, broken = run.tick(state)
            torque = run.backend.torques().numpy().astype(np.float64)
            fell = tracker.observe(tick, state, run.backend.feet(), torque, broken)
            targets.append(run.targets.copy())
            torques.append(torque)
            power.append(np.abs(torque * state.joint_vel.numpy()).sum(axis=1))
            alive.append(tracker.alive.copy())
            if fell.any():
                run.park(fell)
                state = run.backend.state()
        tracker.finish(ticks + 1, state, run.backend.feet())
    finally:
        run.close()
    seen = np.array(alive)
    step = np.abs(np.diff(np.array(targets), axis=0))[seen[1:]]
    _, share = chatter_of(np.array(torques), seen.sum(axis=0), loaded.control_dt)
    amplitude, _ = chatter_of(np.array(targets), seen.sum(axis=0), loaded.control_dt)
    return {
        "survived": int(tracker.alive.sum()),
        "trials": trials,
        "step_rms": float(np.sqrt((step**2).mean())),
        "step_p99": float(np.percentile(step, 99)),
        f"targets_above_{CHATTER_HZ:g}_hz": float(np.nanmean(amplitude)),
        f"torque_share_above_{CHATTER_HZ:g}_hz": float(np.nanmean(share)),
        "power": float(np.array(power)[seen].mean()),
    }


def _progress(fraction: float, message: str = "") -> None:
    print(f"{fraction:.1%} {message}", end="\r", file=sys.stderr, flush=True)


def main() -> None:
    """Run what is missing, write quiet.json and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("skills", nargs="+", type=Path)
    parser.add_argument("--arms", nargs="+", default=list(ARMS))
    parser.add_argument("--steps", type=float, default=1e6)
    parser.add_argument("--trials", type=int, default=128)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--folder", type=Path, default=Path("skills/quiet"))
    parser.add_argument("--json", type=Path, default=RESULTS)
    options = parser.parse_args()
    rows = json.loads(options.json.read_text(encoding="utf-8")) if options.json.is_file() else []
    for path in options.skills:
        skill = Skill.open(path)
        for arm in options.arms:
            key = {
                "command": skill.command,
                "seed": skill.stages["train"].seed,
                "arm": arm,
                "steps": int(options.steps) if arm else 0,
                "evaluation_seed": options.seed,
            }
            if not any(key.items() <= row.items() for row in rows):
                name = arm.replace(" ", "+") or "as-it-is"
                folder = options.folder / f"{skill.folder.name}-{key['seed']}" / f"{name}-{int(options.steps)}"
                folder.mkdir(parents=True, exist_ok=True)
                policy = continued(skill, arm, int(options.steps), folder) if arm else skill.bundle_folder
                rows.append(key | measure(skill, policy, options.trials, options.seed))
                write_text(options.json, json.dumps(rows, indent=1) + "\n")
    print("| command | seed | trained on with | survived | step RMS [rad] | p99 | > 8 Hz [rad] | torque > 8 Hz | W |")
    print("|---|---|---|---|---|---|---|---|---|")
    for row in rows:
        print(
            f"| {row['command']} | {row['seed']} | {row['arm'] or 'nothing'} | {row['survived']} of {row['trials']} "
            f"| {row['step_rms']:.3f} | {row['step_p99']:.2f} | {row['targets_above_8_hz']:.3f} "
            f"| {row['torque_share_above_8_hz']:.0%} | {row['power']:.0f} |"
        )


if __name__ == "__main__":
    main()
