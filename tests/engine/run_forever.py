"""Trains the point mass until something ends it; tests/engine/test_colocated.py starts it as a program.

Usage: python run_forever.py FOLDER WORKERS
"""

from __future__ import annotations

import sys
from pathlib import Path

from point_mass import make_point_mass

from lagoon.engine.colocated import run
from lagoon.engine.config import PPOConfig

if __name__ == "__main__":
    config = PPOConfig(
        num_envs=32, horizon=16, hidden=(16,), total_steps=10**9, workers=int(sys.argv[2]), tensorboard=False
    )
    run(make_point_mass, config, Path(sys.argv[1]), seed=0)
