"""What an environment is, and a check that one keeps its word.

What enters: actions (N, A). What leaves: observations, rewards and ends of episodes for N environments at once.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol

import torch
from torch import Tensor

from lagoon.errors import BadInputError

OBS_GROUPS = ("actor", "critic")


@dataclass
class StepResult:
    """What N environments answer to one action each.

    An environment that ended has already been reset when this is returned: ``obs`` shows its next episode,
    ``final_obs`` the last moment of the one that ended. The tensors may be overwritten by the next step.
    """

    obs: dict[str, Tensor]
    """Group name ("actor", "critic") -> (N, O) float32, after the automatic reset."""
    reward: Tensor
    """(N,) float32."""
    terminated: Tensor
    """(N,) bool: the episode ended for a reason inside the task, such as a fall; nothing comes after it."""
    truncated: Tensor
    """(N,) bool: the episode was cut by a time limit; it would have gone on, so its value is bootstrapped."""
    final_obs: dict[str, Tensor]
    """Group name -> (K, O) float32: the true last observations of the K environments that ended."""
    done_ids: Tensor
    """(K,) int64: which environments ended, ascending."""
    metrics: dict[str, float] = field(default_factory=dict)
    """Scalars for the log, already averaged over environments."""


class VecEnv(Protocol):
    """N copies of a task that step together and reset themselves."""

    num_envs: int
    action_dim: int
    obs_dims: dict[str, int]

    def reset(self) -> dict[str, Tensor]:
        """Start a new episode everywhere and return the observations, group name -> (N, O) float32."""
        ...

    def step(self, action: Tensor) -> StepResult:
        """Advance every environment by one control step.

        Args:
            action: (N, A) float32; the environment must not keep a reference to it.
        """
        ...

    def set_progress(self, fraction: float) -> None:
        """Tell curricula how much of the training is done, in [0, 1]."""
        ...

    def state_dict(self) -> dict[str, Any]:
        """Return what a resumed run needs: random generators and curricula, as JSON values, arrays and tensors."""
        ...

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Take over what ``state_dict`` returned."""
        ...

    def close(self) -> None:
        """Free threads and memory."""
        ...


def check_vec_env(env: VecEnv, steps: int = 64, seed: int = 0) -> None:
    """Run an environment with random actions and check everything that ``VecEnv`` promises.

    Args:
        env: the environment; it is reset, and left somewhere in the middle of episodes.
        steps: control steps to take; choose more than an episode's length to see resets.
        seed: seed of the random actions.

    Raises:
        BadInputError: the first broken promise, with the value found and the value expected.
    """
    name = type(env).__name__
    _expect(set(env.obs_dims) == set(OBS_GROUPS), name, f"obs_dims has {sorted(env.obs_dims)}", f"{list(OBS_GROUPS)}")
    _expect(env.num_envs >= 1, name, f"num_envs is {env.num_envs}", "at least 1")
    _expect(env.action_dim >= 1, name, f"action_dim is {env.action_dim}", "at least 1")
    generator = torch.Generator().manual_seed(seed)
    env.set_progress(0.0)
    _check_obs(name, "reset()", env.reset(), env.obs_dims, env.num_envs)
    for step in range(steps):
        action = torch.randn((env.num_envs, env.action_dim), generator=generator)
        before = action.clone()
        result = env.step(action)
        _expect(torch.equal(action, before), name, "step() changed the action tensor", "an untouched argument")
        _check_step(name, f"step() number {step}", result, env)
    state = env.state_dict()
    _expect(isinstance(state, dict), name, f"state_dict() returned {type(state).__name__}", "a dict")
    env.load_state_dict(state)
    env.set_progress(1.0)


def _check_step(name: str, where: str, result: StepResult, env: VecEnv) -> None:
    n = env.num_envs
    _check_obs(name, f"{where}: obs", result.obs, env.obs_dims, n)
    _check_tensor(name, f"{where}: reward", result.reward, (n,), torch.float32)
    _check_tensor(name, f"{where}: terminated", result.terminated, (n,), torch.bool)
    _check_tensor(name, f"{where}: truncated", result.truncated, (n,), torch.bool)
    ended = torch.nonzero(result.terminated | result.truncated).flatten()
    _check_tensor(name, f"{where}: done_ids", result.done_ids, (len(ended),), torch.int64)
    _expect(
        torch.equal(result.done_ids, ended),
        name,
        f"{where}: done_ids is {result.done_ids.tolist()}",
        f"the environments with terminated or truncated set, {ended.tolist()}",
    )
    _check_obs(name, f"{where}: final_obs", result.final_obs, env.obs_dims, len(ended))
    for group in OBS_GROUPS if len(ended) else ():
        # A reset inside step() is easily forgotten, or its order confused: both show as equal observations.
        same = torch.equal(result.final_obs[group], result.obs[group][ended])
        _expect(not same, name, f"{where}: final_obs['{group}'] equals obs after the reset", "the last one before it")
    for key, value in result.metrics.items():
        _expect(isinstance(value, int | float), name, f"{where}: metrics['{key}'] is {value!r}", "a number")


def _check_obs(name: str, where: str, obs: dict[str, Tensor], dims: dict[str, int], n: int) -> None:
    _expect(isinstance(obs, dict) and set(obs) == set(dims), name, f"{where} has {list(obs)}", f"{sorted(dims)}")
    for group, dim in dims.items():
        _check_tensor(name, f"{where}['{group}']", obs[group], (n, dim), torch.float32)


def _check_tensor(name: str, where: str, value: Tensor, shape: tuple[int, ...], dtype: torch.dtype) -> None:
    _expect(isinstance(value, Tensor), name, f"{where} is a {type(value).__name__}", "a torch.Tensor")
    _expect(tuple(value.shape) == shape, name, f"{where} has shape {tuple(value.shape)}", f"{shape}")
    _expect(value.dtype == dtype, name, f"{where} has dtype {value.dtype}", f"{dtype}")
    if dtype == torch.float32:
        bad = int((~torch.isfinite(value)).sum())
        _expect(bad == 0, name, f"{where} holds {bad} values that are not finite", "finite numbers")


def _expect(good: bool, name: str, found: str, expected: str) -> None:
    if not good:
        raise BadInputError(
            f"{name}: {found}; expected {expected}. The contract is in lagoon/engine/environment.py (VecEnv)."
        )
