"""The way into the engine: trains with the topology that the recipe names.

What enters and leaves: see ``colocated.run``, whose arguments all topologies take.
"""

from __future__ import annotations

from pathlib import Path

from lagoon.engine import colocated, graph
from lagoon.engine.config import PPOConfig
from lagoon.engine.hooks import Hooks
from lagoon.engine.nodes import MakeEnv
from lagoon.progress import Progress


def run(
    make_env: MakeEnv,
    config: PPOConfig,
    folder: Path,
    seed: int = 0,
    hooks: Hooks | None = None,
    progress: Progress | None = None,
) -> Path:
    """Train; returns the ``.json`` file of the last checkpoint. A checkpoint of one topology serves the others too."""
    train = colocated.run if config.topology == "colocated" else graph.run
    return train(make_env, config, folder, seed, hooks, progress)
