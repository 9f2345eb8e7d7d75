"""Where in the motion is the robot? A monotone alignment, online, for N robots at once.

What enters: the state after every control step. What leaves: for each robot the frame of the reference that what it did
so far leads to, never earlier than the one before, at most two frames later, within a bounded lag of the clock; and how
fast it goes through the motion.

Formula: dynamic time warping, D_t(j) = d(t, j) + min(D_{t-1}(j) + p, D_{t-1}(j - 1), D_{t-1}(j - 2) + p), where d is
the squared distance of the states and p the price of waiting at a frame or of skipping one. The frame at t is the best
of the last frame and the two after it: decided at once, since the reward cannot wait for the end of the episode.
Source: Sakoe and Chiba 1978, "Dynamic programming algorithm optimization for spoken word recognition", with the slope
limited to 0..2 and their band around the diagonal; LAGOON's state reward is where imitation has it from.
"""

from __future__ import annotations

import math

import torch

from lagoon.imitation.config import AlignmentConfig
from lagoon.imitation.reference import Reference
from lagoon.imitation.rotations import gravity_in_base
from lagoon.sim.backend import SimState

Tensor = torch.Tensor

TILT_WEIGHT = 3.3
"""Of the squared distance of the gravity directions, beside the joints' [1], as in the tracking reward."""
HEIGHT_WEIGHT = 20.0
"""Of the squared distance of the base heights [1/m^2], as in the tracking reward."""
RATE_SHARE = 0.2
"""Share of the newest step in the pace: a mean over about five steps."""


def alignment_features(joint_pos: Tensor, gravity: Tensor, height: Tensor) -> Tensor:
    """(..., J + 4) what is compared: squared distances of these rows are d(t, j)."""
    return torch.cat([joint_pos, gravity * math.sqrt(TILT_WEIGHT), height * math.sqrt(HEIGHT_WEIGHT)], dim=-1)


class OnlineAlignment:
    """Alignment of N robots with one reference."""

    def __init__(self, reference: Reference, config: AlignmentConfig, num_envs: int, control_dt: float) -> None:
        """Prepare tables; every robot is at frame 0 until it begins somewhere.

        Args:
            reference: T frames and its resting row.
            config: lag and price.
            num_envs: robots, N.
            control_dt: [s].
        """
        table = alignment_features(reference.joint_pos, reference.gravity, reference.root_pos[:, 2:])
        self._table, self._square = table.T.contiguous(), (table**2).sum(-1)
        self.lag = max(0, round(config.max_lag / control_dt))
        rows = len(table)
        self._rows = torch.arange(rows)
        # Waiting at the end is what the motion asks for.
        self._wait = torch.full((rows,), config.price)
        self._wait[-1] = 0.0
        self._skip = config.price
        self._cost = torch.full((num_envs, rows + 2), torch.inf)  # Two columns of nothing before frame 0.
        self.frame = torch.zeros(num_envs, dtype=torch.int64)
        """(N,) frame of the reference that each robot is at."""
        self.rate = torch.ones(num_envs)
        """(N,) frames of the reference per control step, a mean over the last ones; 1 is the clock's own pace."""
        self.begin(torch.arange(num_envs), torch.zeros(num_envs, dtype=torch.int64))

    def begin(self, ids: Tensor, frame: Tensor) -> None:
        """Put the robots ``ids`` (K,) at frames (K,)."""
        frame = frame.clamp(0, len(self._rows) - 1)
        self.frame[ids], self.rate[ids] = frame, 1.0
        self._cost[ids] = torch.inf
        self._cost[ids, frame + 2] = 0.0

    def advance(self, state: SimState, step: Tensor) -> None:
        """Take in the states (N rows) after the control steps ``step`` (N,)."""
        seen = alignment_features(state.joint_pos, gravity_in_base(state.root_quat_w), state.root_pos_w[:, 2:])
        distance = (seen**2).sum(-1, keepdim=True) + self._square - 2.0 * (seen @ self._table)
        before = self._cost
        best = torch.minimum(before[:, 2:] + self._wait, before[:, 1:-1])
        best = torch.minimum(best, before[:, :-2] + self._skip).add_(distance.clamp_(min=0.0))
        clock = step.clamp(max=len(self._rows) - 1).unsqueeze(-1)
        best = best.masked_fill((self._rows - clock).abs() > self.lag, torch.inf)
        best = best - best.min(dim=1, keepdim=True).values
        self._cost[:, 2:] = best
        last = len(self._rows) - 1
        # The clock's own pace first: it wins where all are as good.
        choices = torch.stack([self.frame + 1, self.frame, self.frame + 2], dim=1).clamp(max=last)
        chosen = best.gather(1, choices).argmin(dim=1, keepdim=True)
        frame = choices.gather(1, chosen).squeeze(1)
        # Who cannot keep within the lag by two frames a step is taken along.
        frame = torch.maximum(frame, (step - self.lag).clamp(max=last))
        self.rate += RATE_SHARE * ((frame - self.frame).to(self.rate.dtype) - self.rate)
        self.frame = frame
