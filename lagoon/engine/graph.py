"""Topologies "decoupled" and "async": actors and a trainer work at the same time, in processes of their own.

What enters: how to make an environment, the recipe, a folder, a seed, as for ``colocated.run``. What leaves: the same
checkpoints and metrics. The trainer lives in the calling process, which leads; an actor or a policy worker that is
killed is started anew, and if the trainer is killed, all others end with it.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from lagoon.engine.batcher import Batcher
from lagoon.engine.board import Board
from lagoon.engine.checkpoint import Checkpoint, pack_state, unpack_state
from lagoon.engine.config import PPOConfig
from lagoon.engine.cores import pin
from lagoon.engine.decoupled_ppo import DecoupledPPO
from lagoon.engine.group import Group, Solo
from lagoon.engine.hooks import Hooks
from lagoon.engine.leader import Report
from lagoon.engine.leading import lead
from lagoon.engine.metrics import Averages, Stopwatch, WaitShare
from lagoon.engine.nodes import ActorNode, MakeEnv, Pace, PolicyCopy, PolicyNode, identity_of, parcel_of, seat_seeds
from lagoon.engine.policy import GaussianActorCritic
from lagoon.engine.ppo import PPO, update_normalizers
from lagoon.engine.schedule import noise_std
from lagoon.engine.scheduler.local import LocalScheduler
from lagoon.engine.session import first_policy, learned, take_over
from lagoon.engine.shared_memory import Doorbell
from lagoon.engine.staleness import StalenessController
from lagoon.engine.stores.shm import ShmParameterStore
from lagoon.engine.streams.shm import ShmInferenceStream, ShmSampleStream
from lagoon.engine.topology import Graph, graph_of
from lagoon.engine.trajectory import ppo_schema
from lagoon.engine.workers.trainer import TrainerSpec, TrainerWorker
from lagoon.progress import Progress
from lagoon.spans import span

if TYPE_CHECKING:
    from lagoon.engine.remote.gateway import Gateway

_WAIT_SECONDS = 0.1
_PROBE = 2**31  # Sets the seed of the environment that only tells sizes apart from those of the seats.
_log = logging.getLogger(__name__)


def run(
    make_env: MakeEnv,
    config: PPOConfig,
    folder: Path,
    seed: int = 0,
    hooks: Hooks | None = None,
    progress: Progress | None = None,
) -> Path:
    """Train until the budget is used, a hook says stop or a signal comes; go on where a folder left off.

    Args, returns and errors are those of ``colocated.run``, but that equal bits need ``graph.lockstep``; a process that
    fails with an error of its own, or is killed again and again, ends the run with a LagoonError.
    """
    start = lambda checkpoint, cores, profile: GraphSession(  # noqa: E731
        make_env, config, seed, graph_of(config, cores), checkpoint, profile
    )
    return lead(start, config, folder, hooks, progress, config.profile)


class GraphSession:
    """The trainer and everything it started."""

    def __init__(
        self,
        make_env: MakeEnv,
        config: PPOConfig,
        seed: int,
        graph: Graph,
        checkpoint: Checkpoint | None,
        profile: Path | None = None,
    ) -> None:
        """Build the streams, start the processes, and take a checkpoint over.

        Args:
            make_env: builds the environment of a seat.
            config: the recipe.
            seed: every draw follows from it.
            graph: who runs where.
            checkpoint: where to go on, or None to start.
            profile: where the processes record what they do, or None.

        Raises:
            BadInputError: the checkpoint is of a network with other sizes.
        """
        self.config, self.graph, self.watch = config, graph, Stopwatch()
        self.group: Group = Solo()
        self.iteration, self.steps = 0, 0
        self._make_env, self._seed, self._profile = make_env, seed, profile
        self._averages, self._worker_cpu = Averages(), list[dict[str, float]]()
        self._waits = WaitShare()
        self._restarts = 0
        self.gateway: Gateway | None = None
        self.order = torch.Generator().manual_seed(seat_seeds(seed, graph.seats, _PROBE, 0, 0)[1])
        self.policy, first_obs = self._probe(fresh=checkpoint is None)
        algorithm = PPO if config.graph.objective == "coupled" else DecoupledPPO
        self.algorithm = algorithm(self.policy, config, self.order)
        if checkpoint is not None:
            self.iteration, self.steps = take_over(checkpoint, self.policy, self.algorithm)
            if "trainer" in checkpoint.facts:
                self.order.set_state(unpack_state(checkpoint.facts["trainer"], checkpoint.tensors)["order"])
        else:
            update_normalizers(self.policy, first_obs, self.group)
        self.scheduler = LocalScheduler()
        self._connect()
        try:
            self._start(0.0 if checkpoint is None else float(checkpoint.facts["fraction"]))
        except BaseException:
            self.close()
            raise

    def _probe(self, fresh: bool) -> tuple[GaussianActorCritic, dict[str, Tensor]]:
        """Return the networks for the environment's sizes, and first observations."""
        env = self._make_env(0, self.graph.rows, seat_seeds(self._seed, self.graph.seats, _PROBE, 0, 0)[0])
        try:
            obs = {name: rows.clone() for name, rows in env.reset().items()}
            return first_policy(env.obs_dims, env.action_dim, self.config, self._seed, fresh), obs
        finally:
            env.close()

    def _connect(self) -> None:
        config, graph, policy = self.config, self.graph, self.policy
        staleness = config.graph.max_staleness
        schema = ppo_schema(config.horizon, graph.rows, policy.obs_dims, policy.action_dim)
        # Seats of actors on other machines follow those of this one.
        guests = range(graph.seats, graph.seats + (config.graph.remote_seats if config.graph.listen else 0))
        self.board = Board(guests.stop)
        self._bells = {name: Doorbell() for name in graph.cores}
        per_seat = [self._bells[f"actor-{seat // graph.ring}"] for seat in range(graph.seats)]
        servers = [self._bells[f"policy-{i}"] for i in range(graph.policy_workers)]
        per_guest = [self._bells["trainer"]] * len(guests)
        self.stream = ShmSampleStream(schema, guests.stop, 2, self._bells["trainer"], [*per_seat, *per_guest])
        self._inference = (
            ShmInferenceStream(graph.seats, graph.rows, policy.obs_dims["actor"], policy.action_dim, servers, per_seat)
            if servers
            else None
        )
        self.store = ShmParameterStore(policy.state_dict(), keep=staleness + 3)
        controller = StalenessController(graph.seats, staleness, self.iteration)
        self.batcher = Batcher(
            self.stream,
            self.board,
            self._bells["trainer"],
            controller,
            self.iteration,
            config.graph.lockstep,
            guests=guests,
        )
        self._guests = guests
        self.trainer = TrainerWorker()
        self.trainer.configure(
            TrainerSpec(policy, self.algorithm, self.batcher, self.store, self.watch, version=self.iteration)
        )

    def _start(self, fraction: float) -> None:
        self.policy.std.fill_(noise_std(fraction, self.config))
        self.trainer.start()
        self.board.publish(self.version, fraction)
        self.batcher.published()
        self._pace = Pace(
            self.iteration,
            self.config.graph.max_staleness,
            self.config.graph.lockstep,
            self.config.graph.interruptible,
        )
        self._began = self.iteration
        core = self.graph.cores["trainer"]
        if core is not None:
            pin([core])
        for name in self.graph.cores:
            kind, _, number = name.partition("-")
            if kind != "trainer":
                make = self._actor if kind == "actor" else self._policy_worker
                self.scheduler.start(name, lambda starts, m=make, n=int(number): m(n, starts), self.graph.cores[name])

        if self.config.graph.listen:
            self._listen_for_others(self.config.graph.listen)

    def _listen_for_others(self, address: str) -> None:
        from lagoon.engine.remote.gateway import Gateway, Offer

        policy = self.policy
        facts = {
            "rows": self.graph.rows,
            "horizon": self.config.horizon,
            "obs_dims": policy.obs_dims,
            "action_dim": policy.action_dim,
            "policy": policy.facts(),
            "interruptible": self.config.graph.interruptible,
            "version": self.version,
        }
        offer = Offer(identity_of(self._make_env), parcel_of(self._make_env), facts)
        self.gateway = Gateway(
            address, offer, self.board, self.stream, self.store, self.batcher, self._guests, self._seeds
        )
        _log.info("Other machines may join: lagoon join %s", self.gateway.address)

    def _seeds(self, seat: int, starts: int) -> tuple[int, int]:
        return seat_seeds(self._seed, self.graph.seats, seat, self._began, starts)

    def _copy(self) -> PolicyCopy:
        return PolicyCopy(self.policy.facts(), self.store)

    def _actor(self, number: int, starts: int) -> ActorNode:
        seats = self.graph.ring_of(number)
        return ActorNode(
            self._make_env,
            seats,
            self.graph.rows,
            [self._seeds(seat, starts) for seat in seats],
            self.board,
            self.stream.of_actor(seats.start),
            self._copy() if self._inference is None else self._inference.of_actor(seats.start),
            self._pace,
            self._bells[f"actor-{number}"],
            self._profile,
            f"actor-{number}" + f"-again-{starts}" * (starts > 0),
        )

    def _policy_worker(self, number: int, starts: int) -> PolicyNode:
        assert self._inference is not None
        count = self.graph.policy_workers
        seeds = {seat: self._seeds(seat, starts)[1] for seat in range(number, self.graph.seats, count)}
        return PolicyNode(
            self._copy(),
            self._inference.of_server(number, count),
            seeds,
            not self.config.graph.lockstep,
            self.board,
            self._bells[f"policy-{number}"],
            self._profile,
            f"policy-{number}" + f"-again-{starts}" * (starts > 0),
        )

    @property
    def version(self) -> int:
        """Number of updates that made the parameters."""
        return self.trainer.version

    def ready(self, cancelled: Callable[[], bool]) -> bool:
        """Wait for a batch; meanwhile start anew what was killed."""
        start = time.monotonic()
        while True:
            self._listen()
            for name in self.scheduler.revive(self._bury):
                self._restarts += 1
                _log.warning("The process %s was killed; it has been started anew.", name)
            with span("wait: samples"):
                arrived = self.batcher.wait(_WAIT_SECONDS)
            if arrived:
                self._waits.add(time.monotonic() - start)
                return True
            if cancelled():
                return False

    def _bury(self, name: str) -> None:
        kind, _, number = name.partition("-")
        if kind == "actor":
            self.batcher.bury(self.graph.ring_of(int(number)))

    def _listen(self) -> None:
        for _, facts in self.scheduler.reports():
            self._averages.add({f"env/{name}": value for name, value in facts.get("env", {}).items()})
            self._averages.add({f"queue/{name}": value for name, value in facts.get("queue", {}).items()})
            self._worker_cpu.append(facts["cpu"])
        if self.gateway is not None:
            for numbers in self.gateway.metrics():
                self._averages.add({f"env/{name}": value for name, value in numbers.items()})

    def iterate(self, fraction: float) -> dict[str, float]:
        """Learn from one batch that is ready, and publish what was learned."""
        self.policy.std.fill_(noise_std(fraction, self.config))
        queue = {
            "queue/batches": float(self.batcher.ready),
            "queue/rollouts": float(self.stream.waiting()),
            "queue/fill": self.batcher.fill(),
        }
        self.trainer.poll()
        self.iteration += 1
        self.steps += self.config.horizon * self.config.num_envs
        self.board.publish(self.version, fraction)
        self.batcher.published()
        train = {f"train/{name}": value for name, value in self.trainer.stats.items()}
        controller = self.batcher.staleness
        counts = {"queue/rejected": float(controller.rejected), "queue/restarts": float(self._restarts)}
        if self.gateway is not None:
            counts["queue/remote"] = float(self.gateway.in_use)
        counts["speed/trainer_waits"] = self._waits.take()
        return train | self._averages.take() | queue | self.trainer.ages | counts

    def reports(self, own: dict[str, float]) -> list[Report]:
        """Return the trainer's numbers and CPU time, and what the other processes said since the last call."""
        cpu, self._worker_cpu = self._worker_cpu, []
        return [(own, self.watch.take()), *(({}, seconds) for seconds in cpu)]

    def state(self) -> dict[str, Any]:
        """Return the trainer's generator; those of the actors begin anew with a resume."""
        return {"order": self.order.get_state()}

    def checkpoint(self, ranks: list[dict[str, Any]]) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """Return tensors and facts for ``save_checkpoint``; every topology can go on from them."""
        tensors, facts = learned(self.policy, self.algorithm, self.config, self.iteration, self.version)
        return tensors, facts | {"trainer": pack_state(ranks[0], "trainer", tensors), "ranks": []}

    def close(self) -> None:
        """Stop all processes and free all memory."""
        if self.gateway is not None:
            self.gateway.close()
        self.board.stop()
        for bell in self._bells.values():
            bell.ring()
        self.scheduler.close()
        self.batcher.close()
        self.trainer.stop()
