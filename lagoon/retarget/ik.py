"""Whole-body inverse kinematics of a clip, in the manner of mink, with the daqp solver.

What enters: Targets. What leaves: configurations (T, nq) that keep joint position and velocity limits
and stay above the floor. The clip is solved several times: later passes are pulled to the smoothed
previous one, so that no joint jumps between branches, and move the centre of mass to where the measured
centre of pressure asks for it.
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter1d

from lagoon.progress import Progress, silent
from lagoon.retarget.balance import com_for_pressure, dynamics, outside_support
from lagoon.retarget.config import RetargetConfig
from lagoon.retarget.contacts import nearest_on
from lagoon.retarget.kinematics import Kinematics
from lagoon.retarget.program import CONVERGED, StepProgram
from lagoon.retarget.targets import Targets
from lagoon.retarget.wishes import FIRM

Array = NDArray[np.float64]

LOADED = 0.3
"""With less of the weight on the floor than this share the pressure point says nothing."""
LARGEST_ERROR = 0.08
"""A larger error of the pressure point is not a matter of where the mass is; no more than this is fed back [m]."""
CAUGHT = 0.03
"""A foot that carries and stays farther from its place than this [m] may be on the wrong branch."""
AT_LIMIT = 0.005
"""A joint nearer than this to the end of its range is at it [rad]."""
FREEING = 60
"""Most quadratic programmes that free a leg."""
ROUGHEST, ROUGH = 1e-2, 1e-3
"""When a frame is solved in the first pass and in those between it and the last, which only guide [rad, m]."""
RETURN = 5
"""Frames over which a foot comes to where it is held, and leaves it [control periods]."""
HELD_SIGMA = 1.0
"""Smoothing after the feet were brought back to their places [control periods]; more would make them slide again."""
CALM = 4.0
"""Fastest joint of legs that carry in the lead, and fastest turn of a hind leg about its first axis [rad/s]."""
REGULARISER_SIGMA = 3.0
"""Smoothing of the previous pass before it pulls [control periods]."""


class WholeBodyIK:
    """Solver of one robot."""

    def __init__(self, kin: Kinematics, config: RetargetConfig, fps: float) -> None:
        self.kin, self.config, self.fps = kin, config, fps
        fast = config.velocity_share * kin.robot.joint_vel_limit / fps
        self._calm = np.minimum(fast, CALM / fps)
        self._program = StepProgram(kin, config, fast)
        self._found: tuple[Array, Array, Array, Array | None]

    def keep_apart(self, pairs: Collection[tuple[str, str]]) -> None:
        """Keep pairs of the robot's shapes, by their names, apart from the next call on; name those only that touch."""
        self._program.keep_apart(pairs)

    def pose(self, targets: Targets, start: Array, iterations: int = 60) -> Array:
        """Solve frame 0 of ``targets`` alone, from ``start`` (nq,), with its support as centre of mass."""
        one = targets.frame(0)
        self._program.aim(one, one.support, one.rest, one.pull)
        return self._program.settle(start[None], 0, None, iterations)[0]

    def solve(
        self,
        targets: Targets,
        start: Array,
        sigma: float,
        progress: Progress = silent,
        hold: bool = False,
        again: NDArray[np.bool_] | None = None,
    ) -> Array:
        """Solve every frame, in several passes.

        Args:
            targets: T frames.
            start: (nq,) configuration of frame 0.
            sigma: standard deviation of the last smoothing [control periods].
            progress: told the share done.
            hold: bring the feet that carry back to their places after it; needed where feet step, as smoothing over
                time lets them start early and arrive late.
            again: (T,) frames of the same targets to solve anew, from what the last call found; the others stay.

        Returns:
            (T, nq) configurations.
        """
        config, frames = self.config, targets.num_frames
        support = gaussian_filter1d(targets.support, REGULARISER_SIGMA, axis=0, mode="nearest")
        height, shift, held = targets.base_height.copy(), np.zeros((frames, 2)), None
        qpos, which = np.repeat(start[None], frames, axis=0), np.arange(frames)
        if again is not None:
            (qpos, height, shift, held), which = self._found, np.flatnonzero(again)
        for turn in range(config.passes):
            com = com_for_pressure(support, height, self.fps)
            com = targets.still[:, None] * targets.support + (1.0 - targets.still[:, None]) * (com + shift)
            if turn == 0:
                qpos = self._explore(targets, com, start, qpos, which)
            else:
                enough = ROUGH if turn + 1 < config.passes else CONVERGED
                qpos = self._follow(targets, com, smooth(qpos, REGULARISER_SIGMA), start, qpos, which, enough)
            if turn + 1 < config.passes:
                error, height = self._pressure_error(qpos, targets)
                shift = shift - config.balance_gain * com_for_pressure(error, height, self.fps)
            progress((turn + 1) / config.passes, f"inverse kinematics, pass {turn + 1} of {config.passes}")
        path = smooth(qpos, sigma)
        if hold:
            held = self._held(targets, path, start, path if held is None else held, which)
        self._found = qpos, height, shift, held
        return path if held is None else smooth(held, HELD_SIGMA)

    def _held(self, targets: Targets, path: Array, start: Array, before: Array, which: NDArray[np.int64]) -> Array:
        """Solve once more for the smoothed path (T, nq), so that the feet that carry are where they were again.

        The base is wanted where smoothing brought it, and the limbs in the air in the shape that it gave them. What a
        foot is moved by in contact fades out before and after it, and so does its pull at the base.
        """
        places = self.kin.along(path)
        foot_w, firm = places.feet.copy(), np.zeros_like(targets.grip)
        for k in range(foot_w.shape[1]):
            held = targets.grip[:, k] > FIRM
            if held.any():
                near = nearest_on(held)
                u = np.clip(1.0 - np.abs(np.arange(len(held)) - near) / RETURN, 0.0, 1.0)
                firm[:, k] = u**3 * (10.0 + u * (-15.0 + 6.0 * u))
                foot_w[:, k] += firm[:, k, None] * (targets.foot_w[near, k] - places.feet[near, k])
        wanted = targets.with_(
            base_quat=path[:, 3:7],
            base_height=path[:, 2],
            foot_w=foot_w,
            foot_b=places.feet_b,
            knee_b=places.knees_b,
            grip=firm,
        )
        return self._follow(wanted, places.com[:, :2], path, start, before, which, firm=firm)

    def _explore(self, targets: Targets, com: Array, start: Array, before: Array, which: NDArray[np.int64]) -> Array:
        """First pass: each frame from the solution of the one before it, which decides about the branch of each leg."""
        joints, program, solved = self.kin.address.joint_qpos, self._program, before.copy()
        program.aim(targets, com, targets.rest, targets.pull, pace=self._pace(targets))
        for t in which.tolist():
            at = solved[t - 1] if t else start
            at = program.settle(at[None], t, at[joints], self.config.iterations, ROUGHEST)[0]
            if (caught := self._caught(targets, t, at)).any():
                at = self._freed(targets, t, at, caught)
            solved[t] = at
        return solved

    def _follow(
        self,
        targets: Targets,
        com: Array,
        guide: Array,
        start: Array,
        before: Array,
        which: NDArray[np.int64],
        enough: float = CONVERGED,
        firm: Array | None = None,
    ) -> Array:
        """Later pass: some frames together, from a guide (T, nq) that their joints are pulled to; the others stay."""
        config, joints, program = self.config, self.kin.address.joint_qpos, self._program
        pace = self._pace(targets)
        program.aim(targets, com, guide[:, joints], np.full(len(guide), config.weight_smooth), firm, pace)
        begin = before.copy()
        begin[which] = guide[which]
        solved = program.settle(begin, 0, start[joints], config.iterations, enough, which)
        return within_speed(solved, joints, start[joints], pace)

    def _pace(self, targets: Targets) -> Array:
        """(T, J) how far each joint may turn from frame to frame [rad]: hind legs that carry in the lead are calm, and
        all hind legs about their first axis.

        Upright, a foot below its hip is near that axis, and the leg could turn over to its other side at once, with the
        trunk jumping aside. Arms wave as fast as they can.
        """
        pace = np.repeat(self._program.max_step[None], targets.num_frames, axis=0)
        lead = targets.pull > self.config.weight_posture
        for k in self.kin.hind:
            first, *others = self.kin.leg_joints[k]
            carries = targets.grip[:, k] > FIRM
            pace[lead | carries, first] = self._calm[first]
            pace[np.ix_(lead & carries, others)] = self._calm[others]
        return pace

    def _caught(self, targets: Targets, t: int, qpos: Array) -> NDArray[np.bool_]:
        """(F,) legs whose foot carries but is far from its place, with a joint at its limit: the wrong branch."""
        robot, joints = self.kin.robot, qpos[self.kin.address.joint_qpos]
        room = np.minimum(joints - robot.joint_lower, robot.joint_upper - joints) - self.config.limit_margin
        caught = (targets.grip[t] > FIRM) & (room[self.kin.leg_joints] < AT_LIMIT).any(axis=1)
        if caught.any():  # Rare; where the feet are takes longer to find.
            caught &= np.linalg.norm(self.kin.feet(qpos) - targets.foot_w[t], axis=1) > CAUGHT
        return caught

    def _freed(self, targets: Targets, t: int, qpos: Array, caught: NDArray[np.bool_]) -> Array:
        """Frame ``t`` solved again with the legs that are caught at rest, however far that is; the nearer one."""
        begin = qpos.copy()
        begin[self.kin.address.joint_qpos[self.kin.leg_joints[caught]]] = targets.rest[t][self.kin.leg_joints[caught]]
        other = self._program.settle(begin[None], t, None, FREEING)[0]
        firm = targets.grip[t] > FIRM
        miss = [np.linalg.norm(self.kin.feet(q) - targets.foot_w[t], axis=1)[firm].max() for q in (qpos, other)]
        return other if miss[1] < 0.5 * miss[0] else qpos

    def _pressure_error(self, qpos: Array, targets: Targets) -> tuple[Array, Array]:
        """How far (T, 2) the centre of pressure lies outside the support, smoothed, and the mass height (T,)."""
        needs = dynamics(self.kin, smooth(qpos, 1.5), self.fps)
        error = np.nan_to_num(outside_support(needs.pressure, targets.foot_w[:, :, :2], targets.contact))
        error[needs.force[:, 2] <= LOADED * needs.weight] = 0.0
        length = np.linalg.norm(error, axis=1, keepdims=True)
        error *= np.minimum(1.0, LARGEST_ERROR / np.maximum(length, 1e-9))
        return gaussian_filter1d(error, 2.0, axis=0, mode="nearest"), needs.com[:, 2]


def within_speed(path: Array, joints: NDArray[np.int64], before: Array, pace: Array) -> Array:
    """The path (T, nq), where it is too fast with joints no farther than their pace from the frame before.

    Args:
        path: configurations.
        joints: (J,) where the joints are in them.
        before: (J,) joints of the frame before the first [rad].
        pace: (T, J) how far each may go [rad].
    """
    steps = np.diff(path[:, joints], axis=0, prepend=before[None])
    late = np.flatnonzero((np.abs(steps) > pace + 1e-9).any(axis=1))
    if not len(late):
        return path
    kept = path.copy()
    for t in range(int(late[0]), len(path)):
        last = kept[t - 1, joints] if t else before
        kept[t, joints] = np.clip(path[t, joints], last - pace[t], last + pace[t])
    return kept


def smooth(qpos: Array, sigma: float) -> Array:
    """Gaussian over time of (T, nq) configurations; the quaternion is made continuous and unit again.

    A weighted mean of joint angles stays within position limits and within velocity limits.
    """
    if sigma <= 0:
        return qpos.copy()
    path = qpos.copy()
    signs = np.cumprod(np.where(np.sum(path[1:, 3:7] * path[:-1, 3:7], axis=1) < 0, -1.0, 1.0))
    path[1:, 3:7] *= signs[:, None]
    path = gaussian_filter1d(path, sigma, axis=0, mode="nearest")
    path[:, 3:7] /= np.linalg.norm(path[:, 3:7], axis=1, keepdims=True)
    return path


def softened(qpos: Array, stretches: list[tuple[int, int]], sigma: float, margin: float) -> Array:
    """Smooth some stretches of (T, nq) configurations and leave the rest as it is.

    Args:
        qpos: the motion.
        stretches: their first and last frames.
        sigma: standard deviation of the Gaussian over time [frames].
        margin: frames before and after a stretch over which the smoothing fades in and out.
    """
    away, frames = np.full(len(qpos), np.inf), np.arange(len(qpos))
    for start, stop in stretches:
        away = np.minimum(away, np.maximum(np.maximum(start - frames, frames - stop), 0))
    u = np.clip(1.0 - away / margin, 0.0, 1.0)
    weight = (u * u * (3.0 - 2.0 * u))[:, None]
    path = smooth(qpos, 0.0)
    soft = smooth(qpos, sigma)
    soft[:, 3:7] *= np.where((soft[:, 3:7] * path[:, 3:7]).sum(axis=1, keepdims=True) < 0, -1.0, 1.0)
    path += weight * (soft - path)
    path[:, 3:7] /= np.linalg.norm(path[:, 3:7], axis=1, keepdims=True)
    return path
