"""The trainer: learns from trajectories and publishes new parameters.

What enters: trajectories from a sample stream. What leaves: parameter versions into a store.
"""

from __future__ import annotations

from dataclasses import dataclass

from lagoon.engine.metrics import Stopwatch
from lagoon.engine.params import ParameterStore
from lagoon.engine.policy import GaussianActorCritic, gaussian_entropy
from lagoon.engine.ppo import Algorithm
from lagoon.engine.staleness import staleness_metrics
from lagoon.engine.streams.base import SampleStream
from lagoon.engine.worker import PollResult, Worker
from lagoon.spans import span


@dataclass
class TrainerSpec:
    """What a trainer is connected to."""

    policy: GaussianActorCritic
    algorithm: Algorithm
    samples: SampleStream
    store: ParameterStore
    watch: Stopwatch
    """Counts the time as "update"."""
    version: int = 0
    """Version of the policy's parameters at the start; above 0 after a resume."""


class TrainerWorker(Worker[TrainerSpec]):
    """Learns from one trajectory per poll."""

    def _configure(self, spec: TrainerSpec) -> None:
        self._spec = spec
        self.version = spec.version
        self.stats: dict[str, float] = {}
        self.ages: dict[str, float] = {}
        """How old the samples of the last batch were; see ``staleness.staleness_metrics``."""

    def _start(self) -> None:
        self._publish()

    def _publish(self) -> None:
        with span("copy parameters"):
            self._spec.store.push(self._spec.policy.state_dict(), self.version)

    def _poll(self) -> PollResult:
        trajectory = self._spec.samples.take()
        if trajectory is None:
            return PollResult()
        spec = self._spec
        with spec.watch("update"):
            self.ages = staleness_metrics(self.version, trajectory["version"])
            std = float(spec.policy.std)
            stats = spec.algorithm.update(trajectory, std, self.version)
            noise = {"std": std, "entropy": gaussian_entropy(spec.policy.action_dim, std)}
            self.stats = stats | noise | {"staleness": float(self.ages["staleness/max"])}
            spec.samples.release(trajectory)
            self.version += 1
            self._publish()
        return PollResult(samples=trajectory.samples, batches=1)
