"""Stable-Baselines3's PPO with VecNormalize; the environment is a VecEnv of its own kind, without processes."""

from __future__ import annotations

import math
from typing import Any

import gymnasium
import numpy as np
import torch
from stable_baselines3 import PPO
from stable_baselines3.common.policies import ActorCriticPolicy
from stable_baselines3.common.vec_env import VecEnv, VecNormalize
from torch import nn

from lagoon.engine.policy import mlp
from peers.recipe import CountedEnv, Recipe
from peers.tally import Tally

_NOTHING: dict[str, Any] = {}


class Adapted(VecEnv):
    """The critic's observation, whose first columns are the actor's."""

    def __init__(self, env: CountedEnv) -> None:
        self.env = env
        unbounded = gymnasium.spaces.Box(-np.inf, np.inf, (env.obs_dims["critic"],), np.float32)
        actions = gymnasium.spaces.Box(-100.0, 100.0, (env.action_dim,), np.float32)
        super().__init__(env.num_envs, unbounded, actions)

    def reset(self) -> np.ndarray:
        return self.env.reset()["critic"].numpy()

    def step_async(self, actions: np.ndarray) -> None:
        self._actions = torch.from_numpy(actions)

    def step_wait(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[dict]]:
        result = self.env.step(self._actions)
        infos = [_NOTHING] * self.num_envs
        for row, i in enumerate(result.done_ids.tolist()):
            infos[i] = {
                "terminal_observation": result.final_obs["critic"][row].numpy(),
                "TimeLimit.truncated": bool(result.truncated[i]),
            }
        done = (result.terminated | result.truncated).numpy()
        return result.obs["critic"].numpy(), result.reward.numpy(), done, infos

    def close(self) -> None:
        self.env.close()

    def get_attr(self, attr_name, indices=None):
        return [getattr(self, attr_name, None)] * self.num_envs

    def set_attr(self, attr_name, value, indices=None):
        raise NotImplementedError

    def env_method(self, method_name, *method_args, indices=None, **method_kwargs):
        raise NotImplementedError

    def env_is_wrapped(self, wrapper_class, indices=None):
        return [False] * self.num_envs


class TwoNetworks(nn.Module):
    """The hidden layers: the actor sees the first columns alone."""

    def __init__(self, width: int, actor_width: int, hidden: tuple[int, ...]) -> None:
        super().__init__()
        self._actor_width = actor_width
        self.latent_dim_pi = self.latent_dim_vf = hidden[-1]
        self.actor, self.critic = (
            nn.Sequential(mlp((first, *hidden), "elu"), nn.ELU()) for first in (actor_width, width)
        )

    def forward(self, features: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return self.forward_actor(features), self.forward_critic(features)

    def forward_actor(self, features: torch.Tensor) -> torch.Tensor:
        return self.actor(features[:, : self._actor_width])

    def forward_critic(self, features: torch.Tensor) -> torch.Tensor:
        return self.critic(features)


class Policy(ActorCriticPolicy):
    def __init__(self, *args, actor_width: int, hidden: tuple[int, ...], **kwargs) -> None:
        self._actor_width, self._hidden = actor_width, hidden
        super().__init__(*args, **kwargs)

    def _build_mlp_extractor(self) -> None:
        self.mlp_extractor = TwoNetworks(self.features_dim, self._actor_width, self._hidden)


def main() -> None:
    recipe, tally = Recipe.of_command(), Tally.of_environment()
    tally.count_optimizers()
    env = CountedEnv(recipe, recipe.num_envs, recipe.seed, tally)
    model = PPO(
        Policy,
        VecNormalize(Adapted(env), norm_reward=False, gamma=recipe.gamma),
        learning_rate=recipe.lr,
        n_steps=recipe.horizon,
        batch_size=recipe.minibatch,
        n_epochs=recipe.epochs,
        gamma=recipe.gamma,
        gae_lambda=recipe.lam,
        clip_range=recipe.clip,
        vf_coef=1.0,
        max_grad_norm=1.0,
        seed=recipe.seed,
        device="cpu",
        policy_kwargs={
            "actor_width": env.obs_dims["actor"],
            "hidden": recipe.hidden,
            "log_std_init": math.log(recipe.std),
        },
    )
    torch.set_num_threads(recipe.torch_threads)
    tally.count_rows(model.policy.mlp_extractor.actor)
    tally.time_method(model, "train", "update")
    tally.mark_after(model, "train")
    model.learn(recipe.batch * recipe.iterations)


if __name__ == "__main__":
    main()
