"""What the environment remembers of each robot between two control steps.

What enters and leaves: rows of numpy arrays, float32 or int64, one row a robot. What observations are made of lies in
one array, so that rows of it are selected and joined at once; its parts are views and are written in place.
"""

from __future__ import annotations

import numpy as np

Array = np.ndarray


class Told:
    """What an observation is made of beside the state, for N robots."""

    def __init__(self, packed: Array, widths: dict[str, int], step: Array) -> None:
        """Name the columns of ``packed`` (N, sum of widths); ``step`` is (N,)."""
        self._packed, self._widths = packed, widths
        self.step = step
        """(N,) int64 control steps since frame 0 of the reference."""
        part, begin = dict[str, Array](), 0
        for name, width in widths.items():
            part[name] = packed[:, begin : begin + width]
            begin += width
        self.prev_action = part["prev_action"]
        """(N, J) the last action."""
        self.policy_state = part["policy_state"]
        """(N, S) the policy's own state."""
        self.joint_pos_offset = part["joint_pos_offset"]
        """(N, J) constant encoder errors of the episode [rad]."""
        self.tilt_offset = part["tilt_offset"]
        """(N, 3) constant IMU error of the episode, a rotation vector [rad]."""
        self.heading = part["heading"]
        """(N, 2) cosine and sine of the start heading that the policy is told."""
        self.facing = part["facing"]
        """(N, 4) the rotation by that heading."""
        self.zero_offset = part["zero_offset"]
        """(N, J) constant error of the joints' zeros in the episode, in readings and in commands [rad]."""
        self.slope = part["slope"]
        """(N, 2) x and y of the unit vector against gravity, in the floor's frame."""
        self.body = part["body"]
        """(N, P) the randomized parameters as the critic sees them."""
        self.extras = part["extras"]
        """(N, E) what the critic sees of alignment and style; E is 0 without them."""

    def rows(self, ids: Array) -> Told:
        """Copy of the given rows."""
        return Told(self._packed[ids], self._widths, self.step[ids])

    def joined(self, other: Told) -> Told:
        """Copy of these rows, then those of ``other``."""
        packed = np.concatenate([self._packed, other._packed])
        return Told(packed, self._widths, np.concatenate([self.step, other.step]))


class Memory(Told):
    """All of it."""

    def __init__(self, count: int, joints: int, state: int, body: int, depth: int = 1, extras: int = 0) -> None:
        """Empty rows of ``count`` robots.

        Args:
            count: robots, N.
            joints: of each, J.
            state: width of the policy's own state.
            body: width of what the critic is told of the body.
            depth: past targets that are kept.
            extras: width of what the critic is told of alignment and style.
        """
        widths = {
            "prev_action": joints,
            "policy_state": state,
            "joint_pos_offset": joints,
            "tilt_offset": 3,
            "heading": 2,
            "facing": 4,
            "zero_offset": joints,
            "slope": 2,
            "body": body,
            "extras": extras,
        }
        super().__init__(np.zeros((count, sum(widths.values())), np.float32), widths, np.zeros(count, np.int64))
        self.prev_change = np.zeros((count, joints), np.float32)
        """(N, J) how the last action differed from the one before."""
        self.past_targets = np.zeros((count, depth, joints), np.float32)
        """(N, D, J) the last joint targets that reached the motors [rad], newest first; delayed motors follow them."""
        self.frame = np.zeros((count, 0), np.float32)
        """(N, F) what the policy will remember of the current step."""
        self.delay = np.zeros(count, np.int64)
        """(N,) physics steps from an action to its torque."""
