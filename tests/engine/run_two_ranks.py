"""What each rank of tests/engine/test_torchrun.py does: the same line on every one of them.

Usage: python run_two_ranks.py FOLDER
"""

from __future__ import annotations

import atexit
import sys
from dataclasses import replace
from pathlib import Path

import torch.distributed as dist
from point_mass import make_point_mass

from lagoon.engine.config import PPOConfig
from lagoon.engine.run import run

CONFIG = PPOConfig(
    num_envs=64, horizon=16, hidden=(32, 32), gamma=0.95, total_steps=3 * 1024, workers=0, tensorboard=False
)

if __name__ == "__main__":
    # Runs after whatever the engine has registered for the end.
    atexit.register(lambda: print("joined" if dist.is_initialized() else "left"))
    folder = Path(sys.argv[1])
    path = run(make_point_mass, CONFIG, folder, seed=3)
    kept = folder.parent / "kept" / path.name
    again = run(make_point_mass, CONFIG, folder, seed=3)
    if folder.exists():
        for suffix in (".json", ".safetensors"):
            kept.parent.mkdir(exist_ok=True)
            kept.with_suffix(suffix).write_bytes(path.with_suffix(suffix).read_bytes())
    longer = run(make_point_mass, replace(CONFIG, total_steps=5 * 1024), folder, seed=3)
    print(kept, int(again.stem.split("_")[1]) // 1024, int(longer.stem.split("_")[1]) // 1024)
