"""What the robot should do in every frame, before inverse kinematics finds the joint angles.

What enters: pieces made by motion.py and lead.py. What leaves: one Targets for the whole clip.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

import numpy as np
from numpy.typing import NDArray

from lagoon.motion.rotations import quat_continuous, quat_slerp

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Targets:
    """T frames, F legs in RobotSpec order, J joints."""

    base_quat: Array
    """(T, 4) wanted base orientation, wxyz."""
    base_height: Array
    """(T,) wanted height of the base origin [m]."""
    foot_w: Array
    """(T, F, 3) wanted foot centres in world [m], used where grip > 0."""
    grip: Array
    """(T, F) in [0, 1]: 1 follows foot_w hard, 0 follows foot_b only."""
    foot_b: Array
    """(T, F, 3) wanted foot centres in the base frame [m], used where grip < 1."""
    knee_b: Array
    """(T, F, 3) wanted knees in the base frame [m]."""
    knee_on: Array
    """(T, F) in [0, 1]: share of the knee weight."""
    contact: NDArray[np.bool_]
    """(T, F) the foot carries weight."""
    support: Array
    """(T, 2) where the centre of pressure should be, world [m]."""
    still: Array
    """(T,) in [0, 1]: 1 wants the centre of mass at ``support`` itself, 0 wherever balance puts it."""
    rest: Array
    """(T, J) resting joint angles [rad]."""
    pull: Array
    """(T,) weight of the resting angles in the first pass."""

    @property
    def num_frames(self) -> int:
        """Number of frames T."""
        return len(self.base_quat)

    def frame(self, t: int, count: int = 1) -> Targets:
        """Frame ``t`` (negative counts from the end), repeated ``count`` times."""
        return Targets(**{f.name: np.repeat(getattr(self, f.name)[t][None], count, axis=0) for f in fields(self)})

    def with_(self, **changes: NDArray) -> Targets:
        """Copy with some fields replaced."""
        return replace(self, **changes)

    def reversed(self) -> Targets:
        """The same backwards in time."""
        return Targets(**{f.name: getattr(self, f.name)[::-1] for f in fields(self)})


def concatenate(pieces: list[Targets]) -> Targets:
    """Join pieces in time; quaternions are put on one hemisphere."""
    joined = {f.name: np.concatenate([getattr(p, f.name) for p in pieces]) for f in fields(Targets)}
    joined["base_quat"] = quat_continuous(joined["base_quat"])
    return Targets(**joined)


def ease(count: int) -> Array:
    """(count,) minimum-jerk progress that leaves 0 and arrives at 1 at rest: 10 u^3 - 15 u^4 + 6 u^5.

    Source: Flash and Hogan 1985, "The coordination of arm movements", eq. 3.
    """
    u = (np.arange(count) + 1.0) / max(count, 1)
    return u**3 * (10.0 + u * (-15.0 + 6.0 * u))


def blend(start: Targets, goal: Targets, count: int) -> Targets:
    """Targets that go from one frame to another with a minimum-jerk profile; contacts are the start's."""
    u = ease(count)
    mix = lambda a, b: a + (b - a) * u.reshape(-1, *[1] * (a.ndim - 1))  # noqa: E731
    return start.frame(0, count).with_(
        base_quat=quat_slerp(start.base_quat, goal.base_quat, u),
        base_height=mix(start.base_height, goal.base_height),
        foot_w=mix(start.foot_w, goal.foot_w),
        grip=mix(start.grip, goal.grip),
        foot_b=mix(start.foot_b, goal.foot_b),
        knee_b=mix(start.knee_b, goal.knee_b),
        knee_on=mix(start.knee_on, goal.knee_on),
        support=mix(start.support, goal.support),
        rest=mix(start.rest, goal.rest),
        pull=mix(start.pull, goal.pull),
    )
