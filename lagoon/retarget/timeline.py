"""A whole skill as one timeline: stand, lead-in, the clip, lead-out, stand.

What enters: the clip's Targets, in one part for each change between hind feet and all fours, and the robot. What
leaves: Targets that begin and end in the stand, with the names of their stretches. Between two parts the robot goes
back into the stand as at the end of a skill, and out of it as at the start.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lagoon.motion.rotations import quat_from_yaw, quat_mul, quat_rotate, quat_yaw
from lagoon.retarget.config import RetargetConfig
from lagoon.retarget.ik import WholeBodyIK
from lagoon.retarget.lead import frames_in, lead
from lagoon.retarget.morphology import Supports
from lagoon.retarget.targets import Targets, concatenate

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Timeline:
    """A whole skill: targets, names of its stretches, their first frames, and its first and last pose."""

    targets: Targets
    names: tuple[str, ...]
    starts: tuple[int, ...]
    first: Array
    """(nq,) the stand at the start."""
    last: Array
    """(nq,) the stand at the end."""
    hold: tuple[int, int]
    """Frames of exact standing at the start and at the end."""
    parts: tuple[tuple[int, int], ...]
    """First frame of each part of the clip, and the frame after its last."""


def add_lead(parts: list[tuple[Targets, Supports]], ik: WholeBodyIK, config: RetargetConfig) -> Timeline:
    """Put stand, lead-in, lead-out and stand around a clip, and ways down and up between its parts."""
    pieces, where, first, last = list[Targets](), list[tuple[int, int]](), np.zeros(0), np.zeros(0)
    frames = hold = frames_in(config.hold_start, ik.fps)
    for motion, supports in parts:
        lead_in, below = lead(motion, supports.first, ik, config)
        back, after = lead(motion.reversed(), supports.last, ik, config)
        part = [lead_in, motion, back.reversed()]
        if pieces:
            part, after = [_moved(piece, below, last) for piece in part], _put(after, below, last)
        else:
            first = below
        begin = frames + lead_in.num_frames
        where.append((begin, begin + motion.num_frames))
        pieces += part
        frames, last = where[-1][1] + back.num_frames, after
    end = frames_in(config.hold_end, ik.fps) + 1
    before = pieces[0].frame(0, hold).with_(still=np.ones(hold))
    behind = pieces[-1].frame(-1, end).with_(still=np.ones(end))
    origin = first.copy()
    origin[:2], origin[3:7] = 0.0, np.array([1.0, 0.0, 0.0, 0.0])  # The first stand faces +X above the origin.
    return Timeline(
        targets=_moved(concatenate([before, *pieces, behind]), first, origin),
        names=("stand", "lead_in", "motion", "lead_out", "stand"),
        starts=(0, hold, where[0][0], where[-1][1], frames),
        first=_put(first, first, origin),
        last=_put(last, first, origin),
        hold=(hold, end),
        parts=tuple(where),
    )


def _moved(targets: Targets, stand: Array, there: Array) -> Targets:
    """The same, turned and shifted in the ground plane so that one stand (nq,) comes to where another one is."""
    turn = _turn(stand, there)

    def moved(points: Array) -> Array:
        return quat_rotate(turn, points - _level(stand)) + _level(there)

    flat = np.concatenate([targets.support, np.zeros((targets.num_frames, 1))], axis=1)
    return targets.with_(
        base_quat=quat_mul(turn, targets.base_quat), foot_w=moved(targets.foot_w), support=moved(flat)[:, :2]
    )


def _put(qpos: Array, stand: Array, there: Array) -> Array:
    """The same for a configuration (nq,)."""
    turn = _turn(stand, there)
    place = quat_rotate(turn, qpos[:3] - _level(stand)) + _level(there)
    return np.concatenate([place, quat_mul(turn, qpos[3:7]), qpos[7:]])


def _turn(stand: Array, there: Array) -> Array:
    return quat_from_yaw(float(quat_yaw(there[3:7])) - float(quat_yaw(stand[3:7])))


def _level(qpos: Array) -> Array:
    return np.array([*qpos[:2], 0.0])
