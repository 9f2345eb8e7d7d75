"""How far a policy has come, asked of every library in the same way: the noise-free policy, from the start pose.

What enters: networks while they learn. What leaves: a line of JSON per check, without the time that checks take.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from lagoon.imitation.config import TrainConfig
from lagoon.imitation.env import TrackingEnv
from lagoon.imitation.train import check
from lagoon.motion.robot_motion import RobotMotion
from lagoon.robot import load_robot
from peers.recipe import Recipe
from peers.tally import Tally

TRIALS, LAST_TRIALS = 64, 256


class Watcher:
    """Checks after every tenth of the training; the last check is on more robots, with the randomization full."""

    def __init__(self, recipe: Recipe, tally: Tally) -> None:
        self._recipe, self._path = recipe, tally.folder / "checks.jsonl"
        self._motion, self._robot = RobotMotion.load(Path(recipe.motion)), load_robot("go2")
        self._done, self._paused = 0, 0.0
        self._since, self._cpu = time.monotonic(), time.process_time()
        self._cpu_paused = 0.0

    def iterated(self, actor: Callable[..., Any], normalizer: Callable[..., Any], fraction: float) -> None:
        """Call after every iteration, with what makes actions of raw observations."""
        self._done += 1
        due = max(1, self._recipe.iterations // 10)
        last = self._done == self._recipe.iterations
        if self._done % due and not last:
            return
        start, cpu = time.monotonic(), time.process_time()
        env = self._env(LAST_TRIALS if last else TRIALS)
        env.set_progress(1.0 if last else fraction)
        policy = SimpleNamespace(actor=actor, normalizer={"actor": normalizer})
        found = check(policy, env)  # type: ignore[arg-type]
        env.close()
        line = {
            "steps": self._done * self._recipe.batch,
            "seconds": start - self._since - self._paused,
            "cpu_seconds": cpu - self._cpu - self._cpu_paused,
            "survival": found.survival,
            "length": found.length,
            "joint_error": found.joint_error,
        }
        with self._path.open("a") as file:
            file.write(json.dumps(line) + "\n")
        self._paused += time.monotonic() - start
        self._cpu_paused += time.process_time() - cpu

    def _env(self, trials: int) -> TrackingEnv:
        seed = self._recipe.seed + 7919
        return TrackingEnv(self._motion, self._robot, TrainConfig(), trials, seed, start_share=1.0)
