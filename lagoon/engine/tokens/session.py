"""The processes of a run that fine-tunes a generator: rollout workers, reward workers, and the trainer that leads.

What enters: a task, the recipe, a seed, a checkpoint to go on from. What leaves: updates and checkpoints, as of every
session of the engine. The trainer lives in the calling process; the others are started anew when they are killed, and
end with it.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import torch
from torch import Tensor

from lagoon.engine.board import Board
from lagoon.engine.checkpoint import Checkpoint, pack_state, unpack_state
from lagoon.engine.group import Group, Solo
from lagoon.engine.leader import Report
from lagoon.engine.metrics import Averages, Stopwatch, WaitShare
from lagoon.engine.processes import available_cores, pin
from lagoon.engine.scheduler.local import LocalScheduler
from lagoon.engine.shared_memory import Doorbell
from lagoon.engine.staleness import StalenessController, staleness_metrics
from lagoon.engine.stores.shm import ShmParameterStore
from lagoon.engine.streams.shm import ShmSampleStream
from lagoon.engine.tokens.collector import Collector
from lagoon.engine.tokens.config import TokenPPOConfig
from lagoon.engine.tokens.ppo import TokenPPO
from lagoon.engine.tokens.rewards import RewardNode, RewardPool, RewardQueues
from lagoon.engine.tokens.rollout import BoardPermits, RolloutNode
from lagoon.engine.tokens.schema import Task, token_schema
from lagoon.engine.trajectory import Trajectory
from lagoon.errors import BadInputError, LagoonError

_WAIT_SECONDS = 0.1
_REPORT_SECONDS = 3.0
_HOPELESS = 2
"""Batches of which every single reward failed, after which the run ends: it would go on for ever."""
_log = logging.getLogger(__name__)


class TokenSession:
    """The trainer and everything it started."""

    def __init__(self, task: Task, config: TokenPPOConfig, seed: int, checkpoint: Checkpoint | None) -> None:
        """Build streams and store, take a checkpoint over, start the processes.

        Raises:
            BadInputError: the checkpoint is of another task.
        """
        self.task, self.config, self.watch = task, config, Stopwatch()
        self.group: Group = Solo()
        self._seed, self._restarts = seed, 0
        self._averages, self._worker_cpu = Averages(), list[dict[str, float]]()
        self._waits = WaitShare()
        self._last_failure, self._hopeless_since = "", 0.0
        self.policy = task.model()
        reference = task.model() if config.kl_coef > 0 else None
        self.algorithm = TokenPPO(self.policy, reference, config, len(task.prompts), seed)
        self.iteration = self.steps = self._first = 0
        if checkpoint is not None:
            self._resume(checkpoint)
        self._hopeless: set[str] = set()
        self.scheduler = LocalScheduler()
        self._connect()
        try:
            self._start()
        except BaseException:
            self.close()
            raise

    def _resume(self, checkpoint: Checkpoint) -> None:
        saved, own = checkpoint.facts["task"], self.task.facts()
        different = sorted(key for key in own if saved.get(key) != own[key])
        if different:
            raise BadInputError(
                f"The checkpoint {checkpoint.path} is of a run whose {', '.join(different)} differ from this one's. "
                f"Use the same settings to go on, or another folder, or delete {checkpoint.path.parent.parent}."
            )
        self.policy.load_state_dict(checkpoint.group("policy"))
        self.algorithm.load(unpack_state(checkpoint.facts["algorithm"], checkpoint.tensors))
        self.iteration, self.steps = int(checkpoint.facts["iteration"]), int(checkpoint.facts["step"])
        self._first = int(checkpoint.facts["numbers"])

    @property
    def version(self) -> int:
        """Number of updates that made the parameters."""
        return self.iteration

    def _connect(self) -> None:
        config, task, rollout = self.config, self.task, self.config.rollout
        judges = rollout.reward_workers or max(1, len(available_cores()) - 1 - rollout.workers)
        names = [f"rollout-{i}" for i in range(rollout.workers)] + [f"reward-{i}" for i in range(judges)]
        self._bells = {name: Doorbell() for name in ("trainer", *names)}
        schema = token_schema(task.sizes, len(task.terms))
        depth = rollout.reward_queue + 1
        # A slot for each lane, and for each sequence that is judged or waits for it.
        slots = rollout.lanes + -(-depth * judges // rollout.workers) + rollout.lanes
        producers = [self._bells[f"rollout-{i}"] for i in range(rollout.workers)]
        self.stream = ShmSampleStream(schema, rollout.workers, slots, self._bells["trainer"], producers)
        self.board = Board(rollout.workers)
        self.store = ShmParameterStore(self.policy.state_dict(), keep=2)
        wake = [self._bells[f"reward-{i}"] for i in range(judges)]
        self.pool = RewardPool(RewardQueues(judges, depth), self.stream, wake)
        # A run that resumes counts all sequences before it as accepted: see StalenessController.
        controller = StalenessController(config.batch, rollout.max_staleness, self.version)
        self.store.push(self.policy.state_dict(), self.version)
        self.board.publish(self.version, 0.0)
        self.collector = Collector(
            self.stream, self.pool, self.board, self._bells["trainer"], controller, self.version, rollout.lanes
        )

    def _start(self) -> None:
        cores = available_cores()
        names = list(self._bells)
        placed = {name: cores[i] if len(names) <= len(cores) else None for i, name in enumerate(names)}
        if (core := placed["trainer"]) is not None:
            pin([core])
        for name in names[1:]:
            self.scheduler.start(name, lambda starts, n=name: self._node(n), placed[name])

    def _node(self, name: str) -> RolloutNode | RewardNode:
        kind, _, number = name.partition("-")
        rollout, index, bell = self.config.rollout, int(number), self._bells[name]
        if kind == "reward":
            collector = self._bells["trainer"]
            return RewardNode(self.task, index, self.pool.queues, self.stream, self.board, bell, collector)
        permits = BoardPermits(self.board, index, rollout.workers, self._first)
        samples = self.stream.of_actor(index)
        return RolloutNode(
            self.task, rollout.lanes, self._seed, rollout.interruptible, samples, self.store, permits, bell
        )

    def ready(self, cancelled: Callable[[], bool]) -> bool:
        """Wait for a batch; meanwhile start anew what was killed."""
        start = time.monotonic()
        while True:
            self._look_after()
            if self.collector.wait(_WAIT_SECONDS):
                self._waits.add(time.monotonic() - start)
                return True
            if cancelled():
                return False

    def _look_after(self) -> None:
        """Read reports, end rewards that take too long, start anew what was killed."""
        for _, facts in self.scheduler.reports():
            self._averages.add(facts.get("numbers", {}))
            self._worker_cpu.append(facts["cpu"])
            for number, prompt, text in facts.get("failures", []):
                self._tell_failure(number, prompt, text)
        limit = self.config.rollout.reward_seconds
        for worker in self.pool.overdue(limit) if limit > 0 else []:
            name = f"reward-{worker}"
            self._hopeless.add(name)
            self.scheduler.processes[name].kill()
            self.scheduler.processes[name].join()
        for name in self.scheduler.revive(self._bury):
            self._restarts += 1
            _log.warning("The process %s was killed; it has been started anew.", name)
        self._give_up_if_hopeless()

    def _give_up_if_hopeless(self) -> None:
        failed = self.collector.failed_in_a_row
        if failed < _HOPELESS * self.config.batch:
            self._hopeless_since = 0.0
            return
        # Reports come now and then only; the last one is worth waiting for.
        self._hopeless_since = self._hopeless_since or time.monotonic()
        if self._last_failure or time.monotonic() - self._hopeless_since > _REPORT_SECONDS:
            raise LagoonError(
                f"The last {failed} rewards all failed, the last one so: {self._last_failure or 'no reason came.'} "
                "Mend the reward and run the same command again to go on from the last checkpoint."
            )

    def _tell_failure(self, number: int, prompt: int, text: str) -> None:
        self._last_failure = f"sequence {number} ({self.task.prompts[prompt]!r}, seed {self._seed}): {text}."
        _log.warning("The reward of %s The sequence is left out.", self._last_failure)

    def _bury(self, name: str) -> None:
        kind, _, number = name.partition("-")
        if kind == "rollout":
            self.collector.bury_rollouts(int(number))
            return
        slow = name in self._hopeless
        self._hopeless.discard(name)
        lost = self.collector.bury_rewards(int(number), slow)
        if lost is not None:
            limit = self.config.rollout.reward_seconds
            text = f"took longer than reward_seconds = {limit:g}" if slow else "its process was killed twice"
            self._tell_failure(lost.number, lost.prompt, text)

    def iterate(self, fraction: float) -> dict[str, float]:
        """Learn from one batch that is ready, and publish what was learned."""
        collector = self.collector
        queue = {"queue/batches": float(collector.ready), "queue/rewards": float(self.pool.busy)}
        queue |= {"queue/sequences": float(self.stream.waiting())}
        batch = collector.take()
        assert batch is not None, "ready() said that there is one"
        numbers = self._about(batch)
        with self.watch("update"):
            stats = self.algorithm.update(batch, self.version)
        collector.release(batch)
        self.iteration += 1
        self.steps += self.config.batch
        self.store.push(self.policy.state_dict(), self.version)
        self.board.publish(self.version, fraction)
        collector.published()
        counts = {"queue/rejected": float(collector.staleness.rejected), "queue/restarts": float(self._restarts)}
        counts["reward/failed"] = float(collector.failed)
        train = {f"train/{name}": value for name, value in stats.items()}
        return train | numbers | self._averages.take() | queue | counts | {"speed/trainer_waits": self._waits.take()}

    def _about(self, batch: Trajectory) -> dict[str, float]:
        """Return what is worth telling about a batch: ages, terms of the reward, versions in one sequence."""
        lengths, versions = batch["length"], batch["version"]
        real = torch.arange(len(versions))[:, None] < lengths
        ages = staleness_metrics(self.version, versions[real])
        last = versions.gather(0, (lengths - 1)[None])[0]
        terms = dict(zip(self.task.terms, batch["terms"].mean(0).tolist(), strict=True))
        found = {f"reward/{name}": value for name, value in terms.items()}
        return found | ages | {"rollout/interrupted": float((last > versions[0]).float().mean())}

    def reports(self, own: dict[str, float]) -> list[Report]:
        """Return the trainer's numbers and CPU time, and what the other processes said since the last call."""
        cpu, self._worker_cpu = self._worker_cpu, []
        return [(own, self.watch.take()), *(({}, seconds) for seconds in cpu)]

    def state(self) -> dict[str, Any]:
        """Return nothing: sequences draw from their own numbers, and those in the making begin anew with a resume."""
        return {}

    def checkpoint(self, ranks: list[dict[str, Any]]) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """Return tensors and facts for ``save_checkpoint``."""
        tensors = {f"policy/{name}": tensor for name, tensor in self.policy.state_dict().items()}
        return tensors, {
            "iteration": self.iteration,
            "version": self.version,
            "numbers": self._first + self.collector.begun,
            "task": self.task.facts(),
            "algorithm": pack_state(self.algorithm.tensors(), "algorithm", tensors),
            "config": asdict(self.config),
        }

    def close(self) -> None:
        """Stop all processes and free all memory."""
        self.board.stop()
        for bell in self._bells.values():
            bell.ring()
        self.scheduler.close()
        self.collector.close()
