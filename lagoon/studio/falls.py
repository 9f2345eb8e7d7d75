"""Says when a robot has fallen, by two of the rules of evaluation: tilt and height.

What enters: where the base is and where the reference has it. What leaves: yes or no. The third rule,
trunk or head on the floor, needs collision shapes and is left to ``lagoon evaluate``.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lagoon.deploy.config import EvaluateConfig
from lagoon.motion.robot_motion import RobotMotion
from lagoon.motion.rotations import quat_rotate_inverse

Array = NDArray[np.float64]
_UP = np.array([0.0, 0.0, 1.0])
_RULES = EvaluateConfig()


def has_fallen(pos_w: Array, quat_w: Array, wanted_pos_w: Array, wanted_quat_w: Array) -> NDArray[np.bool_]:
    """(...) True where the base is tilted away from the reference, or too low or high.

    Args:
        pos_w: (..., 3) base origin in world [m].
        quat_w: (..., 4) base to world, wxyz.
        wanted_pos_w: (..., 3) of the reference [m]; only the height counts.
        wanted_quat_w: (..., 4) of the reference; its heading does not count.
    """
    up, wanted = quat_rotate_inverse(quat_w, _UP), quat_rotate_inverse(wanted_quat_w, _UP)
    tilt = np.arccos(np.clip((up * wanted).sum(axis=-1), -1.0, 1.0))
    height = np.abs(pos_w[..., 2] - wanted_pos_w[..., 2])
    return (tilt > _RULES.fall_tilt) | (height > _RULES.fall_height)


def fall_time(executed: RobotMotion, reference: RobotMotion) -> float | None:
    """Time [s] of the first fall, or None. Both motions have one frame rate and start together.

    A motion that ends well before its reference counts as fallen at its end.
    """
    frames = min(executed.num_frames, reference.num_frames)
    fell = has_fallen(
        executed.root_pos_w[:frames],
        executed.root_quat_w[:frames],
        reference.root_pos_w[:frames],
        reference.root_quat_w[:frames],
    )
    if fell.any():
        return float(np.argmax(fell)) / executed.fps
    return executed.duration if executed.duration < reference.duration - 0.1 else None
