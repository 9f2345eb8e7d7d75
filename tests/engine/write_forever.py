"""Trains the small writer until something ends it; tests start it as a program.

Usage: python write_forever.py FOLDER
"""

from __future__ import annotations

import sys
from pathlib import Path

from toy_writer import Writing

from lagoon.engine.tokens.config import RolloutConfig, TokenPPOConfig
from lagoon.engine.tokens.run import run

if __name__ == "__main__":
    config = TokenPPOConfig(
        batch=8,
        minibatches=1,
        kl_coef=0.0,
        total_steps=10**9,
        tensorboard=False,
        checkpoint_seconds=0.0,
        rollout=RolloutConfig(lanes=4, max_staleness=2, reward_workers=1),
    )
    run(Writing(), config, Path(sys.argv[1]), seed=0)
