"""How far a robot is from the reference where it is in the motion, rather than where the clock is.

What enters: what N trials did, tick by tick, and the reference. What leaves: the frame that each tick is laid to, and
errors there. The path goes forward only, two frames a tick at most, within a bounded lag, and is the best of all such
paths over the whole trial; training's own alignment must decide at once.

Source: Sakoe and Chiba 1978, "Dynamic programming algorithm optimization for spoken word recognition".
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from lagoon.motion.robot_motion import RobotMotion
from lagoon.motion.rotations import quat_rotate_inverse
from lagoon.sim.backend import SimState

Array = NDArray[np.float64]

MAX_LAG = 1.0
"""Largest distance of the path from the clock [s]."""
PRICE = 0.02
"""Of each frame that is waited at or skipped, beside the squared distance of the states."""
WEIGHTS = (1.0, 3.3, 20.0)
"""Of the squared distances of joints [1/rad^2], gravity directions and heights [1/m^2]; as in training's alignment."""
ROWS = 64
"""Trials laid out at once; memory grows with it."""
ALIGNMENT_METRICS = ("aligned_joint_error", "time_lag")


def features(joint_pos: Array, root_quat_w: Array, height: Array) -> Array:
    """(..., J + 4) what is compared, from joints (..., J) [rad], orientations (..., 4) and heights (...) [m]."""
    joints, gravity, rise = (np.sqrt(weight) for weight in WEIGHTS)
    up_b = quat_rotate_inverse(root_quat_w, np.array([0.0, 0.0, 1.0]))
    return np.concatenate([joints * joint_pos, gravity * up_b, rise * height[..., None]], axis=-1)


def best_path(did: Array, reference: Array, ticks: NDArray[np.int64], lag: int) -> NDArray[np.int64]:
    """(K, N) frame of the reference for every tick; after a trial's end its last one.

    Args:
        did: (K, N, D) features after ticks 1 to K; every trial stood at frame 0 before.
        reference: (T, D) features.
        ticks: (N,) how many ticks of each trial count.
        lag: largest distance of the path from the clock [frames].
    """
    parts = [slice(start, start + ROWS) for start in range(0, did.shape[1], ROWS)]
    return np.concatenate([_best_path(did[:, part], reference, ticks[part], lag) for part in parts], axis=1)


def _best_path(did: Array, reference: Array, ticks: NDArray[np.int64], lag: int) -> NDArray[np.int64]:
    length, count = did.shape[:2]
    frames, square = np.arange(len(reference)), (reference**2).sum(axis=1)
    wait = np.full(len(reference), PRICE)
    wait[-1] = 0.0  # Waiting at the end is what the motion asks for.
    cost = np.full((count, len(reference) + 2), np.inf)  # Two columns of nothing before frame 0.
    cost[:, 2] = 0.0
    steps = np.zeros((length, count, len(reference)), dtype=np.uint8)
    for k in range(length):
        options = np.stack([cost[:, 2:] + wait, cost[:, 1:-1], cost[:, :-2] + PRICE])
        steps[k] = options.argmin(axis=0)
        distance = (did[k] ** 2).sum(axis=1, keepdims=True) + square - 2.0 * did[k] @ reference.T
        best = options.min(axis=0) + np.maximum(distance, 0.0)
        best[:, np.abs(frames - min(k + 1, len(reference) - 1)) > lag] = np.inf
        going = k < ticks
        cost[going, 2:] = best[going]
        steps[k, ~going] = 0
    path, at, rows = np.empty((length, count), dtype=np.int64), cost[:, 2:].argmin(axis=1), np.arange(count)
    for k in range(length - 1, -1, -1):
        path[k] = at
        at = at - steps[k, rows, at]
    return path


@dataclass
class Aligned:
    """Collects what N trials do, and lays it along the reference at the end."""

    motion: RobotMotion
    """The reference, at the control rate."""
    _joints: list[NDArray[np.float32]] = field(default_factory=list)
    _features: list[NDArray[np.float32]] = field(default_factory=list)
    _alive: list[NDArray[np.bool_]] = field(default_factory=list)

    def record(self, state: SimState, alive: NDArray[np.bool_]) -> None:
        """Take one tick in: the state after it, and who has not fallen."""
        q, quat, pos = (part.numpy() for part in (state.joint_pos, state.root_quat_w, state.root_pos_w))
        seen = features(q.astype(np.float64), quat.astype(np.float64), pos[:, 2].astype(np.float64))
        seen[~alive] = 0.0
        self._joints.append(q.astype(np.float32))
        self._features.append(seen.astype(np.float32))
        self._alive.append(alive.copy())

    def metrics(self) -> dict[str, Array]:
        """(K, N) for each of ALIGNMENT_METRICS, nan for fallen trials."""
        motion, alive = self.motion, np.array(self._alive)
        reference = features(motion.joint_pos, motion.root_quat_w, motion.root_pos_w[:, 2])
        did = np.array(self._features, dtype=np.float64)
        path = best_path(did, reference, alive.sum(axis=0), round(MAX_LAG * motion.fps))
        clock = np.minimum(np.arange(1, len(path) + 1), motion.num_frames - 1)[:, None]
        error = np.abs(np.array(self._joints) - motion.joint_pos[path]).mean(axis=2)
        return {
            "aligned_joint_error": np.where(alive, error, np.nan),
            "time_lag": np.where(alive, np.abs(path - clock) / motion.fps, np.nan),
        }
