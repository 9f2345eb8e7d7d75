"""Fine-tuning of the shipped generator: asynchronous against its synchronous twin, at equal samples.

"real": the judge retargets every motion, as `lagoon align` does, so that all time is spent on this machine.
"slept": words and person only, and the judge then sleeps for a lognormal time (sigma 1), the same for a sequence in
all arms, as if its simulator ran on a cluster. Rounds are interleaved, a seed each. Time counts from the first update
to the last. A folder keeps what is done: the same line goes on.

"held out" draws 24 motions that no run has seen, the same for all, with the weights before and after: their reward, the
cosine of words and motion by the network that judges and has no part in the reward, and the mean speed of the joints.

Usage: python benchmarks/text2motion/bench_align.py FOLDER [--kind real|slept] [--rounds 3] [--updates 16] [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import math
import time
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch

from lagoon.cli.align import RobotAppraiser
from lagoon.cli.config import AlignVerb
from lagoon.engine.checkpoint import latest_checkpoint
from lagoon.engine.tokens.config import RolloutConfig, TokenPPOConfig
from lagoon.engine.tokens.run import run
from lagoon.engine.tokens.schema import sequence_of
from lagoon.text2motion.align.config import AlignConfig
from lagoon.text2motion.align.task import AlignTask, read_task
from lagoon.text2motion.config import FPS
from lagoon.text2motion.matching import load_judge

ARMS = {"synchronous": 0, "staleness 2": 2, "staleness 4": 4}
BATCH, HELD_OUT_SEED = 16, 999


@dataclass(frozen=True)
class Slept(AlignTask):
    """Judges at once, then sleeps."""

    median: float = 1.0

    def scorer(self):
        score = super().scorer()

        def late(sequence):
            terms = score(sequence)
            draw = np.random.default_rng((7, sequence.number)).standard_normal()
            time.sleep(self.median * math.exp(draw))
            return terms

        return late


def task_of(kind: str, ppo: TokenPPOConfig) -> AlignTask:
    real = kind == "real"
    config = AlignConfig(commands=("bow", "wave hello"), robot=float(real), guidance=3.0 if real else 1.0, ppo=ppo)
    if real:
        return read_task(config, RobotAppraiser("go2", AlignVerb().judge_step, AlignVerb().retarget))
    plain = read_task(config)
    return Slept(**{name: getattr(plain, name) for name in plain.__dataclass_fields__})


def train(kind: str, eta: int, updates: int, seed: int, folder: Path) -> dict[str, object]:
    judges = 1 if kind == "real" else 3
    rollout = RolloutConfig(lanes=8, max_staleness=eta, reward_workers=judges, reward_queue=1)
    ppo = TokenPPOConfig(batch=BATCH, minibatches=2, lr=1e-4, total_steps=BATCH * updates, tensorboard=False)
    run(task_of(kind, replace(ppo, rollout=rollout)), replace(ppo, rollout=rollout), folder, seed)
    rows = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    return {
        "seconds": 60.0 * (rows[-1]["progress/minutes"] - rows[0]["progress/minutes"]),
        "cpu_seconds": sum(row["speed/cpu_seconds"] for row in rows),
        "reward": [row["train/reward"] for row in rows],
        "terms": {term: [row[f"reward/{term}"] for row in rows] for term in ("words", "person", "robot")},
        "oldest": max(row["staleness/max"] for row in rows),
        "interrupted": float(np.mean([row["rollout/interrupted"] for row in rows])),
        "waits": float(np.mean([row["speed/trainer_waits"] for row in rows])),
        "failed": rows[-1]["reward/failed"],
    }


def held_out(task: AlignTask, state: dict[str, torch.Tensor] | None, count: int = 24) -> dict[str, list[float]]:
    """Reward, cosine by the judge and speed of the joints [m/s] of each motion; None is the generator as shipped."""
    sampler, score, judge = task.sampler(count), task.scorer(), load_judge().network
    texts = judge.embed_texts([reading.encoding for reading in task.readings])
    if state is not None:
        sampler.take(state)
    asked = {number: sequence_of(task, HELD_OUT_SEED, number) for number in range(count)}
    codes: dict[int, list[torch.Tensor]] = {number: [] for number in asked}
    for sequence in asked.values():
        sampler.begin(sequence, HELD_OUT_SEED)
    while running := sampler.running:
        for number, row in zip(running, sampler.step().codes, strict=True):
            codes[number].append(row)
            if len(codes[number]) == asked[number].length:
                sampler.drop(number)
    found: dict[str, list[float]] = {"reward": [], "judge": [], "speed": []}
    for number, sequence in asked.items():
        drawn = sequence._replace(codes=torch.stack(codes[number]).numpy())
        pos = score.motion(drawn.codes).joint_pos_w
        found["reward"].append(float(score(drawn).sum()))
        found["judge"].append(float(judge.embed_motions([pos])[0] @ texts[sequence.prompt]))
        found["speed"].append(float(np.linalg.norm(np.diff(pos, axis=0), axis=-1).mean() * FPS))
    return found


def tell_held_out(found: dict[str, dict[str, list[float]]]) -> None:
    base = found["as shipped"]
    print("| held out | reward | better than as shipped | cosine by the judge | speed of the joints [m/s] |")
    for name, values in found.items():
        gain = np.subtract(values["reward"], base["reward"])
        error = gain.std() / len(gain) ** 0.5
        means = {key: float(np.mean(rows)) for key, rows in values.items()}
        print(
            f"| {name} | {means['reward']:.2f} | {gain.mean():.2f} ± {error:.2f} | {means['judge']:.3f} | "
            f"{means['speed']:.3f} |"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--kind", choices=("real", "slept"), default="real")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--updates", type=int, default=16)
    parser.add_argument("--arms", nargs="*", default=["synchronous", "staleness 2"], choices=list(ARMS))
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    found: dict[str, list[dict[str, object]]] = {name: [] for name in args.arms}
    for seed in range(args.rounds):
        for name in args.arms:
            folder = args.folder / args.kind / f"{ARMS[name]}-{seed}"
            found[name].append(train(args.kind, ARMS[name], args.updates, seed, folder))
            print(seed, name, {k: v for k, v in found[name][-1].items() if k != "terms"}, flush=True)
        if args.json:
            known = json.loads(args.json.read_text()) if args.json.exists() else {}
            args.json.write_text(json.dumps(known | {args.kind: found}, indent=1) + "\n")
    torch.set_num_threads(1)
    task = task_of(args.kind, TokenPPOConfig())
    plain = read_task(task.config, task.appraiser)  # Nobody sleeps here.
    seen = {"as shipped": held_out(plain, None)}
    for name in args.arms:
        for seed in range(args.rounds):
            folder = args.folder / args.kind / f"{ARMS[name]}-{seed}" / "checkpoints"
            checkpoint = latest_checkpoint(folder)
            assert checkpoint is not None, folder
            seen[f"{name}, seed {seed}"] = held_out(plain, checkpoint.group("policy"))
    tell_held_out(seen)
    if args.json:
        known = json.loads(args.json.read_text())
        args.json.write_text(json.dumps(known | {f"{args.kind}, held out": seen}, indent=1) + "\n")
    quarter = max(1, args.updates // 4)
    print("| arm | time of synchronous over it, by round | reward, first quarter | last quarter | oldest |")
    for name, runs in found.items():
        pairs = zip(found[args.arms[0]], runs, strict=True)
        ratios = ", ".join(f"{own['seconds'] / other['seconds']:.2f}" for own, other in pairs)
        first, last = (
            ", ".join(f"{np.mean(r['reward'][part]):.2f}" for r in runs)
            for part in (slice(None, quarter), slice(-quarter, None))
        )
        print(f"| {name} | {ratios} | {first} | {last} | {max(r['oldest'] for r in runs):.0f} |")


if __name__ == "__main__":
    main()
