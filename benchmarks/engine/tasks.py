"""Environments for the benchmarks of the engine; importable by the processes that these start."""

from __future__ import annotations

import math
import time

import numpy as np
import torch

from lagoon.engine.environment import StepResult
from lagoon.imitation.config import TrainConfig
from lagoon.imitation.env import TrackingEnv
from lagoon.motion.robot_motion import RobotMotion
from lagoon.robot import load_robot


def make_go2(rank: int, num_envs: int, seed: int) -> TrackingEnv:
    """The Go2 bends its knees and comes up again."""
    robot, frames = load_robot("go2"), 80
    bend = 0.25 * np.sin(np.pi * np.arange(frames) / (frames - 1)) ** 2
    leg = robot.legs[0]
    joint_pos = robot.default_joint_pos + np.outer(bend, np.tile([0.0, 1.0, -2.0], 4))
    thigh, knee = joint_pos[:, 1], joint_pos[:, 1] + joint_pos[:, 2]
    height = leg.thigh_length * np.cos(thigh) - leg.foot_offset[2] * np.cos(knee) + leg.foot_offset[0] * np.sin(knee)
    motion = RobotMotion(
        fps=50.0,
        robot="go2",
        joint_names=robot.joint_names,
        root_pos_w=np.stack([0 * bend, 0 * bend, height + robot.foot_radius], axis=-1),
        root_quat_w=np.tile([1.0, 0.0, 0.0, 0.0], (frames, 1)),
        joint_pos=joint_pos,
        foot_contact=np.ones((frames, 4), dtype=bool),
        segment_names=("crouch",),
        segment_starts=(0,),
    )
    return TrackingEnv(motion, robot, TrainConfig(), num_envs, seed)


class Point:
    """A point that must go to the origin and stay; next to free to simulate."""

    def __init__(self, num_envs: int, seed: int = 0, size: int = 2) -> None:
        self.num_envs, self.action_dim, self.obs_dims = num_envs, 1, {"actor": size, "critic": size}
        self.generator = torch.Generator().manual_seed(seed)
        self.x, self.v = torch.zeros(num_envs), torch.zeros(num_envs)
        self.age = torch.zeros(num_envs, dtype=torch.int64)
        self._rest = torch.zeros(num_envs, size - 2)

    def _obs(self) -> dict[str, torch.Tensor]:
        both = torch.cat([self.x[:, None], self.v[:, None], self._rest], 1)
        return {"actor": both, "critic": both}

    def reset(self) -> dict[str, torch.Tensor]:
        self.x.uniform_(-1, 1, generator=self.generator)
        self.age = torch.randint(0, 40, (self.num_envs,), generator=self.generator)
        return self._obs()

    def step(self, action: torch.Tensor) -> StepResult:
        self.v = self.v + 0.4 * action[:, 0].clamp(-1, 1)
        self.x = self.x + 0.1 * self.v
        self.age += 1
        reward = torch.exp(-4 * self.x.square() - 0.5 * self.v.square())
        terminated = self.x.abs() > 2
        truncated = ~terminated & (self.age >= 40)
        done = torch.nonzero(terminated | truncated).flatten()
        final = {name: rows[done] for name, rows in self._obs().items()}
        self.x[done] = torch.rand(len(done), generator=self.generator) * 2 - 1
        self.v[done], self.age[done] = 0.0, 0
        return StepResult(self._obs(), reward, terminated, truncated, final, done)

    def set_progress(self, fraction: float) -> None: ...

    def state_dict(self) -> dict[str, torch.Tensor]:
        return {"generator": self.generator.get_state()}

    def load_state_dict(self, state: dict[str, torch.Tensor]) -> None:
        self.generator.set_state(state["generator"])

    def close(self) -> None: ...


def make_cheap(rank: int, num_envs: int, seed: int) -> Point:
    """Observations as wide as the Go2's, so that the update is what takes time."""
    return Point(num_envs, seed, size=110)


class Sleeper(Point):
    """Every step takes the same time, slept."""

    def __init__(self, num_envs: int, seconds: float) -> None:
        super().__init__(num_envs)
        self._seconds = seconds

    def step(self, action: torch.Tensor) -> StepResult:
        time.sleep(self._seconds)
        return super().step(action)


class HeavyTailed(Point):
    """Every 16 steps, a rollout, a new time per step is drawn, lognormal: some rollouts take ten times the median.

    The time is slept: it stands for a generator or a simulator on another device.
    """

    median, sigma = 0.003, 1.0

    def __init__(self, num_envs: int, seed: int) -> None:
        super().__init__(num_envs, seed)
        self._rng, self._steps, self._seconds = np.random.default_rng(seed), 0, 0.0

    def step(self, action: torch.Tensor) -> StepResult:
        if self._steps % 16 == 0:
            self._seconds = self.median * math.exp(self.sigma * self._rng.standard_normal())
        self._steps += 1
        time.sleep(self._seconds)
        return super().step(action)


def make_heavy_tailed(rank: int, num_envs: int, seed: int) -> HeavyTailed:
    """See HeavyTailed."""
    return HeavyTailed(num_envs, seed)
