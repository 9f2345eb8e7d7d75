"""Edges inside one process: they hand over references, nothing is copied.

What enters and leaves: see ``streams.base``.
"""

from __future__ import annotations

from collections import deque

import torch
from torch import Tensor

from lagoon.engine.metrics import Stopwatch
from lagoon.engine.params import ParameterStore
from lagoon.engine.policy import GaussianActorCritic
from lagoon.engine.streams.base import Actions
from lagoon.engine.trajectory import Trajectory, TrajectorySchema


class InlineSampleStream:
    """A ring of preallocated slots."""

    def __init__(self, schema: TrajectorySchema, slots: int = 1) -> None:
        self._free = deque(Trajectory(schema) for _ in range(slots))
        self._ready: deque[Trajectory] = deque()

    def acquire(self, key: int = 0) -> Trajectory | None:
        """Return a free slot, or None; all keys share the slots."""
        return self._free.popleft() if self._free else None

    def post(self, trajectory: Trajectory) -> None:
        """Queue a complete slot."""
        self._ready.append(trajectory)

    def take(self) -> Trajectory | None:
        """Return the oldest complete slot, or None."""
        return self._ready.popleft() if self._ready else None

    def release(self, trajectory: Trajectory) -> None:
        """Free a slot."""
        self._free.append(trajectory)


class InlineInferenceStream:
    """A policy in the actor's own process, which is asked when the answer is taken.

    Answering late matters: the first question of a rollout is asked before the update on the previous one and
    must be answered by the policy after it.
    """

    def __init__(
        self, policy: GaussianActorCritic, store: ParameterStore, generator: torch.Generator, watch: Stopwatch
    ) -> None:
        """Connect a policy.

        Args:
            policy: acts; where the trainer learns this very object, nothing is ever copied.
            store: tells the version, and brings newer parameters where the policy is a copy.
            generator: source of the action noise.
            watch: counts the time as "inference".
        """
        self.std = 1.0
        """Standard deviation of the action noise; set it before each rollout."""
        self._policy, self._store, self._generator, self._watch = policy, store, generator, watch
        self._own = {name: tensor.data_ptr() for name, tensor in policy.state_dict().items()}
        self._version = -1
        self._open: dict[int, Tensor] = {}

    def request(self, key: int, obs: Tensor) -> None:
        """Remember the question."""
        self._open[key] = obs

    @torch.no_grad()
    def response(self, key: int) -> Actions | None:
        """Answer it, with the newest parameters."""
        obs = self._open.pop(key, None)
        if obs is None:
            return None
        with self._watch("inference"):
            self._refresh()
            action, logp = self._policy.act(obs, self.std, self._generator)
        return Actions(action, logp, self._version)

    def _refresh(self) -> None:
        if self._store.version == self._version:
            return
        self._version, tensors = self._store.get()
        if any(self._own[name] != tensor.data_ptr() for name, tensor in tensors.items()):
            self._policy.load_state_dict(dict(tensors))
