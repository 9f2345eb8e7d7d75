"""Settings that suit a motion: what a wave needs holds back a cartwheel.

What enters: settings, the motion, and the report of its retargeting. What leaves: settings, and the reasons for each
change. Observations and actions stay as they are, so the exported graph does not depend on it.

The values for motions that turn or fly are those with which a kick and a cartwheel were learned: looser limits, since
the frames in between are no poses to stand in, and more starts at frame 0, since robots that are put into such frames
fall whatever they do.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from lagoon.imitation.config import TrainConfig
from lagoon.motion.robot_motion import RobotMotion, velocity
from lagoon.motion.rotations import quat_rotate_inverse

FAST_TURN = 2.5
"""A base that turns faster than this goes through poses it could not stand in [rad/s]."""
FLIGHT_SECONDS = 0.06
"""All feet off the floor for as long as this is a jump [s]; shorter is a gap in the labels."""
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
    hard: bool
    """The report calls it hard or not trackable."""

    @staticmethod
    def of(motion: RobotMotion, report: Mapping[str, Any] | None = None) -> Traits:
        """Measure a motion; ``report`` is the content of retarget.json, if there is one."""
        up = quat_rotate_inverse(motion.root_quat_w, np.array([0.0, 0.0, 1.0]))
        turning = velocity(motion).root_ang_vel_b
        across = turning - (turning * up).sum(axis=1, keepdims=True) * up
        longest = run = 0
        airborne: list[bool] = np.logical_not(motion.foot_contact.any(axis=1)).tolist()
        for off in airborne:
            run = run + 1 if off else 0
            longest = max(longest, run)
        heading = np.unwrap(np.cumsum((turning * up).sum(axis=1)) / motion.fps)
        verdict = (report or {}).get("verdict")
        grade = verdict.get("grade", "") if isinstance(verdict, Mapping) else ""
        return Traits(
            float(np.percentile(np.linalg.norm(across, axis=1), 98)),
            longest / motion.fps,
            float(np.ptp(heading)),
            grade in ("hard", "not trackable"),
        )


def suited(
    config: TrainConfig, motion: RobotMotion, report: Mapping[str, Any] | None = None
) -> tuple[TrainConfig, tuple[str, ...]]:
    """Return settings for this motion, and a sentence for each change; nothing is tightened.

    Args:
        config: the settings asked for.
        motion: the reference.
        report: content of retarget.json.
    """
    traits, task, why = Traits.of(motion, report), config.task, []
    limits = task.termination
    flies = traits.flight >= FLIGHT_SECONDS
    if flies or traits.turn > FAST_TURN:
        what = f"all feet are in the air for {traits.flight:.2f} s" if flies else f"it turns at {traits.turn:.1f} rad/s"
        limits = replace(
            limits, max_tilt=max(limits.max_tilt, 0.8), max_height_error=max(limits.max_height_error, 0.35)
        )
        task = replace(task, start_share=max(task.start_share, 0.5), adaptive_starts=max(task.adaptive_starts, 0.5))
        why.append(f"{what}: limits of 0.8 rad and 0.35 m, half of the starts at frame 0, the rest where it fails")
    if traits.spin > SPIN:
        limits = replace(limits, max_heading_error=max(limits.max_heading_error, 2.5))
        task = replace(task, reward=replace(task.reward, heading_share=min(task.reward.heading_share, 0.2)))
        why.append(f"its heading changes by {traits.spin:.1f} rad: heading may be 2.5 rad off, and counts less")
    if traits.hard and task.alignment.share == 0.0:
        task = replace(task, alignment=replace(task.alignment, share=0.5))
        why.append("retargeting calls it hard: half of the reward forgives being early or late")
    return replace(config, task=replace(task, termination=limits)), tuple(why)
