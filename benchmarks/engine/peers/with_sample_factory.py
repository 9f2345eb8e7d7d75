"""Sample Factory's asynchronous PPO: processes that step, one that answers, one that learns, over shared memory.

Each stepping process has two environments and steps one while the other waits for its actions (double buffering).
"""

from __future__ import annotations

import os
import sys
import tempfile

import gymnasium
import numpy as np
import torch
from sample_factory.algo.learning.learner import Learner
from sample_factory.algo.utils.context import global_model_factory
from sample_factory.cfg.arguments import parse_full_cfg, parse_sf_args
from sample_factory.envs.env_utils import register_env
from sample_factory.model.actor_critic import ActorCriticSeparateWeights
from sample_factory.model.encoder import MlpEncoder
from sample_factory.train import run_rl

from peers.recipe import CountedEnv, Recipe
from peers.tally import Tally

SPLITS = 2
_RECIPE = "LAGOON_BENCH_RECIPE"
"""Every process of Sample Factory is spawned and reads the recipe there."""


class Adapted(gymnasium.Env):
    """The critic's observation, whose first columns are the actor's."""

    def __init__(self, recipe: Recipe, seed: int) -> None:
        self.env = CountedEnv(recipe, recipe.num_envs // (recipe.processes * SPLITS), seed, Tally.of_environment())
        self.num_agents, self.is_multiagent = self.env.num_envs, True
        width = self.env.obs_dims["critic"]
        self.observation_space = gymnasium.spaces.Dict(
            obs=gymnasium.spaces.Box(-np.inf, np.inf, (width,), dtype=np.float32)
        )
        self.action_space = gymnasium.spaces.Box(-100.0, 100.0, (self.env.action_dim,), dtype=np.float32)
        self.actor_width = self.env.obs_dims["actor"]

    def reset(self, **kwargs):
        return {"obs": self.env.reset()["critic"]}, {}

    def step(self, actions):
        result = self.env.step(torch.as_tensor(actions))
        return {"obs": result.obs["critic"]}, result.reward, result.terminated, result.truncated, {}

    def render(self): ...

    def close(self):
        self.env.close()


def make_env(name, cfg, env_config, render_mode=None):
    recipe = Recipe.from_json(os.environ[_RECIPE])
    seed = recipe.seed * 1009 + (env_config.env_id if env_config is not None else 0)
    return Adapted(recipe, seed)


class Columns(MlpEncoder):
    """The first columns of the observation."""

    def __init__(self, cfg, width: int) -> None:
        super().__init__(cfg, gymnasium.spaces.Box(-np.inf, np.inf, (width,), dtype=np.float32))
        self._width = width

    def forward(self, obs):
        return super().forward(obs["obs"][:, : self._width])


class TwoNetworks(ActorCriticSeparateWeights):
    def __init__(self, cfg, obs_space, action_space) -> None:
        super().__init__(global_model_factory(), obs_space, action_space, cfg)
        self.actor_encoder = Columns(cfg, int(os.environ["LAGOON_BENCH_ACTOR_WIDTH"]))
        self.critic_encoder = Columns(cfg, obs_space["obs"].shape[0])
        self.encoders = [self.actor_encoder, self.critic_encoder]
        _count_learning(self.actor_encoder)


def _count_learning(encoder: torch.nn.Module) -> None:
    """Called in every process that has the networks; only the learner's ever computes gradients."""
    tally = Tally.of_environment()
    tally.count_rows(encoder, lambda obs: obs["obs"])
    if not hasattr(Learner.train, "__wrapped__"):
        tally.count_optimizers()
        tally.time_method(Learner, "train", "update")
        tally.mark_after(Learner, "train")


def main() -> None:
    recipe = Recipe.of_command()
    os.environ[_RECIPE] = recipe.to_json()
    probe = CountedEnv(recipe, 1, 0, Tally.of_environment())
    os.environ["LAGOON_BENCH_ACTOR_WIDTH"] = str(probe.obs_dims["actor"])
    probe.close()
    register_env("go2", make_env)
    global_model_factory().register_actor_critic_factory(TwoNetworks)
    with tempfile.TemporaryDirectory() as folder:
        settings = {
            "algo": "APPO",
            "env": "go2",
            "experiment": "bench",
            "train_dir": folder,
            "seed": recipe.seed,
            "device": "cpu",
            "serial_mode": False,
            "async_rl": True,
            "batched_sampling": True,
            "num_workers": recipe.processes,
            "num_envs_per_worker": SPLITS,
            "worker_num_splits": SPLITS,
            "rollout": recipe.horizon,
            "batch_size": recipe.minibatch,
            "num_batches_per_epoch": recipe.minibatches,
            "num_epochs": recipe.epochs,
            "train_for_env_steps": recipe.batch * recipe.iterations,
            "gamma": recipe.gamma,
            "gae_lambda": recipe.lam,
            "ppo_clip_ratio": recipe.clip,
            "ppo_clip_value": 1e6,
            "learning_rate": recipe.lr,
            "max_grad_norm": 1.0,
            "value_loss_coeff": 1.0,
            "exploration_loss_coeff": 0.0,
            "reward_clip": 1000.0,
            "value_bootstrap": True,
            "with_vtrace": False,
            "normalize_input": True,
            "normalize_returns": False,
            "use_rnn": False,
            "actor_critic_share_weights": False,
            "adaptive_stddev": False,
            "initial_stddev": recipe.std,
            "policy_initialization": "torch_default",
            "nonlinearity": "elu",
            "with_wandb": False,
        }
        arguments = [f"--{name}={value}" for name, value in settings.items()]
        arguments += ["--encoder_mlp_layers", *map(str, recipe.hidden)]
        parser, _ = parse_sf_args(arguments)
        run_rl(parse_full_cfg(parser, arguments))


if __name__ == "__main__":
    sys.exit(main())
