"""Asynchronous against synchronous training where rollouts take very different times.

Four actors with one environment each; how long a rollout takes is lognormal (sigma 1) and slept, as if generation or
simulation ran elsewhere. "synchronous" is ``max_staleness`` 0: all wait for the slowest. Same samples for all, rounds
interleaved. Reward is that of the deterministic final policy over 512 fresh episodes.

Usage: python benchmarks/engine/bench_async.py [--rounds 3] [--updates 60] [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from pathlib import Path

import numpy as np
import torch
from tasks import Point, make_heavy_tailed

from lagoon.engine.checkpoint import load_checkpoint
from lagoon.engine.config import GraphConfig, PPOConfig
from lagoon.engine.run import run
from lagoon.engine.session import load_policy

ARMS = {"synchronous": 0, "staleness 1": 1, "staleness 4": 4}


class Clock:
    """Measures from the first update on, so that starting processes does not count, and keeps what was logged."""

    def __init__(self) -> None:
        self.times, self.oldest = [], 0.0

    def on_iteration(self, info, policy):
        self.times.append(time.monotonic())
        self.oldest = max(self.oldest, info.metrics["staleness/max"])
        return False


def final_reward(path: Path) -> float:
    policy, env = load_policy(load_checkpoint(path)), Point(512, seed=99)
    obs, rewards = env.reset(), []
    env.age.zero_()
    for _ in range(39):
        with torch.no_grad():
            result = env.step(policy.act(obs["actor"], 0.1, None)[0])
        obs = result.obs
        rewards.append(float(result.reward.mean()))
    return float(np.mean(rewards))


def train(eta: int, updates: int, seed: int) -> dict[str, float]:
    config = PPOConfig(
        num_envs=64,
        horizon=16,
        hidden=(32, 32),
        gamma=0.95,
        total_steps=64 * 16 * updates,
        tensorboard=False,
        topology="async",
        graph=GraphConfig(actors=4, ring=1, max_staleness=eta),
    )
    clock = Clock()
    with tempfile.TemporaryDirectory() as folder:
        path = run(make_heavy_tailed, config, Path(folder), seed, clock)
        reward = final_reward(path)
    rate = 64 * 16 * (len(clock.times) - 1) / (clock.times[-1] - clock.times[0])
    return {"samples_per_second": rate, "reward": reward, "oldest": clock.oldest}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--updates", type=int, default=60)
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    found: dict[str, list[dict[str, float]]] = {name: [] for name in ARMS}
    for seed in range(args.rounds):
        for name, eta in ARMS.items():
            found[name].append(train(eta, args.updates, seed))
            print(name, found[name][-1], flush=True)
    print("\n| arm | samples/s over synchronous, by round | final reward, mean | oldest sample |\n|---|---|---|---|")
    for name, runs in found.items():
        pairs = zip(runs, found["synchronous"], strict=True)
        ratios = [own["samples_per_second"] / other["samples_per_second"] for own, other in pairs]
        reward, oldest = np.mean([own["reward"] for own in runs]), max(own["oldest"] for own in runs)
        print(f"| {name} | {', '.join(f'{ratio:.2f}' for ratio in ratios)} | {reward:.3f} | {oldest:.0f} |")
    if args.json:
        args.json.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
