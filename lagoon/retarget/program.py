"""Steps of the inverse kinematics: all wishes and limits of a frame as one quadratic programme, solved by daqp.

What enters: Targets and configurations of some of their frames. What leaves: better configurations. The wishes are
those of mink's tasks, put together in one matrix, and that for all frames at once: a step is taken some ten thousand
times for a clip. Only daqp is called frame by frame, since joints may go only so far from where they were before.
"""

from __future__ import annotations

from collections.abc import Collection

import daqp
import mujoco
import numpy as np
from numpy.typing import NDArray

from lagoon.errors import LagoonError
from lagoon.retarget.apart import PairsApart
from lagoon.retarget.config import RetargetConfig
from lagoon.retarget.kinematics import Kinematics, moves, rotation_error
from lagoon.retarget.targets import Targets

Array = NDArray[np.float64]

DAMPING = 1e-4
"""Levenberg-Marquardt damping of every degree of freedom."""
FIRM = 0.999
"""Grip from which a foot's place in the world counts; before, its leg alone brings it there, so landing
does not pull the base down."""
LANDING = 20.0
"""How much more a leg that is about to land follows its path than one that gestures."""
LONGEST_STEP = 0.3
"""No coordinate moves more than this in one step [rad, m]; the linear model is only good for short ones."""
CONVERGED = 2e-4
"""The same at the end [rad, m]."""
NEAR_FLOOR = 0.12
"""Points of the robot higher than this [m] are not kept above the floor; no step is that long."""
UNBOUNDED = 1e30


class StepProgram:
    """The programmes of one robot; not for use from several threads.

    Rows: base orientation (3), feet in world (3 F), base height (1), feet and knees in the base frame (6 F), centre of
    mass in x and y (2); points come as all x, all y, all z. The pull of the joints to rest is added to the diagonal.
    """

    def __init__(self, kin: Kinematics, config: RetargetConfig, max_step: Array) -> None:
        self.kin, self.config, self.max_step = kin, config, max_step
        self._data = mujoco.MjData(kin.model)
        model, address = kin.model, kin.address
        self._sites, self._joints, self._dofs = address.foot_site, address.joint_qpos, address.joint_dof
        self._feet = len(self._sites)
        bodies = [*model.site_bodyid[self._sites], *kin.knees, kin.base]
        self._moves = np.array([moves(model, int(body)) for body in bodies])
        self._floor_bodies = np.array([point.body for point in kin.clearance])
        self._floor_offsets = np.array([point.offset for point in kin.clearance])
        self._floor_radii = np.array([point.radius for point in kin.clearance])
        self._floor_moves = np.array([moves(model, int(body)) for body in self._floor_bodies])
        ids = [model.joint(name).id for name in kin.robot.joint_names]
        limited = model.jnt_limited[ids].astype(bool)
        self._lower = np.where(limited, model.jnt_range[ids, 0] + config.limit_margin, -UNBOUNDED)
        self._upper = np.where(limited, model.jnt_range[ids, 1] - config.limit_margin, UNBOUNDED)
        self._apart: PairsApart | None = None
        self._above, self._below = np.zeros(0), np.zeros(0)

    def keep_apart(self, pairs: Collection[tuple[str, str]]) -> None:
        """Keep pairs of the robot's shapes, by their names, apart; every pair costs time in every step."""
        self._apart = PairsApart(self.kin, pairs)

    def aim(
        self,
        targets: Targets,
        com: Array,
        rest: Array,
        posture: Array,
        firm: Array | None = None,
        pace: Array | None = None,
    ) -> None:
        """Set what is wanted of T frames.

        Args:
            targets: T frames.
            com: (T, 2) centre of mass [m].
            rest: (T, J) resting joints [rad].
            posture: (T,) squared cost of leaving them.
            firm: (T, F) share of the cost of a foot's place in the world; without it all of it where the grip is firm.
            pace: (T, J) how far a joint may be from the frame before [rad]; without it ``max_step``.
        """
        config, feet = self.config, self._feet
        if firm is None:
            firm = (targets.grip > FIRM).astype(float)
        free = config.weight_foot * (1.0 + LANDING * targets.grip) * (1.0 - firm)
        knees = config.weight_elbow * targets.knee_on * (1.0 - targets.grip)
        squares = np.empty((targets.num_frames, 6 + 9 * feet))
        squares[:, :3] = config.weight_base_rotation
        squares[:, 3 : 3 + 3 * feet] = np.tile(config.weight_contact * firm, 3)
        squares[:, 3 + 3 * feet] = config.weight_base_height
        squares[:, 4 + 3 * feet : -2] = np.tile(np.concatenate([free, knees], axis=1), 3)
        squares[:, -2:] = config.weight_com
        self._scale = np.sqrt(squares)
        self._quat, self._foot_w, self._height = targets.base_quat, targets.foot_w, targets.base_height
        self._wanted_b = np.concatenate([targets.foot_b, targets.knee_b], axis=1)
        self._grip = targets.grip[:, :, None]
        self._wanted_com, self._rest, self._posture = com, rest, posture
        self._pace = np.broadcast_to(self.max_step, rest.shape) if pace is None else pace

    def settle(
        self,
        begin: Array,
        first: int,
        previous: Array | None,
        iterations: int,
        converged: float = CONVERGED,
        which: NDArray[np.int64] | None = None,
    ) -> Array:
        """Solve consecutive frames together.

        Args:
            begin: (N, nq) where each starts.
            first: which of the frames that were aimed at is the first of them.
            previous: (J,) joints of the frame before, from which the first may be no farther than its pace, as each
                later one from the one before it; None is no limit for the first.
            iterations: most steps of each.
            converged: a frame is solved when no coordinate moves more than this [rad, m].
            which: those of the N to solve, all without it; the others move only where these would be too far from them.

        Returns:
            (N, nq) configurations.

        Raises:
            LagoonError: the limits contradict each other.
        """
        path = begin.copy()
        todo = np.arange(len(path)) if which is None else which
        for _ in range(iterations):
            moving = todo[self._improve(path, todo, first, previous) > converged]
            if len(path) > 1:
                # Whoever is as far from the frame before as may be goes where that goes.
                far = np.abs(np.diff(path[:, self._joints], axis=0)) > self._pace[first + 1 : first + len(path)] - 1e-9
                after = np.flatnonzero(far.any(axis=1)) + 1
                moving = np.union1d(moving, np.intersect1d(after, todo + 1))
            if not len(moving):
                break
            todo = moving
        return path

    def _improve(self, path: Array, frames: NDArray[np.int64], first: int, previous: Array | None) -> Array:
        """One step of some frames of a (N, nq) path, in place; returns how long each is [rad, m]."""
        self.place(path[frames])
        hessian, gradient = self.objective(frames + first)
        rows, room = self._floor()
        near = room < NEAR_FLOOR
        sizes = np.empty(len(frames))
        for i, t in enumerate(frames.tolist()):
            now, before = path[t], previous if t == 0 else path[t - 1, self._joints]
            apart = self._apart.found[i] if self._apart is not None else None
            box = self._box(before, self._pace[first + t])
            step = self.step(hessian[i], gradient[i], now[self._joints], box, rows[i, near[i]], room[i, near[i]], apart)
            sizes[i] = size = max(step.max(), -step.min())
            if size > LONGEST_STEP:
                step *= LONGEST_STEP / size
            mujoco.mj_integratePos(self.kin.model, now, step, 1.0)
        return sizes

    def _box(self, previous: Array | None, pace: Array) -> tuple[Array, Array]:
        """Lowest and highest angles (J,) of a frame [rad]: the limits, no farther than its pace from the one before."""
        if previous is None:
            return self._lower, self._upper
        lower, upper = np.maximum(self._lower, previous - pace), np.minimum(self._upper, previous + pace)
        return np.minimum(lower, upper), upper

    def step(
        self,
        hessian: Array,
        gradient: Array,
        joints: Array,
        box: tuple[Array, Array],
        rows: Array,
        room: Array,
        apart: tuple[Array, Array] | None = None,
    ) -> Array:
        """Best step (nv,) of one frame: least squares of all wishes within the limits.

        Args:
            hessian: (nv, nv) of the wishes.
            gradient: (nv,) of them.
            joints: (J,) where the joints are [rad].
            box: lowest and highest angles, (J,) each [rad].
            rows: (K, nv) further limits.
            room: (K,) their upper bounds [m].
            apart: rows and bounds of shapes to keep apart; they give way where the box leaves no such step.
        """
        if apart is not None:
            both = (np.concatenate(pair) for pair in zip((rows, room), apart, strict=True))
            step, flag = self._solved(hessian, gradient, joints, box, *both)
            if flag > 0:
                return step
        step, flag = self._solved(hessian, gradient, joints, box, rows, room)
        if flag <= 0:
            told = f"The inverse kinematics of {self.kin.robot.name} found no step within its limits (daqp: {flag})."
            raise LagoonError(f"{told} Expected a motion that the limits of the joints allow.")
        return step

    def _solved(
        self, hessian: Array, gradient: Array, joints: Array, box: tuple[Array, Array], rows: Array, room: Array
    ) -> tuple[Array, int]:
        """The best step (nv,), and what daqp says of it: above 0 if there is one."""
        lower, upper = box
        nv, number = len(gradient), len(gradient) + len(room)
        if number > len(self._above):
            self._above, self._below = np.full(number, UNBOUNDED), np.full(number, -UNBOUNDED)
        above, below = self._above[:number], self._below[:number]
        above[self._dofs] = upper - joints
        below[self._dofs] = lower - joints
        above[nv:] = room
        return daqp.solve(hessian, gradient, rows, above, below)[0:3:2]

    def place(self, qpos: Array) -> None:
        """Put the robot into N configurations (N, nq); objective and limits are about these then."""
        model, data, base, count = self.kin.model, self._data, self.kin.base, len(qpos)
        self._at = qpos
        self._body_pos, self._body_turn = np.empty((count, model.nbody, 3)), np.empty((count, model.nbody, 9))
        self._body_quat = np.empty((count, 4))
        self._site_pos, self._cdof = np.empty((count, model.nsite, 3)), np.empty((count, model.nv, 6))
        self._com, self._com_jacobian = np.empty((count, 3)), np.empty((count, 3, model.nv))
        if self._apart is not None:
            self._apart.clear()
        now, pos, turn, quat = data.qpos, data.xpos, data.xmat, data.xquat[base]
        sites, cdof, com = data.site_xpos, data.cdof, data.subtree_com[base]
        for i in range(count):
            now[:] = qpos[i]
            mujoco.mj_kinematics(model, data)
            mujoco.mj_comPos(model, data)
            mujoco.mj_jacSubtreeCom(model, data, self._com_jacobian[i], base)
            self._body_pos[i], self._body_turn[i], self._body_quat[i] = pos, turn, quat
            self._site_pos[i], self._cdof[i], self._com[i] = sites, cdof, com
            if self._apart is not None:
                self._apart.look(data)

    def objective(self, frames: NDArray[np.int64]) -> tuple[Array, Array]:
        """Hessians (N, nv, nv) and gradients (N, nv) of the squared, weighted wishes of N frames."""
        feet, nv, count = self._feet, self.kin.model.nv, len(frames)
        which = slice(frames[0], frames[-1] + 1) if frames[-1] - frames[0] == count - 1 else frames
        rows, error = np.zeros((count, 6 + 9 * feet, nv)), np.empty((count, 6 + 9 * feet))
        turn = self._body_turn[:, self.kin.base].reshape(-1, 3, 3)
        origin = self._body_pos[:, self.kin.base]
        sites = self._site_pos[:, self._sites]
        points = np.concatenate([sites, self._body_pos[:, self.kin.knees], origin[:, None]], axis=1)
        jacobian = self._jacobian(points)
        at = 3 + 3 * feet

        for i, t in enumerate(frames.tolist()):
            error[i, :3], rows[i, :3, 3:6] = rotation_error(self._quat[t], self._body_quat[i])
        error[:, 3:at] = (sites - self._foot_w[which]).transpose(0, 2, 1).reshape(count, -1)
        rows[:, 3:at] = jacobian[:, :, :feet].reshape(count, -1, nv)
        error[:, at] = origin[:, 2] - self._height[which]
        rows[:, at] = jacobian[:, 2, -1]
        wanted_b = self._wanted_b[which]
        seen = (points[:, :-1] - origin[:, None]) @ turn - wanted_b
        landing = (self._foot_w[which] - origin[:, None]) @ turn
        seen[:, :feet] -= self._grip[which] * (landing - wanted_b[:, :feet])
        error[:, at + 1 : -2] = seen.transpose(0, 2, 1).reshape(count, -1)
        limbs = jacobian[:, :, :-1, self._dofs].reshape(count, 3, -1)
        rows[:, at + 1 : -2, self._dofs] = (turn.transpose(0, 2, 1) @ limbs).reshape(count, 6 * feet, -1)
        error[:, -2:] = self._com[:, :2] - self._wanted_com[which]
        rows[:, -2:] = self._com_jacobian[:, :2]

        scale = self._scale[which]
        rows *= scale[:, :, None]
        hessian = rows.transpose(0, 2, 1) @ rows
        gradient = ((error * scale)[:, None] @ rows)[:, 0]
        posture = self._posture[which][:, None]
        diagonal = hessian.reshape(count, -1)[:, :: nv + 1]
        diagonal += DAMPING
        diagonal[:, self._dofs] += posture
        gradient[:, self._dofs] += posture * (self._at[:, self._joints] - self._rest[which])
        return hessian, gradient

    def _jacobian(self, points: Array) -> Array:
        """(N, 3, P, nv) derivative of feet, knees and base origin (N, P, 3) in world; as mj_jac, for all at once."""
        count, number = points.shape[:2]
        off = points - self._com[:, None]
        x, y, z = off[:, :, 0], off[:, :, 1], off[:, :, 2]
        skew = np.zeros((count, 3, number, 3))
        skew[:, 0, :, 1], skew[:, 0, :, 2] = z, -y
        skew[:, 1, :, 0], skew[:, 1, :, 2] = -z, x
        skew[:, 2, :, 0], skew[:, 2, :, 1] = y, -x
        turning, moving = self._cdof[:, :, :3].transpose(0, 2, 1), self._cdof[:, :, 3:].transpose(0, 2, 1)
        around = (skew.reshape(count, -1, 3) @ turning).reshape(count, 3, number, -1)
        return (around + moving[:, :, None]) * self._moves

    def _floor(self) -> tuple[Array, Array]:
        """Rows (N, P, nv) and bounds (N, P) [m]: no point of the robot goes through the floor."""
        turns = self._body_turn[:, self._floor_bodies].reshape(len(self._at), -1, 3, 3)
        places = self._body_pos[:, self._floor_bodies] + (turns @ self._floor_offsets[:, :, None])[..., 0]
        off = places - self._com[:, None]
        turning, moving = self._cdof[:, None, :, :3], self._cdof[:, None, :, 5]
        rise = moving + off[:, :, 1:2] * turning[..., 0] - off[:, :, :1] * turning[..., 1]
        return -rise * self._floor_moves, places[:, :, 2] - self._floor_radii
