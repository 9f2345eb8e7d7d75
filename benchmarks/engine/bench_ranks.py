"""Do two processes that share gradients learn what one learns from the double batch? Returns after 50 updates, by seed.

The point of ``tasks.Point`` must go to the origin: the same recipe with one worker and with two, which differ only in
who steps which environments and in the seeds of their noise. The policy is scored without noise.

Usage: python benchmarks/engine/bench_ranks.py [--seeds 3] [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from tasks import make_cheap

from lagoon.engine.checkpoint import load_checkpoint
from lagoon.engine.config import PPOConfig
from lagoon.engine.run import run
from lagoon.engine.session import load_policy

UPDATES = 50
RECIPE = PPOConfig(
    num_envs=64, horizon=16, hidden=(32, 32), gamma=0.95, total_steps=UPDATES * 64 * 16, tensorboard=False
)


@torch.no_grad()
def score(path: Path) -> float:
    """Mean reward per step of the noise-free policy, on environments that it has not seen."""
    policy, env = load_policy(load_checkpoint(path)), make_cheap(0, 512, 10_000)
    obs, rewards = env.reset(), []
    for _ in range(200):
        result = env.step(policy.act(obs["actor"], 0.1, None)[0])
        obs = result.obs
        rewards.append(result.reward.mean().item())
    return float(np.mean(rewards))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    scores: dict[int, list[float]] = {1: [], 2: []}
    for seed in range(arguments.seeds):
        for workers, found in scores.items():
            with tempfile.TemporaryDirectory() as folder:
                found.append(score(run(make_cheap, replace(RECIPE, workers=workers), Path(folder), seed)))
            print(f"seed {seed}, {workers} processes: {found[-1]:.4f}", flush=True)
    one, two = (np.array(scores[workers]) for workers in (1, 2))
    spread = float(np.concatenate([one, two]).std(ddof=1))
    print(f"difference of the means {two.mean() - one.mean():+.4f}")
    print(f"spread over seeds {one.std(ddof=1):.4f} and {two.std(ddof=1):.4f}, of all {spread:.4f}")
    if arguments.json:
        facts = {"updates": UPDATES, "one_process": scores[1], "two_processes": scores[2]}
        arguments.json.write_text(json.dumps(facts, indent=1) + "\n")


if __name__ == "__main__":
    main()
