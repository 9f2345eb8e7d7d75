"""Whole-body inverse kinematics of a clip, on mink with the daqp solver.

What enters: Targets. What leaves: configurations (T, nq) that keep joint position and velocity limits
and stay above the floor. The clip is solved several times: later passes are pulled to the smoothed
previous one, so that no joint jumps between branches, and move the centre of mass to where the measured
centre of pressure asks for it.
"""

from __future__ import annotations

from collections.abc import Collection

import mink
import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter1d

from lagoon.progress import Progress, silent
from lagoon.retarget.balance import com_for_pressure, dynamics, nearest_in_support
from lagoon.retarget.config import RetargetConfig
from lagoon.retarget.kinematics import Kinematics, collision_model
from lagoon.retarget.targets import Targets
from lagoon.retarget.tasks import BasePointsTask, FloorLimit, TravelLimit, WorldPointsTask

Array = NDArray[np.float64]

DAMPING = 1e-4
"""Levenberg-Marquardt damping of every degree of freedom."""
CONVERGED = 2e-4
"""A frame is solved when no coordinate moves more than this [rad, m]."""
FIRM = 0.999
"""Grip from which a foot's place in the world counts; before, its leg alone brings it there, so landing
does not pull the base down."""
LANDING = 20.0
"""How much more a leg that is about to land follows its path than one that gestures."""
LOADED = 0.3
"""With less of the weight on the floor than this share the pressure point says nothing."""
LARGEST_ERROR = 0.08
"""A larger error of the pressure point is not a matter of where the mass is; no more than this is fed back [m]."""
CLEARANCE = 0.02
"""Distance kept between shapes that would touch [m]; the smoothing after it takes some of it."""
NEAR = 0.05
"""Shapes farther apart than this are left alone [m]."""
CAUGHT = 0.03
"""A foot that carries and stays farther from its place than this [m] may be on the wrong branch."""
AT_LIMIT = 0.005
"""A joint nearer than this to the end of its range is at it [rad]."""
FREEING = 60
"""Most quadratic programmes that free a leg."""
REGULARISER_SIGMA = 3.0
"""Smoothing of the previous pass before it pulls [control periods]."""


class WholeBodyIK:
    """Solver of one robot; keeps its mink objects between calls."""

    def __init__(self, kin: Kinematics, config: RetargetConfig, fps: float) -> None:
        self.kin, self.config, self.fps = kin, config, fps
        self.configuration = mink.Configuration(kin.model)
        base = kin.robot.base_body
        self._orientation = mink.FrameTask(base, "body", 0.0, float(np.sqrt(config.weight_base_rotation)))
        self._world = WorldPointsTask(kin)
        self._shape = BasePointsTask(kin)
        self._com = mink.ComTask(np.sqrt([config.weight_com, config.weight_com, 0.0]))
        self._posture = mink.PostureTask(kin.model, cost=0.0)
        self._tasks = [self._orientation, self._world, self._shape, self._com, self._posture]
        step = config.velocity_share * kin.robot.joint_vel_limit / fps
        self._travel = TravelLimit(kin, step)
        self._own_limits: list[mink.Limit] = [
            mink.ConfigurationLimit(kin.model, gain=1.0, min_distance_from_limits=config.limit_margin),
            self._travel,
            FloorLimit(kin, depth=0.0),
        ]
        self._limits = self._own_limits

    def keep_apart(self, pairs: Collection[tuple[str, str]]) -> None:
        """Keep pairs of the robot's shapes, by their names, CLEARANCE apart from the next call on.

        Every pair costs time in every step, so name those only that touch without it.
        """
        # The model for checking has the same shapes under the same numbers, and they collide with each other.
        model = collision_model(self.kin.robot)
        groups = [([a], [b]) for a, b in sorted(pairs)]
        self._limits = [*self._own_limits, mink.CollisionAvoidanceLimit(model, groups, 1.0, CLEARANCE, NEAR)]

    def pose(self, targets: Targets, start: Array, iterations: int = 60) -> Array:
        """Solve frame 0 of ``targets`` alone, from ``start`` (nq,), with its support as centre of mass."""
        self._travel.previous = None
        return self._frame(targets, 0, start, targets.support[0], targets.rest[0], float(targets.pull[0]), iterations)

    def solve(self, targets: Targets, start: Array, sigma: float, progress: Progress = silent) -> Array:
        """Solve every frame, in several passes.

        Args:
            targets: T frames.
            start: (nq,) configuration of frame 0.
            sigma: standard deviation of the last smoothing [control periods].
            progress: told the share done.

        Returns:
            (T, nq) configurations.
        """
        config, frames = self.config, targets.num_frames
        support = gaussian_filter1d(targets.support, REGULARISER_SIGMA, axis=0, mode="nearest")
        height = targets.base_height.copy()
        shift = np.zeros((frames, 2))
        qpos = np.repeat(start[None], frames, axis=0)
        for turn in range(config.passes):
            com = com_for_pressure(support, height, self.fps)
            com = targets.still[:, None] * targets.support + (1.0 - targets.still[:, None]) * (com + shift)
            guide = None if turn == 0 else smooth(qpos, REGULARISER_SIGMA)
            qpos = self._pass(targets, qpos, com, guide, start)
            if turn + 1 < config.passes:
                error, height = self._pressure_error(qpos, targets)
                shift -= config.balance_gain * com_for_pressure(error, height, self.fps)
            progress((turn + 1) / config.passes, f"inverse kinematics, pass {turn + 1} of {config.passes}")
        return smooth(qpos, sigma)

    def _pass(self, targets: Targets, previous: Array, com: Array, guide: Array | None, start: Array) -> Array:
        config, joints = self.config, self.kin.address.joint_qpos
        solved = np.empty_like(previous)
        self._travel.previous = start[joints]
        for t in range(targets.num_frames):
            if guide is None:
                begin = solved[t - 1] if t else start
                rest, weight = targets.rest[t], float(targets.pull[t])
            else:
                begin, rest, weight = guide[t].copy(), guide[t][joints], config.weight_smooth
                # Start inside the box that the velocity limit leaves around the previous frame.
                centre = solved[t - 1][joints] if t else start[joints]
                begin[joints] = np.clip(begin[joints], centre - self._travel.max_step, centre + self._travel.max_step)
            solved[t] = self._frame(targets, t, begin, com[t], rest, weight, config.iterations)
            if guide is None and (caught := self._caught(targets, t, solved[t])).any():
                solved[t] = self._freed(targets, t, solved[t], com[t], caught)
            self._travel.previous = solved[t][joints]
        return solved

    def _caught(self, targets: Targets, t: int, qpos: Array) -> NDArray[np.bool_]:
        """(F,) legs whose foot carries but is far from its place, with a joint at its limit: the wrong branch."""
        off = np.linalg.norm(self.kin.feet(qpos) - targets.foot_w[t], axis=1) > CAUGHT
        if not (off & (targets.grip[t] > FIRM)).any():
            return np.zeros(len(off), bool)
        robot, joints = self.kin.robot, qpos[self.kin.address.joint_qpos]
        room = np.minimum(joints - robot.joint_lower, robot.joint_upper - joints) - self.config.limit_margin
        return off & (targets.grip[t] > FIRM) & (room[self.kin.leg_joints] < AT_LIMIT).any(axis=1)

    def _freed(self, targets: Targets, t: int, qpos: Array, com: Array, caught: NDArray[np.bool_]) -> Array:
        """Frame ``t`` solved again with the legs that are caught at rest, however far that is; the nearer one."""
        begin = qpos.copy()
        begin[self.kin.address.joint_qpos[self.kin.leg_joints[caught]]] = targets.rest[t][self.kin.leg_joints[caught]]
        self._travel.previous = None
        other = self._frame(targets, t, begin, com, targets.rest[t], float(targets.pull[t]), FREEING)
        firm = targets.grip[t] > FIRM
        miss = [np.linalg.norm(self.kin.feet(q) - targets.foot_w[t], axis=1)[firm].max() for q in (qpos, other)]
        return other if miss[1] < 0.5 * miss[0] else qpos

    def _frame(
        self, targets: Targets, t: int, begin: Array, com: Array, rest: Array, posture: float, iterations: int
    ) -> Array:
        config, configuration = self.config, self.configuration
        configuration.update(begin)
        rotation = mink.SO3(wxyz=targets.base_quat[t])
        self._orientation.set_target(mink.SE3.from_rotation_and_translation(rotation, np.zeros(3)))
        self._world.target[:-1] = targets.foot_w[t]
        self._world.target[-1, 2] = targets.base_height[t]
        grip = targets.grip[t]
        firm = (grip > FIRM).astype(float)
        self._world.set_weights(config.weight_contact * firm, config.weight_base_height)
        feet = len(grip)
        self._shape.target[:feet], self._shape.target[feet:] = targets.foot_b[t], targets.knee_b[t]
        self._shape.landing_w, self._shape.grip = targets.foot_w[t], grip
        self._shape.set_weights(
            config.weight_foot * (1.0 + LANDING * grip) * (1.0 - firm),
            config.weight_elbow * targets.knee_on[t] * (1.0 - grip),
        )
        self._com.set_target(np.array([com[0], com[1], 0.0]))
        wanted = begin.copy()
        wanted[self.kin.address.joint_qpos] = rest
        self._posture.set_target(wanted)
        cost = np.zeros(self.kin.model.nv)
        cost[self.kin.address.joint_dof] = np.sqrt(posture)
        self._posture.set_cost(cost)
        for _ in range(iterations):
            step = mink.solve_ik(
                configuration, self._tasks, dt=1.0, solver="daqp", damping=DAMPING, limits=self._limits
            )
            # Far from the solution the linear model is only good for short steps.
            step *= min(1.0, 0.3 / max(float(np.abs(step).max()), 1e-9))
            configuration.integrate_inplace(step, 1.0)
            if np.abs(step).max() < CONVERGED:
                break
        return configuration.q

    def _pressure_error(self, qpos: Array, targets: Targets) -> tuple[Array, Array]:
        """How far (T, 2) the centre of pressure lies outside the support, smoothed, and the mass height (T,)."""
        needs = dynamics(self.kin, smooth(qpos, 1.5), self.fps)
        error = np.zeros((len(qpos), 2))
        for t in range(len(qpos)):
            feet = targets.foot_w[t, targets.contact[t], :2]
            if len(feet) and needs.force[t, 2] > LOADED * needs.weight:
                error[t] = needs.pressure[t] - nearest_in_support(needs.pressure[t], feet)
        length = np.linalg.norm(error, axis=1, keepdims=True)
        error *= np.minimum(1.0, LARGEST_ERROR / np.maximum(length, 1e-9))
        return gaussian_filter1d(error, 2.0, axis=0, mode="nearest"), needs.com[:, 2]


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
