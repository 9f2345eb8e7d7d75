"""Does a policy learn as well with the update's matrix products in bfloat16 as in float32, and for how much CPU time?

One worker learns a motion from nothing, with either, seed by seed in turn; finished cells of the JSON are kept.
Usage: python benchmarks/engine/bench_bf16.py robot.npz [--steps 400000] [--seeds 6] [--json OUT.json]
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from pathlib import Path

from lagoon.engine.config import PPOConfig
from lagoon.engine.cores import multiplies_bf16
from lagoon.engine.run import run
from lagoon.imitation.config import TrainConfig
from lagoon.imitation.env import MakeTrackingEnv
from lagoon.motion.robot_motion import RobotMotion
from lagoon.robot import load_robot

TENTHS = 10


def learned(make: MakeTrackingEnv, steps: int, seed: int, short: bool) -> dict[str, object]:
    """Return mean rewards of each tenth of a training, and its cost."""
    config = PPOConfig(total_steps=steps, workers=1, tensorboard=False, bf16=short, amx=False)
    with tempfile.TemporaryDirectory() as folder:
        before = time.process_time()
        run(make, config, Path(folder), seed)
        seconds = time.process_time() - before
        rows = [json.loads(line) for line in (Path(folder) / "metrics.jsonl").read_text().splitlines()]
    mean = lambda name, part: round(statistics.mean(row[name] for row in part), 4)  # noqa: E731
    tenth = [rows[len(rows) * k // TENTHS : len(rows) * (k + 1) // TENTHS] for k in range(TENTHS)]
    later = rows[len(rows) // 2 :]
    return {
        "reward": [mean("train/reward", part) for part in tenth],
        "cpu": round(seconds, 1),
        "update": mean("time/update", rows),
        "kl": mean("train/kl", later),
        "value_loss": mean("train/value_loss", later),
        "explained": mean("train/explained_variance", later),
    }


def main() -> None:
    """Fill the table and print the differences."""
    parser = argparse.ArgumentParser()
    parser.add_argument("motion", type=Path)
    parser.add_argument("--steps", type=int, default=400_000)
    parser.add_argument("--seeds", type=int, default=6)
    parser.add_argument("--json", type=Path, default=Path("benchmarks/engine/bf16.json"))
    asked = parser.parse_args()
    if not multiplies_bf16():
        print("This processor does not multiply bfloat16; its CPU times say nothing.")
    make = MakeTrackingEnv(RobotMotion.load(asked.motion), load_robot("go2"), TrainConfig())
    done = json.loads(asked.json.read_text()) if asked.json.exists() else {}
    for seed in range(asked.seeds):
        for name in ("fp32", "bf16"):
            if f"{seed}/{name}" not in done:
                done[f"{seed}/{name}"] = learned(make, asked.steps, seed, name == "bf16")
                asked.json.write_text(json.dumps(done, indent=1) + "\n")
    ends = {name: [done[f"{k}/{name}"]["reward"][-1] for k in range(asked.seeds)] for name in ("fp32", "bf16")}
    apart = [b - a for a, b in zip(*ends.values(), strict=True)]
    error = statistics.stdev(apart) / len(apart) ** 0.5
    print(ends, f"bf16 less fp32: {statistics.mean(apart):.4f}, standard error {error:.4f}")


if __name__ == "__main__":
    main()
