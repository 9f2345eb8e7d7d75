"""One rank of a colocated run: actor, policy and trainer fused by inline streams, polled in turn.

What enters: an environment, the recipe, the group of ranks, a checkpoint to go on from. What leaves:
iterations, and the state that a checkpoint needs.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from lagoon.engine.checkpoint import Checkpoint, load_checkpoint, pack_state, unpack_state
from lagoon.engine.config import PPOConfig
from lagoon.engine.environment import VecEnv
from lagoon.engine.group import Group
from lagoon.engine.leader import Report
from lagoon.engine.metrics import Stopwatch
from lagoon.engine.params import MemoryParameterStore
from lagoon.engine.policy import GaussianActorCritic
from lagoon.engine.ppo import PPO, Algorithm, update_normalizers
from lagoon.engine.schedule import noise_std
from lagoon.engine.streams.inline import InlineInferenceStream, InlineSampleStream
from lagoon.engine.trajectory import ppo_schema
from lagoon.engine.workers.actor import ActorSpec, ActorWorker
from lagoon.engine.workers.trainer import TrainerSpec, TrainerWorker
from lagoon.errors import BadInputError

MakeEnv = Callable[[int, int, int], VecEnv]
"""(rank, num_envs, seed) -> environment; it must be picklable when there are several workers."""
START_MEMORY = 50_000
"""Observations that the normalisers of a policy to start from count for."""
_log = logging.getLogger(__name__)


class Session:
    """Everything of one rank."""

    def __init__(
        self, make_env: MakeEnv, config: PPOConfig, seed: int, group: Group, checkpoint: Checkpoint | None
    ) -> None:
        """Build the rank's environment and workers, and take the checkpoint over.

        Args:
            make_env: builds this rank's environment.
            config: the recipe; ``num_envs`` is divided by the number of ranks.
            seed: seed of the run; environment, action noise and minibatch order of each rank derive from it.
            group: the ranks.
            checkpoint: where to go on, or None to start.

        Raises:
            BadInputError: the checkpoint is of a network with other sizes.
        """
        self.config, self.group, self.watch = config, group, Stopwatch()
        env_seed, noise_seed, order_seed = (
            int(word) for word in np.random.SeedSequence([seed, group.size, group.rank]).generate_state(3, np.uint32)
        )
        self.env = make_env(group.rank, config.num_envs // group.size, env_seed)
        self.noise = torch.Generator().manual_seed(noise_seed)
        self.order = torch.Generator().manual_seed(order_seed)
        self.policy = first_policy(self.env.obs_dims, self.env.action_dim, config, seed, fresh=checkpoint is None)
        self.algorithm = PPO(self.policy, config, self.order, group)
        self.iteration, self.steps = 0, 0
        if checkpoint is not None:
            self._resume(checkpoint)
        self._connect(fresh=checkpoint is None)

    def _connect(self, fresh: bool) -> None:
        schema = ppo_schema(self.config.horizon, self.env.num_envs, self.env.obs_dims, self.env.action_dim)
        samples, store = InlineSampleStream(schema), MemoryParameterStore()
        self.inference = InlineInferenceStream(self.policy, store, self.noise, self.watch)
        self.actor, self.trainer = ActorWorker(), TrainerWorker()
        self.actor.configure(ActorSpec([self.env], self.inference, samples, self.watch))
        self.trainer.configure(
            TrainerSpec(self.policy, self.algorithm, samples, store, self.watch, version=self.iteration)
        )
        self.actor.start()
        if fresh:
            self._first_statistics()
        self.trainer.start()
        self.watch.take()

    def _first_statistics(self) -> None:
        # Without this the first rollout would be acted on raw observations of any size.
        for obs in self.actor.observations:
            update_normalizers(self.policy, obs, self.group)

    def iterate(self, fraction: float) -> dict[str, float]:
        """Collect one rollout and learn from it.

        Args:
            fraction: done share of the run, the same on all ranks.

        Returns:
            Numbers for the log, of this rank.
        """
        self.policy.std.fill_(noise_std(fraction, self.config))
        self.inference.std = float(self.policy.std)
        self.env.set_progress(fraction)
        while self.trainer.poll().batches == 0:
            self.actor.poll()
        self.iteration += 1
        self.steps += self.config.horizon * self.env.num_envs * self.group.size
        train = {f"train/{name}": value for name, value in self.trainer.stats.items()}
        env = {f"env/{name}": value for name, value in self.actor.averages().items()}
        return train | env | self.trainer.ages

    def state(self) -> dict[str, Any]:
        """Return what only this rank knows: its environment and its generators."""
        return {
            "env": self.env.state_dict(),
            "noise": self.noise.get_state(),
            "order": self.order.get_state(),
        }

    @property
    def version(self) -> int:
        """Number of updates that made the parameters."""
        return self.trainer.version

    def ready(self, cancelled: Callable[[], bool]) -> bool:
        """Return True: a colocated rank waits for nobody."""
        return True

    def reports(self, own: dict[str, float]) -> list[Report]:
        """Return numbers and CPU time of all ranks, on rank 0."""
        return self.group.gather((own, self.watch.take()))

    def checkpoint(self, ranks: list[dict[str, Any]]) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """Return tensors and facts for ``save_checkpoint``.

        Args:
            ranks: ``state()`` of every rank, in their order.
        """
        tensors, facts = learned(self.policy, self.algorithm, self.config, self.iteration, self.version)
        packed = [pack_state(state, f"ranks/{rank}", tensors) for rank, state in enumerate(ranks)]
        return tensors, facts | {"ranks": packed}

    def _resume(self, checkpoint: Checkpoint) -> None:
        self.iteration, self.steps = take_over(checkpoint, self.policy, self.algorithm)
        ranks = checkpoint.facts["ranks"]
        if not ranks:
            return  # Made by actors, whose generators begin anew in any topology.
        if len(ranks) != self.group.size:
            # Streams of random numbers belong to a rank; with other ranks there is nothing to continue.
            if self.group.rank == 0:
                _log.warning(
                    "The checkpoint was made by %d workers and this run has %d: environments start with fresh seeds.",
                    len(ranks),
                    self.group.size,
                )
            return
        state = unpack_state(ranks[self.group.rank], checkpoint.tensors)
        self.env.load_state_dict(state["env"])
        self.noise.set_state(state["noise"])
        self.order.set_state(state["order"])

    def close(self) -> None:
        """Stop the workers, which closes the environment."""
        self.actor.stop()
        self.trainer.stop()


def learned(
    policy: GaussianActorCritic, algorithm: Algorithm, config: PPOConfig, iteration: int, version: int
) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Return the tensors and facts of a checkpoint that every topology has."""
    tensors = {f"policy/{name}": tensor for name, tensor in policy.state_dict().items()}
    tensors |= {f"algorithm/{name}": tensor for name, tensor in algorithm.tensors().items()}
    return tensors, {
        "iteration": iteration,
        "version": version,
        "policy": policy.facts(),
        "algorithm": algorithm.facts(),
        "config": asdict(config),
    }


def first_policy(
    obs_dims: dict[str, int], action_dim: int, config: PPOConfig, seed: int, fresh: bool
) -> GaussianActorCritic:
    """Return the policy that a run begins with: untrained, or that of ``config.start_from`` if the run is ``fresh``.

    Raises:
        BadInputError: that policy is of other sizes.
        CorruptFileError: its file is missing or damaged.
    """
    policy = GaussianActorCritic.from_config(obs_dims, action_dim, config, seed)
    if fresh and config.start_from:
        checkpoint = load_checkpoint(Path(config.start_from))
        if different := _differences(_widened(checkpoint.facts["policy"], policy), policy):
            raise BadInputError(
                f"The policy {checkpoint.path} to start from has {different[0]}; this run has {different[1]}. Use the "
                "same settings, or train.start.policy=none to start without one."
            )
        std = policy.std.clone()
        policy.load_state_dict(_with_new_inputs(checkpoint.group("policy"), policy))
        policy.std.copy_(std)
        for normalizer in policy.normalizer.values():
            # Another motion looks different; its own statistics shall count.
            normalizer.forget(START_MEMORY)  # type: ignore[operator]
    return policy


def _widened(saved: dict[str, Any], policy: GaussianActorCritic) -> dict[str, Any]:
    """The sizes of a saved policy, with the critic's inputs of this one if those are more: the critic stays at home."""
    sizes, width = dict(saved["obs_dims"]), policy.obs_dims["critic"]
    sizes["critic"] = max(sizes["critic"], width)
    return {**saved, "obs_dims": sizes}


def _with_new_inputs(saved: dict[str, Tensor], policy: GaussianActorCritic) -> dict[str, Tensor]:
    """A saved state in this policy's shapes: inputs that the critic did not have come last and begin without weight."""
    state = dict(saved)
    for name, own in policy.state_dict().items():
        there = saved[name]
        if there.shape != own.shape:
            fresh = torch.zeros_like(own) if name.endswith("weight") else own.clone()
            fresh[..., : there.shape[-1]] = there
            state[name] = fresh
    return state


def _differences(saved: dict[str, Any], policy: GaussianActorCritic) -> tuple[str, str] | None:
    """Say in what a saved policy's facts differ from a policy, there and here; None where they do not."""
    own = policy.facts()
    different = [key for key in own if saved.get(key) != own[key]]
    if not different:
        return None
    there, here = (", ".join(f"{key} = {facts.get(key)}" for key in different) for facts in (saved, own))
    return there, here


def take_over(checkpoint: Checkpoint, policy: GaussianActorCritic, algorithm: Algorithm) -> tuple[int, int]:
    """Put what ``learned`` saved into a policy and an algorithm; returns iterations and environment steps so far.

    Raises:
        BadInputError: the checkpoint is of a network with other sizes.
    """
    if different := _differences(checkpoint.facts["policy"], policy):
        raise BadInputError(
            f"The checkpoint {checkpoint.path} holds a policy with {different[0]}; this run has {different[1]}. Use "
            f"the same settings to go on, or delete the folder {checkpoint.path.parent} to train from the start."
        )
    policy.load_state_dict(checkpoint.group("policy"))
    algorithm.load(checkpoint.group("algorithm"), checkpoint.facts["algorithm"])
    return int(checkpoint.facts["iteration"]), int(checkpoint.facts["step"])


def load_policy(checkpoint: Checkpoint) -> GaussianActorCritic:
    """Return the policy of a checkpoint, with its normalisers, on the CPU."""
    policy = GaussianActorCritic(**checkpoint.facts["policy"])
    policy.load_state_dict(checkpoint.group("policy"))
    return policy
