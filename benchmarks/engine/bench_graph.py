"""What the worker graph costs and what it brings: overhead, ring, prefetch, and how long a dead actor is missed.

- overhead: colocated through the engine against a loop by hand around the same networks and update, Go2 crouching.
- ring: one actor with 1 and 4 environments whose step takes 5 ms, answers come after 5 ms (both slept, not computed).
- prefetch: share of the trainer's time that it waits for a batch, where actors are faster than it.
- kill: longest time between two updates after ``kill -9`` of the only actor; most of it is starting Python with torch.

Usage: python benchmarks/engine/bench_graph.py [--rounds 5] [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import signal
import tempfile
import time
from pathlib import Path

import numpy as np
import torch
from tasks import Sleeper, make_cheap, make_go2

from lagoon.engine.config import GraphConfig, PPOConfig
from lagoon.engine.group import Solo
from lagoon.engine.metrics import Stopwatch
from lagoon.engine.policy import GaussianActorCritic
from lagoon.engine.ppo import PPO, update_normalizers
from lagoon.engine.run import run
from lagoon.engine.session import Session
from lagoon.engine.streams.base import Actions
from lagoon.engine.streams.inline import InlineSampleStream
from lagoon.engine.trajectory import Trajectory, ppo_schema
from lagoon.engine.workers.actor import ActorSpec, ActorWorker

GO2 = PPOConfig(num_envs=128, horizon=24, workers=1, total_steps=10**9)


class ByHand:
    """PPO as one would write it into a single file."""

    def __init__(self) -> None:
        self.env = make_go2(0, GO2.num_envs, 0)
        self.policy = GaussianActorCritic.from_config(self.env.obs_dims, self.env.action_dim, GO2, 0)
        self.ppo = PPO(self.policy, GO2, torch.Generator().manual_seed(0))
        self.noise = torch.Generator().manual_seed(1)
        self.slot = Trajectory(ppo_schema(GO2.horizon, GO2.num_envs, self.env.obs_dims, self.env.action_dim))
        self.obs = self.env.reset()
        update_normalizers(self.policy, self.obs, Solo())

    def iterate(self) -> None:
        slot, std = self.slot, GO2.std_start
        for t in range(GO2.horizon):
            with torch.no_grad():
                action, logp = self.policy.act(self.obs["actor"], std, self.noise)
            slot["actor"][t], slot["critic"][t] = self.obs["actor"], self.obs["critic"]
            slot["action"][t], slot["logp"][t] = action, logp
            result = self.env.step(action)
            slot["reward"][t], slot["terminated"][t] = result.reward, result.terminated
            slot["truncated"][t] = result.truncated
            slot["final_critic"][t][result.done_ids] = result.final_obs["critic"]
            self.obs = result.obs
        slot["last_critic"].copy_(self.obs["critic"])
        self.ppo.update(slot, std)


def overhead(rounds: int) -> list[float]:
    """Return CPU time by hand / CPU time through the engine, by round; 1 is no overhead."""
    hand, engine = ByHand(), Session(make_go2, GO2, 0, Solo(), None)
    ratios = []
    for _ in range(rounds):
        seconds = []
        for iterate in (hand.iterate, lambda: engine.iterate(0.0)):
            iterate()
            start = time.process_time()
            for _ in range(4):
                iterate()
            seconds.append(time.process_time() - start)
        ratios.append(seconds[0] / seconds[1])
    return ratios


class Late:
    """Answers a question some time after it was asked, as a busy policy worker does."""

    def __init__(self, seconds: float) -> None:
        self._seconds, self._asked = seconds, {}

    def request(self, key, obs):
        self._asked[key] = time.monotonic()

    def response(self, key):
        if key not in self._asked or time.monotonic() - self._asked[key] < self._seconds:
            return None
        del self._asked[key]
        return Actions(torch.zeros(8, 1), torch.zeros(8), 0)


def ring(rounds: int, seconds: float = 0.005) -> list[float]:
    """Return environment steps per second with a ring of 4 over those with a ring of 1, by round."""
    ratios = []
    for _ in range(rounds):
        rates = []
        for size in (1, 4):
            environments = [Sleeper(8, seconds) for _ in range(size)]
            samples = InlineSampleStream(ppo_schema(16, 8, environments[0].obs_dims, 1), size)
            actor = ActorWorker()
            actor.configure(ActorSpec(environments, Late(seconds), samples, Stopwatch()))
            actor.start()
            steps, start = 0, time.monotonic()
            while time.monotonic() - start < 1.5:
                if actor.poll().samples:
                    steps += 1
                else:
                    time.sleep(1e-4)
                if (slot := samples.take()) is not None:
                    samples.release(slot)
            rates.append(steps / (time.monotonic() - start))
        ratios.append(rates[1] / rates[0])
    return ratios


class Kill:
    """Kills the only actor once, and measures the longest time between two updates after that."""

    def __init__(self) -> None:
        self.at, self.seconds, self.waits = 0.0, 0.0, []

    def on_iteration(self, info, policy):
        if info.iteration > 20:
            self.waits.append(info.metrics["speed/trainer_waits"])
        if self.at:
            self.seconds, self.at = max(self.seconds, time.monotonic() - self.at), time.monotonic()
        if info.iteration == 120:
            child = next(c for c in multiprocessing.active_children() if c.name == "lagoon-actor-0")
            os.kill(child.pid, signal.SIGKILL)
            self.at = time.monotonic()
        return False


def prefetch_and_kill() -> tuple[list[float], float]:
    """Return the shares of time that the trainer waited before the kill, and the longest pause after it."""
    config = PPOConfig(
        num_envs=128,
        horizon=16,
        total_steps=128 * 16 * 150,
        tensorboard=False,
        topology="async",
        graph=GraphConfig(actors=1, max_staleness=2),
    )
    hook = Kill()
    with tempfile.TemporaryDirectory() as folder:
        run(make_cheap, config, Path(folder), 0, hook)
    return hook.waits[:99], hook.seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    torch.set_num_threads(1)
    found: dict[str, object] = {"overhead": overhead(args.rounds), "ring": ring(args.rounds)}
    waits, seconds = prefetch_and_kill()
    found |= {"prefetch_waits": waits, "kill_seconds": seconds}
    for name in ("overhead", "ring"):
        print(f"{name}: {', '.join(f'{ratio:.2f}' for ratio in found[name])}; median {np.median(found[name]):.2f}")
    print(f"prefetch: trainer waits {np.mean(waits):.1%} of its time, median iteration {np.median(waits):.1%}")
    print(f"kill: {seconds:.1f} s without an update")
    if args.json:
        args.json.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
