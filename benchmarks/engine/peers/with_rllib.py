"""RLlib's PPO, new API stack: environment runners (Ray actors, or none) and a learner in this process.

Observations are not normalised here, in RLlib's favour: its filter works episode by episode in Python.
"""

from __future__ import annotations

import math
import os

os.environ |= {"RAY_AUTH_MODE": "disabled", "RAY_USAGE_STATS_ENABLED": "0", "RAY_DISABLE_IMPORT_WARNING": "1"}

import gymnasium
import numpy as np
import ray
import torch
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.core.columns import Columns
from ray.rllib.core.rl_module.apis.value_function_api import ValueFunctionAPI
from ray.rllib.core.rl_module.rl_module import RLModuleSpec
from ray.rllib.core.rl_module.torch import TorchRLModule
from ray.tune.registry import register_env
from torch import nn

from lagoon.engine.policy import mlp
from peers.recipe import CountedEnv, Recipe
from peers.tally import Tally


class Adapted(gymnasium.vector.VectorEnv):
    """The critic's observation, whose first columns are the actor's.

    RLlib wants the last observation of an episode when it ends and the first of the next one a step later. Ours begin
    at once, so the first step of every episode is taken with the action that RLlib meant for nothing.
    """

    metadata = {"autoreset_mode": gymnasium.vector.AutoresetMode.NEXT_STEP}  # noqa: RUF012

    def __init__(self, recipe: Recipe, num_envs: int, seed: int) -> None:
        torch.set_num_threads(recipe.torch_threads)
        self.env = CountedEnv(recipe, num_envs, seed, Tally.of_environment())
        self.num_envs = num_envs
        box, batched = gymnasium.spaces.Box, gymnasium.vector.utils.batch_space
        self.single_observation_space = box(-np.inf, np.inf, (self.env.obs_dims["critic"],), np.float32)
        self.single_action_space = box(-np.inf, np.inf, (self.env.action_dim,), np.float32)
        self.observation_space = batched(self.single_observation_space, num_envs)
        self.action_space = batched(self.single_action_space, num_envs)
        self._begins = np.zeros(num_envs, bool)

    def reset(self, *, seed=None, options=None):
        self._begins[:] = False
        return self.env.reset()["critic"].numpy(), {}

    def step(self, actions):
        result = self.env.step(torch.as_tensor(np.asarray(actions, np.float32)))
        obs, reward = result.obs["critic"].numpy(), result.reward.numpy()
        terminated = result.terminated.numpy() & ~self._begins
        truncated = result.truncated.numpy() & ~self._begins
        reward = np.where(self._begins, np.float32(0.0), reward)
        ended = result.done_ids.numpy()
        shown = ~self._begins[ended]
        obs[ended[shown]] = result.final_obs["critic"].numpy()[shown]
        self._begins = terminated | truncated
        return obs, reward, terminated, truncated, {}

    def close_extras(self, **kwargs):
        self.env.close()


class TwoNetworks(TorchRLModule, ValueFunctionAPI):
    def setup(self) -> None:
        settings = self.model_config
        self._actor_width = settings["actor_width"]
        actions = self.action_space.shape[0]
        self.actor = mlp((self._actor_width, *settings["hidden"], actions), "elu")
        self.critic = mlp((self.observation_space.shape[0], *settings["hidden"], 1), "elu")
        self.log_std = nn.Parameter(torch.full((actions,), math.log(settings["std"])))

    def _forward(self, batch, **kwargs):
        mean = self.actor(batch[Columns.OBS][..., : self._actor_width])
        return {Columns.ACTION_DIST_INPUTS: torch.cat([mean, self.log_std.expand_as(mean)], -1)}

    def compute_values(self, batch, embeddings=None):
        return self.critic(batch[Columns.OBS]).squeeze(-1)


def main() -> None:
    recipe, tally = Recipe.of_command(), Tally.of_environment()
    tally.count_optimizers()
    register_env("go2", lambda context: Adapted(recipe, context["num_envs"], recipe.seed + os.getpid()))
    probe = CountedEnv(recipe, 1, 0, tally)
    widths = probe.obs_dims
    probe.close()
    ray.init(num_cpus=max(os.cpu_count() or 1, recipe.processes + 1), include_dashboard=False, log_to_driver=False)
    config = (
        PPOConfig()
        .environment("go2", normalize_actions=False, clip_actions=False)
        .env_runners(
            num_env_runners=recipe.processes,
            num_envs_per_env_runner=recipe.num_envs // max(recipe.processes, 1),
            rollout_fragment_length=recipe.horizon,
            gym_env_vectorize_mode="vector_entry_point",
        )
        .learners(num_learners=0)
        .training(
            train_batch_size_per_learner=recipe.batch,
            minibatch_size=recipe.minibatch,
            num_epochs=recipe.epochs,
            gamma=recipe.gamma,
            lambda_=recipe.lam,
            clip_param=recipe.clip,
            lr=recipe.lr,
            grad_clip=1.0,
            vf_loss_coeff=1.0,
            vf_clip_param=math.inf,
            entropy_coeff=0.0,
            use_kl_loss=False,
        )
        .rl_module(
            rl_module_spec=RLModuleSpec(
                module_class=TwoNetworks,
                model_config={"actor_width": widths["actor"], "hidden": recipe.hidden, "std": recipe.std},
            )
        )
        .debugging(seed=recipe.seed)
    )
    algorithm = config.build_algo()
    torch.set_num_threads(recipe.torch_threads)
    learner = algorithm.learner_group._learner
    tally.count_rows(learner.module["default_policy"].unwrapped().actor)
    tally.time_method(algorithm.learner_group, "update", "update")
    for _ in range(recipe.iterations):
        algorithm.train()
        tally.mark()
    algorithm.stop()
    ray.shutdown()


if __name__ == "__main__":
    main()
