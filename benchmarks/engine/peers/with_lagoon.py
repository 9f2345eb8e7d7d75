"""lagoon itself, through ``run`` as ``lagoon train`` calls it: checkpoints, metrics and all."""

from __future__ import annotations

import sys
import tempfile
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from lagoon.engine.config import GraphConfig, PPOConfig
from lagoon.engine.fused import FusedBackward
from lagoon.engine.ppo import PPO
from lagoon.engine.run import run
from peers.recipe import CountedEnv, Recipe
from peers.tally import Tally


def make_env(recipe: Recipe, rank: int, num_envs: int, seed: int) -> CountedEnv:
    """Also lets the process count; called once in every process that acts."""
    tally = Tally.of_environment()
    if not hasattr(PPO.update, "__wrapped__"):
        count_learning(tally)
    return CountedEnv(recipe, num_envs, seed + rank, tally)


def count_learning(tally: Tally) -> None:
    tally.count_optimizers()
    tally.time_method(PPO, "update", "update")
    original = FusedBackward.gradients

    def gradients(self, minibatch, std):
        tally.add(rows=len(minibatch["logp"]))
        return original(self, minibatch, std)

    FusedBackward.gradients = gradients


@dataclass
class Marks:
    tally: Tally
    left: int

    def on_iteration(self, info, policy) -> bool:
        self.tally.mark()
        self.left -= 1
        return self.left == 0


def main() -> None:
    recipe = Recipe.of_command()
    topology = sys.argv[2] if len(sys.argv) > 2 else "colocated"
    config = PPOConfig(
        num_envs=recipe.num_envs,
        horizon=recipe.horizon,
        epochs=recipe.epochs,
        minibatches=recipe.minibatches,
        hidden=recipe.hidden,
        amx=recipe.amx,
        gamma=recipe.gamma,
        lam=recipe.lam,
        clip=recipe.clip,
        lr=recipe.lr,
        std_start=recipe.std,
        total_steps=10**9,
        workers=recipe.processes if topology == "colocated" else 0,
        topology=topology,
        graph=GraphConfig(actors=0 if topology == "colocated" else recipe.processes),
    )
    with tempfile.TemporaryDirectory() as folder:
        marks = Marks(Tally.of_environment(), recipe.iterations)
        run(partial(make_env, recipe), config, Path(folder), recipe.seed, marks)


if __name__ == "__main__":
    main()
