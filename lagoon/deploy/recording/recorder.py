"""Keeps what a loop read and sent, step by step, and writes it as a bag once the loop is over.

What enters: every state and command, as a Watcher of the loop. What leaves: a rosbag2 folder. While the loop
runs a step is copied into memory that was set aside before, and nothing else: a thread that wrote beside it would
keep the loop from running for up to 5 ms at a time. The oldest steps give way when the memory is full.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import lagoon
from lagoon.bundle import PolicyBundle
from lagoon.deploy.check_report import bundle_sha256
from lagoon.deploy.controller import Controller, Mode
from lagoon.deploy.recording.bag import FORMAT, MODES, step_type, write_bag
from lagoon.deploy.transport.base import COMMANDED, MEASURED, MotorCommand, RobotState
from lagoon.errors import BadInputError

LONGEST = 1e9
"""No run lasts longer [s]; a clock that says so is wrong."""
BAD_STATE = (TypeError, ValueError)
"""What numpy raises for a field of another shape or kind; a guard trips over it, and the bag leaves it out."""


class Recorder:
    """See Watcher in loop.py; ``save`` comes after the loop."""

    def __init__(self, controller: Controller, bundles: Sequence[PolicyBundle], link: str, seconds: float) -> None:
        """Set the memory aside.

        Args:
            controller: the one that the loop steps.
            bundles: those it runs.
            link: name of the link, for the bag.
            seconds: how much is kept, the newest [s].
        """
        self._controller, self._skills = controller, [bundle.command for bundle in bundles]
        self.info: dict[str, Any] = {
            "format": FORMAT,
            "lagoon": lagoon.__version__,
            "robot": controller.robot.name,
            "joint_names": list(controller.robot.joint_names),
            "link": link,
            "bundles": {bundle.command: bundle_sha256(bundle.folder) for bundle in bundles},
        }
        size = max(1, round(seconds / controller.config.command_dt))
        # Pages of zeros cost nothing until they are written to.
        self._steps: NDArray[Any] = np.zeros(size, step_type(controller.robot.num_joints))
        self._count = self._ticks = 0
        self._first: tuple[float, int] | None = None
        self._last_ns, self._was_running = 0, False

    def __call__(self, state: RobotState | None, command: MotorCommand, now: float) -> None:
        """Copy one step; never raises for what it holds."""
        if self._first is None and np.isfinite(now):
            self._first = (now, time.time_ns())
        row = self._steps[self._count % len(self._steps)]
        self._count += 1
        # Times of a bag go up, whatever the link's clock does; a guard judges that one.
        passed = min(now - self._first[0], LONGEST) if self._first and np.isfinite(now) else 0.0
        begin = self._first[1] if self._first else time.time_ns()
        self._last_ns = max(self._last_ns + 1, begin + round(1e9 * passed))
        row["ns"] = self._last_ns
        row["has_state"] = state is not None and _copy_state(row, state)
        for name in COMMANDED:
            row[f"command_{name}"] = getattr(command, name)
        mode, skill = self._controller.mode, self._controller.skill
        row["mode"] = MODES.index(mode.value)
        row["skill"] = self._skills.index(skill) if skill in self._skills else -1
        row["ticks"], row["ticked"] = 0, False
        running = mode is Mode.POLICY
        if skill in self._skills and (running or self._was_running):
            # Of the runner, since the run itself is gone if this step was its last.
            runner = self._controller.runner(skill)
            before = self._ticks if self._was_running else 0
            row["ticks"] = self._ticks = runner.tick
            row["ticked"] = runner.tick > before
            if row["ticked"]:
                row["target"] = np.clip(runner.unclipped[0], runner.bundle.joint_lower, runner.bundle.joint_upper)
        self._was_running = running

    def save(self, folder: Path) -> Path | None:
        """Write a bag, named by the time, into ``folder``; None if there was no step.

        Raises:
            LagoonError: it could not be written, or the extra ``bag`` is not installed.
        """
        if not self._count:
            return None
        begin = self._count % len(self._steps) if self._count > len(self._steps) else 0
        steps = np.roll(self._steps, -begin)[: self._count] if begin else self._steps[: self._count]
        path = folder / f"{datetime.now(UTC):%Y%m%dT%H%M%S.%fZ}"
        write_bag(path, {**self.info, "forgotten_steps": self._count - len(steps)}, steps)
        return path


def _copy_state(row: Any, state: RobotState) -> bool:
    """True if the four measurements that a policy reads could be copied."""
    try:
        row["stamp"] = state.time
        for name in MEASURED:
            row[name] = getattr(state, name)
        row["joint_torque"] = np.nan if state.joint_torque is None else state.joint_torque
    except BAD_STATE:
        return False
    return True


def check_folder(folder: Path) -> None:
    """Make the folder for bags, and refuse a place that cannot be one, before anything moves.

    Raises:
        BadInputError: there is a file of that name, or nothing can be written there.
    """
    if folder.exists() and not folder.is_dir():
        raise BadInputError(f"{folder} is a file; bags go into a folder. Name another one.")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise BadInputError(
            f"Bags cannot be written into {folder}: {error.strerror or error}. Name another folder."
        ) from error
