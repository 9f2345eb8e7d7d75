"""What every library has to do alike, and the environment that it does it on.

What enters: the recipe as JSON, a motion. What leaves: counted environments, and their observations in one row.
"""

from __future__ import annotations

import json
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

import torch

from lagoon.engine.environment import StepResult
from lagoon.imitation.config import TrainConfig
from lagoon.imitation.env import TrackingEnv
from lagoon.motion.robot_motion import RobotMotion
from lagoon.robot import load_robot
from lagoon.sim.model import TRAINING
from lagoon.sim.mujoco_backend import MujocoBackend
from peers.tally import Tally


@dataclass(frozen=True)
class Recipe:
    """The same for all; the names are lagoon's."""

    motion: str
    """Path of a RobotMotion."""
    iterations: int = 12
    num_envs: int = 256
    horizon: int = 32
    epochs: int = 5
    minibatches: int = 4
    hidden: tuple[int, ...] = (256, 128)
    gamma: float = 0.98
    lam: float = 0.95
    clip: float = 0.2
    lr: float = 1e-3
    std: float = 0.35
    """Of the first actions."""
    seed: int = 0
    amx: bool = False
    """Let lagoon's update take bfloat16 where the processor multiplies it; False compares float32 with float32."""
    torch_threads: int = 1
    """Of each process that learns."""
    env_threads: int = 1
    """Threads of the physics, in each process that has an environment."""
    processes: int = 1
    """Processes that step environments, where the library can have several."""

    @property
    def batch(self) -> int:
        """Samples of an iteration."""
        return self.num_envs * self.horizon

    @property
    def minibatch(self) -> int:
        """Samples of a gradient step."""
        return self.batch // self.minibatches

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @staticmethod
    def from_json(text: str) -> Recipe:
        values = json.loads(text)
        return Recipe(**values | {"hidden": tuple(values["hidden"])})

    @staticmethod
    def of_command() -> Recipe:
        """Return the recipe that a process was started with, and set its threads."""
        recipe = Recipe.from_json(sys.argv[1])
        torch.set_num_threads(recipe.torch_threads)
        return recipe


class CountedEnv:
    """A TrackingEnv that counts its steps and its time."""

    def __init__(self, recipe: Recipe, num_envs: int, seed: int, tally: Tally) -> None:
        robot = load_robot("go2")
        backend = MujocoBackend(robot, num_envs, TRAINING, threads=recipe.env_threads)
        self._env = TrackingEnv(RobotMotion.load(Path(recipe.motion)), robot, TrainConfig(), num_envs, seed, backend)
        self._tally = tally
        tally.time_method(backend, "step", "physics")
        self.num_envs, self.action_dim, self.obs_dims = num_envs, self._env.action_dim, self._env.obs_dims
        self.last_step = self._env.last_step
        self.set_progress, self.close = self._env.set_progress, self._env.close
        self.state_dict, self.load_state_dict = self._env.state_dict, self._env.load_state_dict

    def reset(self) -> dict[str, torch.Tensor]:
        return self._env.reset()

    @torch.no_grad()
    def step(self, action: torch.Tensor) -> StepResult:
        with self._tally.timed("env"):
            result = self._env.step(action)
        self._tally.add(steps=self.num_envs, ended=len(result.done_ids))
        return result
