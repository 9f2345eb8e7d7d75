"""A point that must go to the origin and stay: the smallest task with ends of both kinds."""

from __future__ import annotations

import torch

from lagoon.engine.environment import StepResult


class PointMass:
    """State (x, v) on a line; the action accelerates; |x| > 2 terminates; 40 steps truncate."""

    dt = 0.1
    limit = 2.0
    episode = 40

    def __init__(self, num_envs, seed):
        self.num_envs, self.action_dim = num_envs, 1
        self.obs_dims = {"actor": 2, "critic": 3}
        self.generator = torch.Generator().manual_seed(seed)
        self.x = torch.zeros(num_envs)
        self.v = torch.zeros(num_envs)
        self.age = torch.zeros(num_envs, dtype=torch.int64)
        self.progress = 0.0
        self.closed = False

    def _fresh(self, n):
        return torch.rand(n, generator=self.generator) * 2 - 1, torch.rand(n, generator=self.generator) - 0.5

    def _obs(self):
        both = torch.stack([self.x, self.v], 1)
        return {"actor": both, "critic": torch.cat([both, self.age[:, None] / self.episode], 1)}

    def reset(self):
        self.x, self.v = self._fresh(self.num_envs)
        self.age = torch.randint(0, self.episode, (self.num_envs,), generator=self.generator)
        return self._obs()

    def step(self, action):
        force = action[:, 0].clamp(-1, 1) * 4
        self.v = self.v + self.dt * force
        self.x = self.x + self.dt * self.v
        self.age = self.age + 1
        reward = torch.exp(-4 * self.x.square() - 0.5 * self.v.square())
        terminated = self.x.abs() > self.limit
        truncated = ~terminated & (self.age >= self.episode)
        done = torch.nonzero(terminated | truncated).flatten()
        final = {name: value[done] for name, value in self._obs().items()}
        self.x[done], self.v[done] = self._fresh(len(done))
        self.age[done] = 0
        return StepResult(self._obs(), reward, terminated, truncated, final, done, {"falls": float(terminated.sum())})

    def set_progress(self, fraction):
        self.progress = fraction

    def state_dict(self):
        return {"generator": self.generator.get_state(), "progress": self.progress}

    def load_state_dict(self, state):
        self.generator.set_state(state["generator"])
        self.progress = state["progress"]

    def close(self):
        self.closed = True


def make_point_mass(rank, num_envs, seed):
    return PointMass(num_envs, seed)
