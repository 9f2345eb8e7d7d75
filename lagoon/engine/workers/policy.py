"""The policy worker: answers the questions of actors, as many at once as are there.

What enters: questions from an inference service, parameters from a store. What leaves: actions.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import groupby

import torch

from lagoon.engine.acting import ActingPolicy
from lagoon.engine.metrics import Stopwatch
from lagoon.engine.streams.base import Actions, InferenceService, Question
from lagoon.engine.worker import PollResult, Worker


@dataclass
class PolicySpec:
    """What a policy worker is connected to."""

    policy: ActingPolicy
    service: InferenceService
    generators: Mapping[int, torch.Generator]
    """Seat -> source of its noise."""
    watch: Stopwatch
    """Counts the time as "inference"."""
    together: bool = True
    """One forward pass for all questions that are there; False answers each alone, so that neither the order of noise
    nor the rounding of matrix products depends on who asked at the same time."""


class PolicyWorker(Worker[PolicySpec]):
    """Answers all open questions per poll.

    Nothing waits for a batch to fill: what arrives during one forward pass is answered by the next, so that batches
    grow by themselves exactly where answering has become the bottleneck.
    """

    def _configure(self, spec: PolicySpec) -> None:
        self._spec = spec
        self.batches, self.answers = 0, 0

    def _start(self) -> None:
        pass

    @property
    def waits_for(self) -> str:
        """What a policy worker that has nothing to do is waiting for."""
        return "questions"

    def _poll(self) -> PollResult:
        questions = sorted(self._spec.service.questions(), key=lambda question: question.version)
        done = 0
        with self._spec.watch("inference"):
            for version, group in groupby(questions, key=lambda question: question.version):
                self._spec.policy.take(version)
                asked = list(group)
                for some in [asked] if self._spec.together else [[question] for question in asked]:
                    done += self._answer(some)
        return PollResult(samples=done, batches=len(questions))

    def _answer(self, questions: list[Question]) -> int:
        spec = self._spec
        obs = questions[0].obs if len(questions) == 1 else torch.cat([question.obs for question in questions])
        answer = spec.policy.act(obs, spec.generators[questions[0].seat])
        start = 0
        for question in questions:
            rows = slice(start, start + len(question.obs))
            spec.service.answer(question, Actions(answer.action[rows], answer.logp[rows], answer.version))
            start = rows.stop
        self.batches += 1
        self.answers += len(questions)
        return start
