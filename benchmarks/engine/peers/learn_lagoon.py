"""lagoon learns a skill with its own defaults, for a given number of steps."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from lagoon.engine.config import PPOConfig
from lagoon.engine.run import run
from peers.learning import Watcher
from peers.recipe import Recipe
from peers.tally import Tally
from peers.with_lagoon import make_env


@dataclass
class Checks:
    watcher: Watcher

    def on_iteration(self, info, policy) -> bool:
        self.watcher.iterated(policy.actor, policy.normalizer["actor"], info.fraction)
        return False


def main() -> None:
    recipe = Recipe.of_command()
    config = PPOConfig(
        num_envs=recipe.num_envs,
        horizon=recipe.horizon,
        epochs=recipe.epochs,
        minibatches=recipe.minibatches,
        hidden=recipe.hidden,
        workers=recipe.processes,
        total_steps=recipe.iterations * recipe.batch,
        tensorboard=False,
    )
    with tempfile.TemporaryDirectory() as folder:
        watcher = Watcher(recipe, Tally.of_environment())
        run(partial(make_env, recipe), config, Path(folder), recipe.seed, Checks(watcher))


if __name__ == "__main__":
    main()
