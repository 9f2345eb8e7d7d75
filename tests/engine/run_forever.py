"""Trains the point mass until something ends it; tests start it as a program.

Usage: python run_forever.py FOLDER WORKERS [TOPOLOGY]
"""

from __future__ import annotations

import sys
from pathlib import Path

from point_mass import make_point_mass

from lagoon.engine.config import GraphConfig, PPOConfig
from lagoon.engine.run import run

if __name__ == "__main__":
    topology = sys.argv[3] if len(sys.argv) > 3 else "colocated"
    config = PPOConfig(
        num_envs=32,
        horizon=16,
        hidden=(16,),
        total_steps=10**9,
        workers=int(sys.argv[2]),
        tensorboard=False,
        topology=topology,
        graph=GraphConfig(actors=1),
        checkpoint_seconds=60.0 if topology == "colocated" else 0.0,
    )
    run(make_point_mass, config, Path(sys.argv[1]), seed=0)
