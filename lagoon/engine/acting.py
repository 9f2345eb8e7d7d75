"""A policy that acts with parameters learned elsewhere.

What enters: a parameter store and observations. What leaves: actions of a version; the newest, or one asked for.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from lagoon.engine.metrics import Stopwatch
from lagoon.engine.params import LATEST, ParameterStore
from lagoon.engine.policy import GaussianActorCritic
from lagoon.engine.streams.base import Actions
from lagoon.spans import span


class ActingPolicy:
    """A copy of the policy. Its noise is that of the parameters' own schedule."""

    def __init__(self, facts: dict[str, Any], store: ParameterStore) -> None:
        """Build the networks.

        Args:
            facts: ``GaussianActorCritic.facts()`` of the policy that learns.
            store: where its parameters are published.
        """
        self._policy, self._store = GaussianActorCritic(**facts), store
        self.version = -1

    def take(self, version: int = -1) -> int:
        """Take over a version, or the newest with -1; returns which it is."""
        newest = self._store.version
        wanted = newest if version < 0 else version
        if wanted != self.version:
            with span("copy parameters"):
                self.version, tensors = self._store.get(LATEST if version < 0 else version)
                self._policy.load_state_dict(dict(tensors))
        return self.version

    @torch.no_grad()
    def act(self, obs: Tensor, generator: torch.Generator) -> Actions:
        """Return actions for raw observations (N, O), with the version taken over last."""
        action, logp = self._policy.act(obs, float(self._policy.std), generator)
        return Actions(action, logp, self.version)


class OwnInferenceStream:
    """A policy in the actor's own process; see ``streams.base.InferenceStream``.

    Unless a key is pinned, every answer comes from the newest parameters, in the middle of rollouts too.
    """

    def __init__(self, policy: ActingPolicy, generators: list[torch.Generator], watch: Stopwatch) -> None:
        """Connect.

        Args:
            policy: shared by all keys.
            generators: source of the noise of each key.
            watch: counts the time as "inference".
        """
        self._policy, self._generators, self._watch = policy, generators, watch
        self._open: dict[int, Tensor] = {}
        self._pinned: dict[int, int] = {}

    def pin(self, key: int, version: int) -> None:
        """Let all later questions of a key be answered by one version; -1 takes the newest."""
        self._pinned[key] = version

    def request(self, key: int, obs: Tensor) -> None:
        """Remember the question."""
        self._open[key] = obs

    def response(self, key: int) -> Actions | None:
        """Answer it."""
        obs = self._open.pop(key, None)
        if obs is None:
            return None
        with self._watch("inference"):
            self._policy.take(self._pinned.get(key, -1))
            return self._policy.act(obs, self._generators[key])
