"""rsl_rl learns the same skill for the same number of steps; its noise is learned, lagoon's follows a schedule.

It gets what lagoon has beside that: rewards scaled so that values stay near 1, and randomization that grows.
"""

from __future__ import annotations

import tempfile

import torch
from rsl_rl.runners import OnPolicyRunner

from peers.learning import Watcher
from peers.recipe import CountedEnv, Recipe
from peers.tally import Tally
from peers.with_rsl_rl import Adapted, settings


class Scaled(Adapted):
    """Rewards times 2 (1 - gamma), as ``PPOConfig.reward_scale`` says."""

    factor = 1.0

    def step(self, actions):
        obs, reward, done, extras = super().step(actions)
        return obs, reward * self.factor, done, extras


def main() -> None:
    recipe, tally = Recipe.of_command(), Tally.of_environment()
    torch.manual_seed(recipe.seed)
    env = Scaled(CountedEnv(recipe, recipe.num_envs, recipe.seed, tally))
    env.factor = 2.0 * (1.0 - recipe.gamma)
    with tempfile.TemporaryDirectory() as folder:
        runner = OnPolicyRunner(env, settings(recipe), folder, "cpu")
        torch.set_num_threads(recipe.torch_threads)
        watcher = Watcher(recipe, tally)
        log, actor = runner.logger.log, runner.alg.get_policy()

        def logged(**facts) -> None:
            log(**facts)
            fraction = (facts["it"] + 1) / recipe.iterations
            env.env.set_progress(fraction)
            watcher.iterated(actor.mlp, actor.obs_normalizer, fraction)

        runner.logger.log = logged
        runner.learn(recipe.iterations)


if __name__ == "__main__":
    main()
