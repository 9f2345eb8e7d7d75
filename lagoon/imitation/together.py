"""One policy for several skills: their environments side by side, each told by words which one it is.

What enters: several motions, and a vector of words for each. What leaves: a VecEnv whose robots are shared out among
the skills. The words of a skill are the embedding of its command, condensed: close commands stay close.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from lagoon.engine.environment import StepResult
from lagoon.errors import BadInputError
from lagoon.imitation.config import TrainConfig
from lagoon.imitation.env import TrackingEnv
from lagoon.motion.robot_motion import RobotMotion
from lagoon.robot import RobotSpec

Tensor = torch.Tensor

WORDS_SIZE = 16
"""Numbers that stand for a command: random directions keep the distances of a few dozen sentences well enough."""
NEAR = 0.05
"""Words closer than this look the same to a network beside noisy sensors; a skill's own length is one."""


def condensed(embedding: NDArray[np.floating]) -> tuple[float, ...]:
    """Return the words of one skill: a sentence embedding (E,) along WORDS_SIZE fixed random directions, length 1."""
    directions = np.random.default_rng(0).normal(size=(len(embedding), WORDS_SIZE))
    short = np.asarray(embedding, dtype=np.float64) @ directions
    return tuple(float(value) for value in short / max(np.linalg.norm(short), 1e-9))


@dataclass(frozen=True)
class Learned:
    """One skill of a policy."""

    motion: RobotMotion
    words: tuple[float, ...] = ()
    """What tells it from the others; empty for a policy of one skill."""

    @property
    def told(self) -> Tensor | None:
        """The words as a tensor (W,), None without."""
        return torch.tensor(self.words, dtype=torch.float32) if self.words else None


class TogetherEnv:
    """N robots shared out evenly among several TrackingEnv; see lagoon.engine.environment.VecEnv."""

    def __init__(self, envs: Sequence[TrackingEnv]) -> None:
        """Join environments of equal shapes; they are closed with this one."""
        self.envs = tuple(envs)
        first = self.envs[0]
        self.action_dim, self.obs_dims = first.action_dim, first.obs_dims
        self.sizes = [env.num_envs for env in self.envs]
        self.num_envs = sum(self.sizes)

    def reset(self) -> dict[str, Tensor]:
        """See VecEnv.reset."""
        return _joined([env.reset() for env in self.envs])

    def step(self, action: Tensor) -> StepResult:
        """See VecEnv.step. Metrics are means over all robots; physics_ms is the sum."""
        parts = action.split(self.sizes)
        results = [env.step(part) for env, part in zip(self.envs, parts, strict=True)]
        starts = np.cumsum([0, *self.sizes[:-1]])
        return StepResult(
            obs=_joined([one.obs for one in results]),
            reward=torch.cat([one.reward for one in results]),
            terminated=torch.cat([one.terminated for one in results]),
            truncated=torch.cat([one.truncated for one in results]),
            final_obs=_joined([one.final_obs for one in results]),
            done_ids=torch.cat([one.done_ids + int(at) for one, at in zip(results, starts, strict=True)]),
            metrics=self._metrics([one.metrics for one in results]),
        )

    def set_progress(self, fraction: float) -> None:
        """See VecEnv.set_progress."""
        for env in self.envs:
            env.set_progress(fraction)

    def state_dict(self) -> dict[str, Tensor]:
        """What each environment would keep, by its number."""
        return {f"{k}/{key}": value for k, env in enumerate(self.envs) for key, value in env.state_dict().items()}

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        """Take over what ``state_dict`` returned."""
        for k, env in enumerate(self.envs):
            begin = f"{k}/"
            env.load_state_dict({key[len(begin) :]: item for key, item in state.items() if key.startswith(begin)})

    def close(self) -> None:
        """Release all simulators."""
        for env in self.envs:
            env.close()

    def _metrics(self, found: list[dict[str, float]]) -> dict[str, float]:
        """Means weighted by robots, over those that have the value; success also skill by skill."""
        metrics: dict[str, float] = {}
        for name in dict.fromkeys(key for one in found for key in one):
            pairs = [(one[name], size) for one, size in zip(found, self.sizes, strict=True) if name in one]
            metrics[name] = sum(value * size for value, size in pairs) / sum(size for _, size in pairs)
        metrics["physics_ms"] = sum(one["physics_ms"] for one in found)
        for k, one in enumerate(found):
            if "episode_success" in one:
                metrics[f"episode_success_{k}"] = one["episode_success"]
        return metrics


@dataclass(frozen=True)
class MakeTogetherEnv:
    """Builds the environment of one worker; picklable, so that worker processes can call it."""

    skills: tuple[Learned, ...]
    robot: RobotSpec
    config: TrainConfig

    def __post_init__(self) -> None:
        """Check that there is something to tell apart.

        Raises:
            BadInputError: fewer than two skills, or words that are missing, of different sizes or too close.
        """
        if len(self.skills) < 2:
            raise BadInputError(f"Learning together takes two skills or more; there is {len(self.skills)}.")
        sizes = {len(skill.words) for skill in self.skills}
        if len(sizes) > 1 or 0 in sizes:
            raise BadInputError(f"Every skill needs words of one size; the sizes are {sorted(sizes)}.")
        words = np.array([skill.words for skill in self.skills])
        for k in range(len(words)):
            for other in range(k):
                if np.linalg.norm(words[k] - words[other]) < NEAR:
                    raise BadInputError(
                        f"Skills {other + 1} and {k + 1} have nearly the same words, so one policy cannot tell them "
                        "apart. Choose commands that differ."
                    )

    def __call__(self, rank: int, num_envs: int, seed: int) -> TogetherEnv:
        """Return the environment of worker ``rank``.

        Raises:
            BadInputError: fewer robots than skills.
        """
        sizes = shared_out(num_envs, len(self.skills))
        return TogetherEnv(
            [
                TrackingEnv(one.motion, self.robot, self.config, size, (seed * 1009 + rank) * 1009 + k, words=one.told)
                for k, (one, size) in enumerate(zip(self.skills, sizes, strict=True))
            ]
        )


def shared_out(robots: int, count: int) -> list[int]:
    """Sizes of ``count`` parts, as even as they can be, the larger ones first.

    Raises:
        BadInputError: fewer robots than parts.
    """
    if robots < count:
        raise BadInputError(
            f"{robots} robots in a worker cannot be shared out among {count} skills. Use train.num_envs=256 or more, "
            "or fewer train.workers."
        )
    return [robots // count + (k < robots % count) for k in range(count)]


def _joined(parts: list[dict[str, Tensor]]) -> dict[str, Tensor]:
    return {name: torch.cat([part[name] for part in parts]) for name in parts[0]}
