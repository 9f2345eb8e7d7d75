"""What the environment remembers of each robot between two control steps.

What enters and leaves: rows of tensors, one row a robot; selected, joined and written by index.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import torch

Tensor = torch.Tensor


@dataclass
class Memory:
    """Rows of N robots."""

    step: Tensor
    """(N,) int64 control steps since frame 0 of the reference."""
    prev_action: Tensor
    """(N, J) the last action."""
    prev_change: Tensor
    """(N, J) how the last action differed from the one before."""
    past_targets: Tensor
    """(N, D, J) the last joint targets that reached the motors, newest first [rad]; what a delayed motor follows."""
    policy_state: Tensor
    """(N, S) the policy's own state; NaN until the first observation fills it."""
    frame: Tensor
    """(N, F) what the policy will remember of the current step."""
    joint_pos_offset: Tensor
    """(N, J) constant encoder errors of the episode [rad]."""
    tilt_offset: Tensor
    """(N, 3) constant IMU error of the episode, a rotation vector [rad]."""
    heading_offset: Tensor
    """(N,) error of the start heading [rad]."""
    zero_offset: Tensor
    """(N, J) constant error of the joints' zeros in the episode, in readings and in commands [rad]."""
    delay: Tensor
    """(N,) int64 physics steps from an action to its torque."""
    slope: Tensor
    """(N, 2) x and y of the unit vector against gravity, in the floor's frame."""
    body: Tensor
    """(N, P) the randomized parameters as the critic sees them."""
    extras: Tensor
    """(N, E) what the critic sees of alignment and style; E is 0 without them."""

    @staticmethod
    def zeros(count: int, joints: int, state: int, frame: int, body: int, depth: int = 1, extras: int = 0) -> Memory:
        """Empty rows of the given widths, with ``depth`` past targets."""
        whole = torch.int64
        return Memory(
            step=torch.zeros(count, dtype=whole),
            prev_action=torch.zeros(count, joints),
            prev_change=torch.zeros(count, joints),
            past_targets=torch.zeros(count, depth, joints),
            policy_state=torch.full((count, state), torch.nan),
            frame=torch.zeros(count, frame),
            joint_pos_offset=torch.zeros(count, joints),
            tilt_offset=torch.zeros(count, 3),
            heading_offset=torch.zeros(count),
            zero_offset=torch.zeros(count, joints),
            delay=torch.zeros(count, dtype=whole),
            slope=torch.zeros(count, 2),
            body=torch.zeros(count, body),
            extras=torch.zeros(count, extras),
        )

    def rows(self, ids: Tensor) -> Memory:
        """Copy of the given rows."""
        return Memory(*(getattr(self, item.name)[ids] for item in fields(self)))

    def joined(self, other: Memory) -> Memory:
        """These rows, then those of ``other``."""
        return Memory(*(torch.cat([getattr(self, item.name), getattr(other, item.name)]) for item in fields(self)))
