"""Last touches after smoothing: the floor, the exact stand at both ends, the contacts that are left.

What enters: smoothed configurations. What leaves: the same, with the base raised or lowered slowly and
the ends set to the stand.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter1d, maximum_filter1d

from lagoon.retarget.kinematics import Kinematics
from lagoon.retarget.targets import ease

Array = NDArray[np.float64]

HOLD_BLEND = 0.2
"""Time over which the solved motion is led into the exact stand [s]."""
DEEP = 0.002
"""Nothing may be deeper in the floor than this at the end [m]."""
TOUCH = 0.03
"""A foot farther above the floor than this carries nothing [m]."""


def settle_on_floor(kin: Kinematics, qpos: Array, contact: NDArray[np.bool_], sigma: float) -> Array:
    """Move the base in height only, smoothly.

    In frames with a contact the lowest point comes to the floor; elsewhere it is only kept above it.

    Args:
        kin: the robot.
        qpos: (T, nq) configurations.
        contact: (T, F) feet that carry.
        sigma: standard deviation of the correction over time [frames].

    Returns:
        (T, nq) corrected configurations.
    """
    clearance = kin.along(qpos).clearance.min(axis=1)
    wanted = np.where(contact.any(axis=1) | (clearance < 0.0), -clearance, 0.0)
    lift = gaussian_filter1d(wanted, sigma, mode="nearest")
    for _ in range(3):
        below = np.maximum(-(clearance + lift), 0.0)
        if below.max() < 1e-4:
            break
        # The maximum over a window, smoothed by a narrower kernel, stays above the curve itself.
        envelope = maximum_filter1d(below, size=2 * int(2 * sigma) + 1, mode="nearest")
        lift += gaussian_filter1d(envelope, sigma, mode="nearest")
    settled = qpos.copy()
    settled[:, 2] += lift
    return settled


def keep_above(kin: Kinematics, qpos: Array) -> Array:
    """Raise the frames (T, nq) that the way into the exact stand led through the floor; others stay as they are."""
    below = -kin.along(qpos).clearance.min(axis=1)
    if below.max() < DEEP:
        return qpos
    raised = qpos.copy()
    raised[:, 2] += np.where(below > DEEP, below, 0.0)
    return raised


def stand_exactly(qpos: Array, first: Array, last: Array, hold: tuple[int, int], fps: float) -> Array:
    """Make the first and last frames the stand itself, with a smooth transition outward.

    Args:
        qpos: (T, nq) configurations.
        first: (nq,) the stand at the start.
        last: (nq,) the stand at the end.
        hold: number of exact frames at the start and at the end.
        fps: frame rate [Hz].
    """
    exact = qpos.copy()
    blend = round(HOLD_BLEND * fps)
    for side, pose, count in ((1, first, hold[0]), (-1, last, hold[1])):
        path = exact[::side][: count + blend]
        weight = np.concatenate([np.ones(count), 1.0 - ease(blend)])[:, None]
        goal = np.repeat(pose[None], count + blend, axis=0)
        # The same orientation on the hemisphere that the path is on.
        goal[:, 3:7] *= np.where(np.sum(path[:, 3:7] * pose[3:7], axis=1, keepdims=True) < 0, -1.0, 1.0)
        path += weight * (goal - path)
        path[:, 3:7] /= np.linalg.norm(path[:, 3:7], axis=1, keepdims=True)
    return exact


def touching(kin: Kinematics, qpos: Array, contact: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Contacts (T, F) that smoothing left: a foot meant to carry but high above the floor does not.

    In a frame that was meant to have a contact at least the lowest foot keeps it.
    """
    feet = kin.along(qpos).feet[:, :, 2] - kin.robot.foot_radius
    kept = contact & (feet < TOUCH)
    lost = contact.any(axis=1) & ~kept.any(axis=1)
    kept[lost, feet[lost].argmin(axis=1)] = True
    return kept
