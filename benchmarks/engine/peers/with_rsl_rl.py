"""rsl_rl's OnPolicyRunner."""

from __future__ import annotations

import tempfile

import torch
from rsl_rl.env import VecEnv
from rsl_rl.runners import OnPolicyRunner
from tensordict import TensorDict

from peers.recipe import CountedEnv, Recipe
from peers.tally import Tally


class Adapted(VecEnv):
    """The environment as rsl_rl wants it."""

    def __init__(self, env: CountedEnv) -> None:
        self.env, self.num_envs, self.num_actions = env, env.num_envs, env.action_dim
        self.max_episode_length, self.device, self.cfg = env.last_step, "cpu", {}
        self.episode_length_buf = torch.zeros(env.num_envs, dtype=torch.long)
        self._obs = self._packed(env.reset())

    def _packed(self, obs: dict[str, torch.Tensor]) -> TensorDict:
        return TensorDict(dict(obs), batch_size=[self.num_envs])

    def get_observations(self) -> TensorDict:
        return self._obs

    def step(self, actions: torch.Tensor) -> tuple[TensorDict, torch.Tensor, torch.Tensor, dict]:
        result = self.env.step(actions)
        self._obs = self._packed(result.obs)
        done = result.terminated | result.truncated
        self.episode_length_buf += 1
        self.episode_length_buf[done] = 0
        return self._obs, result.reward, done, {"time_outs": result.truncated}


def settings(recipe: Recipe) -> dict:
    """The runner's configuration: rsl_rl's own defaults where the recipe says nothing."""
    network = {
        "class_name": "MLPModel",
        "hidden_dims": list(recipe.hidden),
        "activation": "elu",
        "obs_normalization": True,
    }
    gaussian = {"class_name": "GaussianDistribution", "init_std": recipe.std, "std_type": "log"}
    return {
        "num_steps_per_env": recipe.horizon,
        "save_interval": 10**9,
        "obs_groups": {"actor": ["actor"], "critic": ["critic"]},
        "check_for_nan": False,
        "actor": network | {"distribution_cfg": gaussian},
        "critic": dict(network),
        "algorithm": {
            "class_name": "PPO",
            "num_learning_epochs": recipe.epochs,
            "num_mini_batches": recipe.minibatches,
            "clip_param": recipe.clip,
            "gamma": recipe.gamma,
            "lam": recipe.lam,
            "value_loss_coef": 1.0,
            "entropy_coef": 0.0,
            "learning_rate": recipe.lr,
            "max_grad_norm": 1.0,
            "use_clipped_value_loss": False,
            "schedule": "adaptive",
            "desired_kl": 0.02,
        },
    }


def main() -> None:
    recipe, tally = Recipe.of_command(), Tally.of_environment()
    tally.count_optimizers()
    env = Adapted(CountedEnv(recipe, recipe.num_envs, recipe.seed, tally))
    with tempfile.TemporaryDirectory() as folder:
        runner = OnPolicyRunner(env, settings(recipe), folder, "cpu")
        tally.count_rows(runner.alg.actor.mlp)
        tally.time_method(runner.alg, "compute_returns", "update")
        tally.time_method(runner.alg, "update", "update")
        tally.mark_after(runner.logger, "log")
        runner.learn(recipe.iterations)


if __name__ == "__main__":
    main()
