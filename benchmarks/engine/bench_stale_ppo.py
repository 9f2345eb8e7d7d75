"""What PPO loses by learning from samples of older policies, and what correcting for it gives back.

Every update learns from a rollout that parameters of exactly ETA updates before acted on, as ``lockstep`` does with
``max_staleness``, but in one process. Task: pendulum swing-up, 128 environments. Arms: no staleness; plain PPO
("naive"); decoupled PPO with a forward pass, with the line between versions, with V-trace, without the KL budget.

Usage: python benchmarks/engine/bench_stale_ppo.py [--seeds 5] [--eta 8] [--updates 150] [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import time
from collections import deque
from pathlib import Path

import numpy as np
import torch

from lagoon.engine.config import GraphConfig, PPOConfig
from lagoon.engine.decoupled_ppo import DecoupledPPO
from lagoon.engine.policy import GaussianActorCritic
from lagoon.engine.ppo import PPO, update_normalizers
from lagoon.engine.schedule import noise_std
from lagoon.engine.trajectory import Trajectory, ppo_schema

ENVS, HORIZON, EPISODE = 128, 32, 200
ARMS = {
    "no staleness": None,
    "naive": {"objective": "coupled"},
    "decoupled, recompute": {},
    "decoupled, loglinear": {"prox": "loglinear"},
    "decoupled, V-trace": {"advantages": "vtrace"},
    "decoupled, no KL budget": {"max_kl": 0.0},
}


class Pendulum:
    """Swing-up: the angle is measured from the upright, torque is limited to a third of what holds it sideways."""

    def __init__(self, seed: int) -> None:
        self.generator = torch.Generator().manual_seed(seed)
        self.angle, self.speed = self._fresh(ENVS)
        self.age = torch.randint(0, EPISODE, (ENVS,), generator=self.generator)

    def _fresh(self, n: int) -> tuple[torch.Tensor, torch.Tensor]:
        angle = (torch.rand(n, generator=self.generator) * 2 - 1) * torch.pi
        return angle, torch.rand(n, generator=self.generator) * 2 - 1

    def obs(self) -> torch.Tensor:
        return torch.stack([self.angle.cos(), self.angle.sin(), self.speed], 1)

    def step(self, action: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        torque = 2 * action[:, 0].clamp(-1, 1)
        wrapped = (self.angle + torch.pi) % (2 * torch.pi) - torch.pi
        reward = -(wrapped.square() + 0.1 * self.speed.square() + 0.001 * torque.square())
        self.speed = (self.speed + 0.05 * (15 * self.angle.sin() + 3 * torque)).clamp(-8, 8)
        self.angle = self.angle + 0.05 * self.speed
        self.age += 1
        final, ended = self.obs(), self.age >= EPISODE
        if ended.any():
            self.angle[ended], self.speed[ended] = self._fresh(int(ended.sum()))
            self.age[ended] = 0
        return reward, ended, final


def train(arm: dict[str, object] | None, eta: int, updates: int, seed: int, lr: float) -> list[float]:
    """Return the mean reward per step of every rollout."""
    graph = GraphConfig(max_staleness=eta, **(arm or {}))
    config = PPOConfig(
        num_envs=ENVS,
        horizon=HORIZON,
        hidden=(64, 64),
        activation="tanh",
        gamma=0.97,
        epochs=4,
        minibatches=4,
        lr=lr,
        target_kl=0.0,
        std_start=0.6,
        std_end=0.15,
        graph=graph,
    )
    env = Pendulum(seed)
    policy, behaviour = (GaussianActorCritic.from_config({"actor": 3, "critic": 3}, 1, config, seed) for _ in range(2))
    kind = PPO if arm is None or graph.objective == "coupled" else DecoupledPPO
    algorithm = kind(policy, config, torch.Generator().manual_seed(seed))
    noise = torch.Generator().manual_seed(seed + 1)
    update_normalizers(policy, {"actor": env.obs(), "critic": env.obs()}, algorithm.group)
    history: deque[tuple[int, dict[str, torch.Tensor]]] = deque(maxlen=1 if arm is None else eta + 1)
    slot = Trajectory(ppo_schema(HORIZON, ENVS, {"actor": 3, "critic": 3}, 1))
    rewards = []
    for version in range(updates):
        policy.std.fill_(noise_std(version / updates, config))
        history.append((version, {name: tensor.clone() for name, tensor in policy.state_dict().items()}))
        acting, state = history[0]
        behaviour.load_state_dict(state)
        for t in range(HORIZON):
            obs = env.obs()
            with torch.no_grad():
                action, logp = behaviour.act(obs, float(behaviour.std), noise)
            reward, ended, final = env.step(action)
            for name, value in (("actor", obs), ("critic", obs), ("action", action), ("logp", logp)):
                slot[name][t].copy_(value)
            slot["version"][t].fill_(acting)
            slot["reward"][t].copy_(reward)
            slot["truncated"][t].copy_(ended)
            slot["final_critic"][t].copy_(final)
        slot["last_critic"].copy_(env.obs())
        rewards.append(float(slot["reward"].mean()))
        algorithm.update(slot, float(policy.std), version)
    return rewards


def interval(values: np.ndarray) -> tuple[float, float]:
    """Return the 95 % bootstrap interval of the mean."""
    rng = np.random.default_rng(0)
    means = rng.choice(values, (10_000, len(values))).mean(1)
    return float(np.quantile(means, 0.025)), float(np.quantile(means, 0.975))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--eta", type=int, default=8)
    parser.add_argument("--updates", type=int, default=150)
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    torch.set_num_threads(1)
    found: dict[str, list[float]] = {name: [] for name in ARMS}
    start = time.monotonic()
    for seed in range(args.seeds):  # Arms within seeds, so that an interrupted run still compares like with like.
        for name, arm in ARMS.items():
            found[name].append(float(np.mean(train(arm, args.eta, args.updates, seed, args.lr)[-20:])))
            print(f"{time.monotonic() - start:6.0f} s  seed {seed}  {name:26s} {found[name][-1]:.3f}", flush=True)
    best, naive = np.array(found["no staleness"]), np.array(found["naive"])
    rows = {}
    print("\n| arm | mean reward of the last 20 rollouts, by seed | mean | share of the gap closed [95 %] |")
    print("|---|---|---|---|")
    for name, values in found.items():
        own = np.array(values)
        closed = (own - naive).mean() / (best - naive).mean()
        low, high = (edge / float((best - naive).mean()) for edge in interval(own - naive))
        rows[name] = {"rewards": values, "closed": float(closed), "interval": [low, high]}
        each = ", ".join(f"{value:.2f}" for value in values)
        print(f"| {name} | {each} | {own.mean():.2f} | {closed:.0%} [{low:.0%}, {high:.0%}] |")
    if args.json:
        settings = {name: value for name, value in vars(args).items() if name != "json"}
        args.json.write_text(json.dumps({"settings": settings, "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
