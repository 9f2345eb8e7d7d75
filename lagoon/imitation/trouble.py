"""When a skill is not learned: has it stopped getting better, where does it fail, and what is in the way there?

What enters: what was seen of the robots of a check, and how the last checks ended. What leaves: words, and a yes or no.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import torch

from lagoon.imitation.config import TerminationConfig
from lagoon.imitation.rewards import TrackingError
from lagoon.motion.robot_motion import RobotMotion

Tensor = torch.Tensor

HOPEFUL = 0.9
"""Above this survival nothing counts as stalled: what is left to gain drowns in the noise of 64 trials, and trainings
that stood at 95 % for a million steps went on to pass."""
SHARE = 0.1
"""Of the newest step in the means below, which so tell of the last 0.2 s."""
STRAINED, RUSHED = 0.3, 0.3
"""Means from which a fall is put down to torque, or to speed."""
NEAR_SPEED = 0.9
"""A joint is as fast as it can be from this share of its limit on."""


def stalled(survivals: Sequence[float], window: int) -> bool:
    """True when the last ``window`` checks, two at least, show no gain from their first half to a poor second half."""
    if window < 2 or len(survivals) < window:
        return False
    half, last = window // 2, survivals[-window:]
    first, second = sum(last[:half]) / half, sum(last[-half:]) / half
    return second < HOPEFUL and second <= first


@dataclass
class Watch:
    """What the N robots of a check went through, step by step."""

    torque_limit: Tensor
    """(J,) [Nm]."""
    speed_limit: Tensor
    """(J,) [rad/s]."""
    limits: TerminationConfig
    control_dt: float
    """[s]"""
    falls: list[tuple[float, str, str]] = field(default_factory=list)
    """(time [s], what went beyond its limit, what was in the way) of each fall."""
    _strain: Tensor | None = None
    _rush: Tensor | None = None

    def see(self, step: int, fell: Tensor, error: TrackingError, asked: Tensor, joint_vel: Tensor) -> None:
        """Take one step in.

        Args:
            step: control steps since frame 0.
            fell: (N,) True for robots that fell at this very step, for the first time.
            error: of all robots.
            asked: (N, J) torques asked for [Nm].
            joint_vel: (N, J) [rad/s].
        """
        strained = (asked.abs() > self.torque_limit).any(-1).float()
        rushed = (joint_vel.abs() > NEAR_SPEED * self.speed_limit).any(-1).float()
        self._strain = strained * SHARE + (0.0 if self._strain is None else (1.0 - SHARE) * self._strain)
        self._rush = rushed * SHARE + (0.0 if self._rush is None else (1.0 - SHARE) * self._rush)
        for row in torch.nonzero(fell).flatten().tolist():
            kind = "height"
            if float(error.tilt[row]) > self.limits.max_tilt:
                kind = "tilt"
            elif float(error.heading_sq[row]) > self.limits.max_heading_error**2:
                kind = "heading"
            reason = "balance"
            if float(self._strain[row]) > STRAINED:
                reason = "torque"
            elif float(self._rush[row]) > RUSHED:
                reason = "speed"
            self.falls.append((step * self.control_dt, kind, reason))


WORDS = {
    "balance": "it loses its balance with torque to spare",
    "torque": "its motors are asked for more torque than they have",
    "speed": "its joints are as fast as they can be",
}


def told(falls: Sequence[tuple[float, str, str]], motion: RobotMotion) -> tuple[str, ...]:
    """Say in which stretch of the motion robots fall and why, the worst stretch first; nothing without falls."""
    starts = [start / motion.fps for start in motion.segment_starts]
    groups: dict[str, list[tuple[float, str, str]]] = {}
    for fall in falls:
        index = max(0, sum(start <= fall[0] for start in starts) - 1)
        name = "hold" if fall[0] > motion.duration else motion.segment_names[index]
        groups.setdefault(name, []).append(fall)
    lines = []
    for name, found in sorted(groups.items(), key=lambda item: -len(item[1])):
        seconds = sorted(time for time, _, _ in found)[len(found) // 2]
        reason = Counter(reason for _, _, reason in found).most_common(1)[0][0]
        kind = Counter(kind for _, kind, _ in found).most_common(1)[0][0]
        often = "1 fall" if len(found) == 1 else f"{len(found)} falls"
        lines.append(f"{often} in {name}, around {seconds:.1f} s, by {kind}: {WORDS[reason]}")
    return tuple(lines)
