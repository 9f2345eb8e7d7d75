"""What the environment remembers of each robot between two control steps.

What enters and leaves: rows of numpy arrays, float32 or int64, one row a robot; selected, joined and written by index.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

Array = np.ndarray


@dataclass
class Memory:
    """Rows of N robots."""

    step: Array
    """(N,) int64 control steps since frame 0 of the reference."""
    prev_action: Array
    """(N, J) the last action."""
    prev_change: Array
    """(N, J) how the last action differed from the one before."""
    past_targets: Array
    """(N, D, J) the last joint targets that reached the motors, newest first [rad]; what a delayed motor follows."""
    policy_state: Array
    """(N, S) the policy's own state; NaN until the first observation fills it."""
    frame: Array
    """(N, F) what the policy will remember of the current step."""
    joint_pos_offset: Array
    """(N, J) constant encoder errors of the episode [rad]."""
    tilt_offset: Array
    """(N, 3) constant IMU error of the episode, a rotation vector [rad]."""
    heading_offset: Array
    """(N,) error of the start heading [rad]."""
    zero_offset: Array
    """(N, J) constant error of the joints' zeros in the episode, in readings and in commands [rad]."""
    delay: Array
    """(N,) int64 physics steps from an action to its torque."""
    slope: Array
    """(N, 2) x and y of the unit vector against gravity, in the floor's frame."""
    body: Array
    """(N, P) the randomized parameters as the critic sees them."""
    extras: Array
    """(N, E) what the critic sees of alignment and style; E is 0 without them."""

    @staticmethod
    def zeros(count: int, joints: int, state: int, frame: int, body: int, depth: int = 1, extras: int = 0) -> Memory:
        """Empty rows of the given widths, with ``depth`` past targets."""
        rows = lambda *shape: np.zeros((count, *shape), np.float32)  # noqa: E731
        return Memory(
            step=np.zeros(count, np.int64),
            prev_action=rows(joints),
            prev_change=rows(joints),
            past_targets=rows(depth, joints),
            policy_state=np.full((count, state), np.nan, np.float32),
            frame=rows(frame),
            joint_pos_offset=rows(joints),
            tilt_offset=rows(3),
            heading_offset=rows(),
            zero_offset=rows(joints),
            delay=np.zeros(count, np.int64),
            slope=rows(2),
            body=rows(body),
            extras=rows(extras),
        )

    def rows(self, ids: Array) -> Memory:
        """Copy of the given rows."""
        return Memory(*(getattr(self, name)[ids] for name in _NAMES))

    def joined(self, other: Memory) -> Memory:
        """These rows, then those of ``other``."""
        return Memory(*(np.concatenate([getattr(self, name), getattr(other, name)]) for name in _NAMES))


_NAMES = tuple(item.name for item in fields(Memory))
