"""skrl's PPO with its sequential trainer."""

from __future__ import annotations

import math
import tempfile

import gymnasium
import numpy as np
import torch
from skrl.agents.torch.ppo import PPO, PPO_CFG
from skrl.envs.wrappers.torch import Wrapper
from skrl.memories.torch import RandomMemory
from skrl.models.torch import DeterministicMixin, GaussianMixin, Model
from skrl.resources.preprocessors.torch import RunningStandardScaler
from skrl.trainers.torch import SequentialTrainer
from torch import nn

from lagoon.engine.policy import mlp
from peers.recipe import CountedEnv, Recipe
from peers.tally import Tally


def _box(width: int) -> gymnasium.spaces.Box:
    return gymnasium.spaces.Box(-np.inf, np.inf, (width,), np.float32)


class Adapted(Wrapper):
    """The environment as skrl wants it; the critic's observation is skrl's state."""

    def __init__(self, env: CountedEnv) -> None:
        super().__init__(env)
        self.env = env
        self._spaces = [_box(width) for width in (env.obs_dims["actor"], env.obs_dims["critic"], env.action_dim)]
        self._state = torch.empty(0)
        self._device = torch.device("cpu")

    observation_space = property(lambda self: self._spaces[0])
    state_space = property(lambda self: self._spaces[1])
    action_space = property(lambda self: self._spaces[2])

    def reset(self):
        obs = self.env.reset()
        self._state = obs["critic"]
        return obs["actor"], {}

    def step(self, actions):
        result = self.env.step(actions)
        self._state = result.obs["critic"]
        ends = (result.terminated[:, None], result.truncated[:, None])
        return result.obs["actor"], result.reward[:, None], *ends, {}

    def state(self):
        return self._state

    def render(self):
        raise NotImplementedError

    def close(self):
        self.env.close()


class Actor(GaussianMixin, Model):
    def __init__(self, env: Adapted, recipe: Recipe) -> None:
        Model.__init__(
            self,
            observation_space=env.observation_space,
            state_space=env.state_space,
            action_space=env.action_space,
            device="cpu",
        )
        GaussianMixin.__init__(self)
        self.net = mlp((env.env.obs_dims["actor"], *recipe.hidden, env.env.action_dim), "elu")
        self.log_std = nn.Parameter(torch.full((env.env.action_dim,), math.log(recipe.std)))

    def compute(self, inputs, role=""):
        return self.net(inputs["observations"]), {"log_std": self.log_std}


class Critic(DeterministicMixin, Model):
    def __init__(self, env: Adapted, recipe: Recipe) -> None:
        Model.__init__(
            self,
            observation_space=env.observation_space,
            state_space=env.state_space,
            action_space=env.action_space,
            device="cpu",
        )
        DeterministicMixin.__init__(self)
        self.net = mlp((env.env.obs_dims["critic"], *recipe.hidden, 1), "elu")

    def compute(self, inputs, role=""):
        return self.net(inputs["states"]), {}


def main() -> None:
    recipe, tally = Recipe.of_command(), Tally.of_environment()
    tally.count_optimizers()
    env = Adapted(CountedEnv(recipe, recipe.num_envs, recipe.seed, tally))
    actor, critic = Actor(env, recipe), Critic(env, recipe)
    with tempfile.TemporaryDirectory() as folder:
        config = PPO_CFG(
            rollouts=recipe.horizon,
            learning_epochs=recipe.epochs,
            mini_batches=recipe.minibatches,
            discount_factor=recipe.gamma,
            gae_lambda=recipe.lam,
            learning_rate=recipe.lr,
            observation_preprocessor=RunningStandardScaler,
            observation_preprocessor_kwargs={"size": env.observation_space, "device": "cpu"},
            state_preprocessor=RunningStandardScaler,
            state_preprocessor_kwargs={"size": env.state_space, "device": "cpu"},
            grad_norm_clip=1.0,
            ratio_clip=recipe.clip,
            value_clip=0.0,
            value_loss_scale=1.0,
            time_limit_bootstrap=True,
        )
        config.experiment.directory = folder
        agent = PPO(
            models={"policy": actor, "value": critic},
            memory=RandomMemory(memory_size=recipe.horizon, num_envs=recipe.num_envs, device="cpu"),
            observation_space=env.observation_space,
            state_space=env.state_space,
            action_space=env.action_space,
            device="cpu",
            cfg=config,
        )
        tally.count_rows(actor.net)
        tally.time_method(agent, "update", "update")
        tally.mark_after(agent, "update")
        trainer = SequentialTrainer(
            env=env,
            agents=agent,
            cfg={"timesteps": recipe.horizon * recipe.iterations, "headless": True, "close_environment_at_exit": False},
        )
        trainer.train()


if __name__ == "__main__":
    main()
