"""From settings to a graph of processes: who acts, who answers, which seats and which cores.

What enters: a ``PPOConfig``. What leaves: plain facts that ``graph`` builds from. A *seat* is one environment of the
run, a *ring* the seats of one actor.
"""

from __future__ import annotations

from dataclasses import dataclass

from lagoon.engine.config import PPOConfig
from lagoon.errors import BadInputError


@dataclass(frozen=True)
class Graph:
    """What runs beside the trainer."""

    actors: int
    ring: int
    """Seats of each actor."""
    rows: int
    """Robots of each seat."""
    policy_workers: int
    """0 where every actor has the policy itself."""
    cores: dict[str, int | None]
    """Process -> the only core it uses, or None where there are more processes than cores."""

    @property
    def seats(self) -> int:
        """Environments of the run."""
        return self.actors * self.ring

    def ring_of(self, actor: int) -> range:
        """Return the seats of an actor."""
        return range(actor * self.ring, (actor + 1) * self.ring)


def graph_of(config: PPOConfig, cores: list[int]) -> Graph:
    """Return the graph of a topology other than ``colocated``.

    Args:
        config: the recipe.
        cores: that this process may use; the first one is the trainer's.

    Raises:
        BadInputError: the environments cannot be split evenly.
    """
    policy_workers = config.graph.policy_workers if config.topology == "decoupled" else 0
    actors = config.graph.actors or _fitting(config, len(cores) - 1)
    seats = actors * config.graph.ring
    if config.num_envs % seats:
        raise BadInputError(
            f"{actors} actors with a ring of {config.graph.ring} environments are {seats} seats, which do not divide "
            f"train.num_envs = {config.num_envs}; every seat gets the same number of robots. Use train.num_envs="
            f"{(config.num_envs // seats + 1) * seats}, or other numbers for train.actors and train.ring."
        )
    names = ["trainer", *(f"actor-{i}" for i in range(actors)), *(f"policy-{i}" for i in range(policy_workers))]
    enough = len(names) <= len(cores)
    # The trainer works nearly all the time and gets its core in any case; the others share what is left.
    placed: dict[str, int | None] = {name: cores[i] if enough else None for i, name in enumerate(names)}
    return Graph(actors, config.graph.ring, config.num_envs // seats, policy_workers, placed)


def _fitting(config: PPOConfig, most: int) -> int:
    """Return the greatest number of actors up to ``most``, at least one, that divides the environments evenly."""
    for actors in range(max(most, 1), 1, -1):
        if config.num_envs % (actors * config.graph.ring) == 0:
            return actors
    return 1
