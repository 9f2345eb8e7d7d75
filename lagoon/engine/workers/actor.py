"""The actor: steps environments and writes what happens into trajectories.

What enters: actions from an inference stream. What leaves: complete trajectories into a sample stream.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from torch import Tensor

from lagoon.engine.environment import StepResult, VecEnv
from lagoon.engine.metrics import Averages, Stopwatch
from lagoon.engine.streams.base import Actions, InferenceStream, SampleStream
from lagoon.engine.trajectory import Trajectory
from lagoon.engine.worker import PollResult, Worker
from lagoon.spans import span


@dataclass
class ActorSpec:
    """What an actor is connected to."""

    environments: Sequence[VecEnv]
    """The ring: while one waits for its actions, the next one steps."""
    inference: InferenceStream
    samples: SampleStream
    watch: Stopwatch
    """Counts the time in environments as "env"."""


@dataclass
class _Seat:
    """One environment of the ring and the trajectory it is writing."""

    key: int
    env: VecEnv
    obs: dict[str, Tensor]
    slot: Trajectory | None = None
    time: int = 0
    averages: Averages = field(default_factory=Averages)


class ActorWorker(Worker[ActorSpec]):
    """Takes one environment step per poll, with the next environment of the ring that can."""

    def _configure(self, spec: ActorSpec) -> None:
        self._spec = spec
        self._ring: list[_Seat] = []
        self._next = 0

    def _start(self) -> None:
        for key, env in enumerate(self._spec.environments):
            self._ring.append(_Seat(key, env, env.reset()))

    @property
    def waits_for(self) -> str:
        """What an actor that did nothing in its last poll is waiting for."""
        return "permit" if all(seat.slot is None for seat in self._ring) else "actions"

    @property
    def observations(self) -> list[dict[str, Tensor]]:
        """The newest observations of each environment of the ring."""
        return [seat.obs for seat in self._ring]

    def averages(self) -> dict[str, float]:
        """Return the environments' metrics averaged since the last call."""
        merged = Averages()
        for seat in self._ring:
            merged.add(seat.averages.take())
        return merged.take()

    def _poll(self) -> PollResult:
        for _ in self._ring:
            seat = self._ring[self._next]
            self._next = (self._next + 1) % len(self._ring)
            if self._advance(seat):
                return PollResult(samples=seat.env.num_envs)
        return PollResult()

    def _advance(self, seat: _Seat) -> bool:
        """Take a step with one environment if it has a slot and an answer."""
        if seat.slot is None:
            # A rollout's first question is asked only now: while the seat waited, the policy may have changed.
            seat.slot, seat.time = self._spec.samples.acquire(seat.key), 0
            if seat.slot is None:
                return False
            self._spec.inference.request(seat.key, seat.obs["actor"])
        answer = self._spec.inference.response(seat.key)
        if answer is None:
            return False
        with span("copy samples"):
            self._record_before(seat, seat.slot, answer)
        with self._spec.watch("env"):
            result = seat.env.step(answer.action)
        with span("copy samples"):
            self._record_after(seat, seat.slot, result)
        return True

    def _record_before(self, seat: _Seat, slot: Trajectory, answer: Actions) -> None:
        t = seat.time
        slot["actor"][t].copy_(seat.obs["actor"])
        slot["critic"][t].copy_(seat.obs["critic"])
        slot["action"][t].copy_(answer.action)
        slot["logp"][t].copy_(answer.logp)
        slot["version"][t].fill_(answer.version)

    def _record_after(self, seat: _Seat, slot: Trajectory, result: StepResult) -> None:
        t = seat.time
        slot["reward"][t].copy_(result.reward)
        slot["terminated"][t].copy_(result.terminated)
        slot["truncated"][t].copy_(result.truncated)
        if len(result.done_ids):
            slot["final_critic"][t].index_copy_(0, result.done_ids, result.final_obs["critic"])
        seat.averages.add(result.metrics)
        seat.obs = result.obs
        seat.time = t + 1
        if seat.time == slot.schema.horizon:
            slot["last_critic"].copy_(result.obs["critic"])
            self._spec.samples.post(slot)
            seat.slot = None
        else:
            self._spec.inference.request(seat.key, seat.obs["actor"])

    def _stop(self) -> None:
        for env in self._spec.environments:
            env.close()
