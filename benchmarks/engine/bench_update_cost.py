"""What one PPO update costs per sample, by variant, and what a sum of gradients over two processes costs.

All variants run in one process, one torch thread, in interleaved rounds; the smallest CPU time of each counts,
since load from others only ever adds. Compare ratios, not microseconds, between machines.

Usage: taskset -c 0 python benchmarks/engine/bench_update_cost.py [OUT.json]        (the sums need: no taskset, 2 cores)
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path

import torch

from lagoon.engine.config import PPOConfig
from lagoon.engine.group import Distributed, Group
from lagoon.engine.policy import GaussianActorCritic
from lagoon.engine.ppo import PPO
from lagoon.engine.processes import available_cores, data_parallel
from lagoon.engine.trajectory import Trajectory, ppo_schema

DIMS, ACTIONS, STD, ROUNDS = {"actor": 110, "critic": 160}, 12, 0.3, 5
VARIANTS = {
    "autograd, ELU, minibatch 2048, 5 epochs": {"fused_backward": False},
    "fused, ELU, minibatch 2048, 5 epochs (default)": {},
    "fused, minibatch 1024": {"minibatches": 8},
    "fused, minibatch 4096": {"minibatches": 2},
    "fused, minibatch 8192": {"minibatches": 1},
    "fused, tanh": {"activation": "tanh"},
    "fused, ReLU": {"activation": "relu"},
    "autograd, SiLU": {"activation": "silu"},
    "fused, 3 epochs": {"epochs": 3},
    "fused, bf16 products": {"bf16": True},
    "autograd, bf16 autocast": {"fused_backward": False, "bf16": True},
    "fused, hidden 128-128": {"hidden": (128, 128)},
    "fused, hidden 512-256": {"hidden": (512, 256)},
}


def prepared(changes: dict[str, object]) -> tuple[PPO, Trajectory]:
    """Return an algorithm and a random trajectory that its policy acted in."""
    config = PPOConfig(**({"amx": False} | changes))  # type: ignore[arg-type]
    policy = GaussianActorCritic.from_config(DIMS, ACTIONS, config, seed=0)
    rng = torch.Generator().manual_seed(0)
    slot = Trajectory(ppo_schema(config.horizon, config.num_envs, DIMS, ACTIONS))
    for name in ("actor", "critic", "reward", "last_critic", "final_critic"):
        slot[name].normal_(generator=rng)
    slot["truncated"].copy_(torch.rand(slot["truncated"].shape, generator=rng) < 0.01)
    with torch.no_grad():
        for t in range(config.horizon):
            slot["action"][t], slot["logp"][t] = policy.act(slot["actor"][t], STD, rng)
    return PPO(policy, config, rng), slot


def cpu_seconds(work: Callable[[], object]) -> float:
    """Return the CPU time of one call."""
    start = time.process_time()
    work()
    return time.process_time() - start


def updates() -> dict[str, float]:
    """Return microseconds per sample of a whole update, by variant."""
    made = {name: prepared(changes) for name, changes in VARIANTS.items()}
    best = dict.fromkeys(made, float("inf"))
    for _ in range(ROUNDS):
        for name, (ppo, slot) in made.items():
            seconds = cpu_seconds(lambda ppo=ppo, slot=slot: ppo.update(slot, STD))
            best[name] = min(best[name], seconds / slot.samples * 1e6)
    return best


def sums(group: Group, length: int = 136_000, calls: int = 50) -> dict[str, float]:
    """Return CPU microseconds per process and sum, through gloo and through shared memory."""
    vector = torch.randn(length)
    best = {"gloo": float("inf"), "shared memory": float("inf")}
    for _ in range(ROUNDS):
        for name, via in (("gloo", Distributed()), ("shared memory", group)):
            seconds = cpu_seconds(lambda via=via: [via.sum_(vector).mul_(0.5) for _ in range(calls)])
            best[name] = min(best[name], seconds / calls * 1e6)
    return best


def follow(group: Group) -> None:
    """Take part in the sums."""
    sums(group)


def main() -> None:
    """Measure, print a table, and save it as JSON when a path is given."""
    torch.set_num_threads(1)
    result = {"update_us_per_sample": updates()}
    base = result["update_us_per_sample"]["autograd, ELU, minibatch 2048, 5 epochs"]
    print("| update | us per sample | ratio |\n|---|---|---|")
    for name, value in result["update_us_per_sample"].items():
        print(f"| {name} | {value:.1f} | {value / base:.2f} |")
    if len(available_cores()) > 1:
        with data_parallel(2, follow) as group:
            result["sum_us"] = sums(group)
        print("\n| sum of 136,000 floats over 2 processes | CPU us per process |\n|---|---|")
        for name, value in result["sum_us"].items():
            print(f"| {name} | {value:.0f} |")
    if len(sys.argv) > 1:
        Path(sys.argv[1]).write_text(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
