"""What a policy asks of the motors: steps of its targets, what of them is chatter, how torques change, power.

What enters: targets and torques of N trials, tick by tick. What leaves: arrays (ticks, trials), or (1, trials)
for what only a whole trial has, in the form of the tracking errors.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.signal import detrend, get_window

Array = NDArray[np.float64]

CHATTER_HZ = 8.0
"""Targets that move faster than this do no motion that a leg could follow; they heat motors and wear gears [Hz]."""
SHORTEST = 32
"""A trial needs as many ticks to tell 8 Hz from slower motion."""
SMOOTHNESS_METRICS = (
    "action_rate",
    "action_peak",
    "chatter",
    "chatter_share",
    "torque_rate",
    "torque_peak",
    "power",
)


@dataclass
class Smoothness:
    """Collects what a policy commands."""

    control_dt: float
    """[s]"""
    torque_limit: Array
    """(N, J) of each trial's motors [Nm]."""
    _targets: list[NDArray[np.float32]] = field(default_factory=list)
    _torques: list[NDArray[np.float32]] = field(default_factory=list)
    _power: list[Array] = field(default_factory=list)
    _alive: list[NDArray[np.bool_]] = field(default_factory=list)

    def record(self, targets: Array, torques: Array, speeds: Array, alive: NDArray[np.bool_]) -> None:
        """Take one tick in.

        Args:
            targets: (N, J) joint targets of the policy [rad].
            torques: (N, J) that the motors gave at the end of the tick [Nm].
            speeds: (N, J) of the joints, then [rad/s].
            alive: (N,) False from the tick on at which a trial fell.
        """
        self._targets.append(targets.astype(np.float32))
        self._torques.append(torques.astype(np.float32))
        self._power.append(np.abs(torques * speeds).sum(axis=1))
        self._alive.append(alive.copy())

    def metrics(self) -> dict[str, Array]:
        """(K, N) or (1, N) for each of SMOOTHNESS_METRICS; nan for fallen trials and where nothing is defined."""
        targets, torques = np.array(self._targets, dtype=np.float64), np.array(self._torques, dtype=np.float64)
        alive = np.array(self._alive)
        step, jerk = np.full(alive.shape, np.nan), np.full(alive.shape, np.nan)
        change = np.diff(targets, axis=0)
        step[1:] = np.sqrt((change**2).mean(axis=2))
        jerk[1:] = np.abs(np.diff(torques, axis=0)).mean(axis=2) / self.control_dt
        peak = np.where(alive[1:], np.abs(change).max(axis=2), np.nan)
        chatter, share = chatter_of(targets, alive.sum(axis=0), self.control_dt)
        return {
            "action_rate": np.where(alive, step, np.nan),
            "action_peak": np.fmax.reduce(peak, axis=0, keepdims=True, initial=np.nan),
            "chatter": chatter[None],
            "chatter_share": share[None],
            "torque_rate": np.where(alive, jerk, np.nan),
            "torque_peak": np.fmax.reduce(
                np.where(alive, (np.abs(torques) / self.torque_limit).max(axis=2), np.nan), axis=0, keepdims=True
            ),
            "power": np.where(alive, np.array(self._power), np.nan),
        }


def chatter_of(targets: Array, ticks: NDArray[np.int64], control_dt: float) -> tuple[Array, Array]:
    """Measure what moves faster than CHATTER_HZ.

    Args:
        targets: (K, N, J) [rad].
        ticks: (N,) how many ticks of each trial count, from the first on.
        control_dt: [s].

    Returns:
        (N,) root mean square over ticks and joints of the fast part [rad], and (N,) its share of the power of all
        that moves; nan for trials shorter than SHORTEST. Straight lines are taken out and a Hann window keeps slow
        motion from leaking into the fast part.
    """
    amplitude, share = np.full(targets.shape[1], np.nan), np.full(targets.shape[1], np.nan)
    for length in np.unique(ticks[ticks >= SHORTEST]):
        rows = np.flatnonzero(ticks == length)
        window = np.asarray(get_window("hann", int(length))).reshape(-1, 1, 1)
        power = np.abs(np.fft.rfft(detrend(targets[:length, rows], axis=0) * window, axis=0)) ** 2
        fast = np.fft.rfftfreq(int(length), control_dt) >= CHATTER_HZ
        # One side of the spectrum holds half of the power; the window took its own mean square.
        amplitude[rows] = np.sqrt(2.0 * power[fast].sum(axis=0).mean(axis=1) / (length * (window**2).sum()))
        whole = power[1:].sum(axis=(0, 2))
        share[rows] = np.where(whole > 1e-12, power[fast].sum(axis=(0, 2)) / np.maximum(whole, 1e-12), 0.0)
    return amplitude, share
