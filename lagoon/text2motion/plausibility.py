"""How plausible a motion of a person is, in numbers: feet, floor, tremble.

What enters: joint positions. What leaves: metres and metres per second. Arrays in, arrays out.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lagoon.motion.skeleton import JOINT_NAMES
from lagoon.text2motion import features
from lagoon.text2motion.config import FPS
from lagoon.text2motion.dataset import jitter, slide

FLOATING = 0.08
"""Height [m] of the lowest joint above which nobody touches the floor."""
LONGEST_FLIGHT = 0.7
"""Seconds a person may be off the floor; a jump of 0.6 m lasts that long (2 * sqrt(2 h / g))."""


@dataclass(frozen=True)
class Plausibility:
    """What a motion does that people do not."""

    foot_slide: float
    """Speed of standing feet [m/s]."""
    penetration: float
    """Deepest joint below the floor [m]."""
    jitter: float
    """Tremble [m], see dataset.jitter."""
    jerk: float
    """Mean third derivative of the joints [m/s^3]."""
    flight: float
    """Longest time off the floor beyond LONGEST_FLIGHT [s]."""

    @property
    def cost(self) -> float:
        """One number to rank by; each term is one when it is as large as is just acceptable."""
        return (
            self.foot_slide / 0.15
            + self.penetration / 0.03
            + self.jitter / 0.002
            + self.jerk / 600.0
            + self.flight / 0.2
        )


def measure(joint_pos_w: NDArray[np.float64]) -> Plausibility:
    """Measure a motion (T, 22, 3) [m] at 20 fps."""
    pos = np.asarray(joint_pos_w, float)
    lowest = pos[..., 2].min(axis=1)
    jerk = np.linalg.norm(np.diff(pos, 3, axis=0), axis=-1).mean() * FPS**3 if len(pos) > 3 else 0.0
    run, longest = 0, 0
    for flying in lowest > FLOATING:
        run = run + 1 if flying else 0
        longest = max(longest, run)
    return Plausibility(
        foot_slide=slide(pos),
        penetration=float(max(0.0, -lowest.min())),
        jitter=jitter(pos),
        jerk=float(jerk),
        flight=max(0.0, longest / FPS - LONGEST_FLIGHT),
    )


def activity(joint_pos_w: NDArray[np.float64]) -> NDArray[np.float64]:
    """How much a motion (T, 22, 3) moves: mean speeds [m/s] (4,).

    Of the busier wrist and of the busier ankle relative to the pelvis, of the head relative to the pelvis,
    and of the pelvis itself; the same for a motion and its mirror image.
    """
    pos = np.asarray(joint_pos_w, float)
    local = pos - pos[:, :1]
    local[:, 0] = pos[:, 0]
    speed = np.linalg.norm(np.diff(local, axis=0), axis=-1).mean(0) * FPS
    at = lambda *names: max(speed[JOINT_NAMES.index(name)] for name in names)  # noqa: E731
    return np.array([at("left_wrist", "right_wrist"), at("left_ankle", "right_ankle"), at("head"), at("pelvis")])


def unlike(made: NDArray[np.float64], usual: NDArray[np.float64]) -> float:
    """How far an activity (4,) is from the usual one of its kind: weighted mean absolute logarithm of their ratio.

    What usually moves counts by how fast it does, so that a wave is judged by its hand; 0.1 m/s is added to
    the weights and to both speeds, since a generated stand is never quite still.
    """
    weights = usual + 0.1
    return float((weights * np.abs(np.log((made + 0.1) / (usual + 0.1)))).sum() / weights.sum())


def contact_share(joint_pos_w: NDArray[np.float64]) -> float:
    """Share of frames in which a foot touches the floor."""
    return float(features.contacts(joint_pos_w).any(axis=1).mean())
