"""What is wanted of the robot in each frame, as squares of its next step; and how near the floor it is.

What enters: Targets and configurations of some of their frames. What leaves: the normal equations of those frames, and
the rows of the points that are near the floor. The wishes are those of mink's tasks, put together in one matrix for
all frames at once: this is asked for some ten thousand times for a clip.
"""

from __future__ import annotations

import mujoco
import numpy as np
from numpy.typing import NDArray

from lagoon.retarget.apart import PairsApart
from lagoon.retarget.config import RetargetConfig
from lagoon.retarget.kinematics import Kinematics, moves, rotation_errors
from lagoon.retarget.targets import Targets

Array = NDArray[np.float64]

DAMPING = 1e-4
"""Levenberg-Marquardt damping of every degree of freedom."""
FIRM = 0.999
"""Grip from which a foot's place in the world counts; before, its leg alone brings it there, so landing
does not pull the base down."""
LANDING = 20.0
"""How much more a leg that is about to land follows its path than one that gestures."""
NEAR_FLOOR = 0.12
"""Points of the robot higher than this [m] are not kept above the floor; no step is that long."""
TOGETHER = 48
"""Configurations whose rows are put together at once; more leave the processor's cache."""

CROSS = np.zeros((3, 3, 3))
for _i, _j, _k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
    CROSS[_i, _j, _k], CROSS[_i, _k, _j] = 1.0, -1.0
CROSS = CROSS.reshape(3, 9)
"""p @ CROSS holds the rows of the matrix that turns w into w x p."""


class Wishes:
    """The wishes of one robot; not for use from several threads.

    Rows: base orientation (3), feet in the world, seen from the base (3 F), base height (1), feet and knees in the base
    frame (6 F), centre of mass in x and y (2); points come as x, y, z of each. The pull of the joints to rest is added
    to the diagonal.
    """

    def __init__(self, kin: Kinematics, config: RetargetConfig) -> None:
        self.kin, self.config = kin, config
        self._data = data = mujoco.MjData(kin.model)
        model, address = kin.model, kin.address
        self._sites, self._joints, self._dofs = address.foot_site, address.joint_qpos, address.joint_dof
        self._feet = len(self._sites)
        bodies = [*model.site_bodyid[self._sites], *kin.knees]
        self._feet_at, self._knees_at, self._dofs_at = evenly(self._sites), evenly(kin.knees), evenly(self._dofs)
        self._joints_at = evenly(self._joints)
        # Seen from the base, its own six degrees of freedom move nothing.
        self._moves = np.repeat([moves(model, int(body))[6:] for body in bodies], 3, axis=0)
        self._axis = np.tile(np.arange(3), self._feet)
        self._floor_bodies = np.array([point.body for point in kin.clearance])
        self._floor_offsets = np.array([point.offset for point in kin.clearance])
        self._floor_radii = np.array([point.radius for point in kin.clearance])
        self._floor_moves = -np.array([moves(model, int(body)) for body in self._floor_bodies])
        self.apart: PairsApart | None = None
        self._parts = (
            data.xpos,
            data.xmat,
            data.xquat[kin.base],
            data.site_xpos,
            data.cdof,
            data.subtree_com[kin.base],
            np.zeros((3, model.nv)),
        )
        self._one = tuple(part[None] for part in self._parts)
        self._many = tuple(np.empty((0, *part.shape)) for part in self._parts)
        # What stays in them is zero, or the identity.
        self._rows = np.zeros((TOGETHER, 6 + 9 * self._feet, model.nv))
        self._error, self._seen = np.empty(self._rows.shape[:2]), np.empty((TOGETHER, 3 * self._feet + 1, 3))
        self._arms = np.zeros((TOGETHER, 2 * self._feet, 3, 6))
        self._arms[..., 3:] = np.eye(3)

    def aim(self, targets: Targets, com: Array, rest: Array, posture: Array, firm: Array | None = None) -> None:
        """Set what is wanted of T frames.

        Args:
            targets: T frames.
            com: (T, 2) centre of mass [m].
            rest: (T, J) resting joints [rad].
            posture: (T,) squared cost of leaving them.
            firm: (T, F) share of the cost of a foot's place in the world; without it all of it where the grip is firm.
        """
        config, feet = self.config, self._feet
        if firm is None:
            firm = (targets.grip > FIRM).astype(float)
        free = config.weight_foot * (1.0 + LANDING * targets.grip) * (1.0 - firm)
        knees = config.weight_elbow * targets.knee_on * (1.0 - targets.grip)
        squares = np.empty((targets.num_frames, 6 + 9 * feet))
        squares[:, :3] = config.weight_base_rotation
        squares[:, 3 : 3 + 3 * feet] = np.repeat(config.weight_contact * firm, 3, axis=1)
        squares[:, 3 + 3 * feet] = config.weight_base_height
        squares[:, 4 + 3 * feet : -2] = np.repeat(np.concatenate([free, knees], axis=1), 3, axis=1)
        squares[:, -2:] = config.weight_com
        self._scale = np.sqrt(squares)
        self._quat, self._foot_w, self._height = targets.base_quat, targets.foot_w, targets.base_height
        self._wanted_b = np.concatenate([targets.foot_b, targets.knee_b], axis=1)
        self._grip = targets.grip[:, :, None]
        self._wanted_com, self._rest, self._posture = com, rest, posture[:, None]

    def place(self, qpos: Array) -> None:
        """Put the robot into N configurations (N, nq); objective and floor are about these then."""
        model, data, base, count = self.kin.model, self._data, self.kin.base, len(qpos)
        self._at = qpos
        if self.apart is not None:
            self.apart.clear()
        if count == 1:
            data.qpos[:] = qpos[0]
            mujoco.mj_kinematics(model, data)
            mujoco.mj_comPos(model, data)
            mujoco.mj_jacSubtreeCom(model, data, self._parts[-1], base)
            self._placed = self._one
            if self.apart is not None:
                self.apart.look(data)
            return
        if count > len(self._many[0]):
            self._many = tuple(np.empty((count, *part.shape)) for part in self._parts)
        self._placed = tuple(part[:count] for part in self._many)
        pos, turn, quat, sites, cdof, com, jacobian = self._placed
        now, (xpos, xmat, xquat, site_xpos, xcdof, xcom, _) = data.qpos, self._parts
        for i in range(count):
            now[:] = qpos[i]
            mujoco.mj_kinematics(model, data)
            mujoco.mj_comPos(model, data)
            mujoco.mj_jacSubtreeCom(model, data, jacobian[i], base)
            pos[i], turn[i], quat[i], sites[i], cdof[i], com[i] = xpos, xmat, xquat, site_xpos, xcdof, xcom
            if self.apart is not None:
                self.apart.look(data)

    def objective(self, frames: NDArray[np.int64]) -> tuple[Array, Array]:
        """Hessians (N, nv, nv) and gradients (N, nv) of the squared, weighted wishes of N frames."""
        nv, count = self.kin.model.nv, len(frames)
        hessian, gradient = np.empty((count, nv, nv)), np.empty((count, nv))
        if count <= TOGETHER:
            self._sum(frames, self._placed, hessian, gradient)
        else:
            for a in range(0, count, TOGETHER):
                part = slice(a, a + TOGETHER)
                self._sum(frames[part], tuple(x[part] for x in self._placed), hessian[part], gradient[part])
        which = evenly(frames)
        posture = self._posture[which]
        diagonal = hessian.reshape(count, -1)[:, :: nv + 1]
        diagonal += DAMPING
        diagonal[:, self._dofs_at] += posture
        gradient[:, self._dofs_at] += posture * (self._at[:, self._joints_at] - self._rest[which])
        return hessian, gradient

    def _sum(self, frames: NDArray[np.int64], placed: tuple[Array, ...], hessian: Array, gradient: Array) -> None:
        """The squares of at most TOGETHER frames, without the pull to rest, into the arrays that are given."""
        feet, count, base = self._feet, len(frames), self.kin.base
        which, at = evenly(frames), 3 + 3 * feet
        pos, turn, quat, sites, cdof, com, com_jacobian = placed
        turn, origin = turn[:, base].reshape(-1, 3, 3), pos[:, base]
        rows, error, seen = self._rows[:count], self._error[:count], self._seen[:count]
        error[:, :3], rows[:, :3, 3:6] = rotation_errors(self._quat[which], quat)

        # Feet, knees, the feet's places in the world, the centre of mass.
        seen[:, :feet], seen[:, feet : 2 * feet] = sites[:, self._feet_at], pos[:, self._knees_at]
        seen[:, 2 * feet : -1], seen[:, -1] = self._foot_w[which], com
        seen = (seen - origin[:, None]) @ turn
        points, landing = seen[:, : 2 * feet], seen[:, 2 * feet : -1]
        wanted_b = self._wanted_b[which]
        limbs = points - wanted_b
        limbs[:, :feet] -= self._grip[which] * (landing - wanted_b[:, :feet])
        error[:, at + 1 : -2] = limbs.reshape(count, -1)
        error[:, 3:at] = (points[:, :feet] - landing).reshape(count, -1)
        error[:, at] = origin[:, 2] - self._height[which]
        error[:, -2:] = com[:, :2] - self._wanted_com[which]

        # Turning and moving of each joint, seen from the base, at the centre of mass; then at the points.
        axes = (cdof[:, 6:].reshape(count, -1, 3) @ turn).reshape(count, -1, 6).transpose(0, 2, 1)
        arms = self._arms[:count]
        arms[..., :3] = ((points - seen[:, -1:]) @ CROSS).reshape(count, 2 * feet, 3, 3)
        jacobian = arms.reshape(count, -1, 6) @ axes
        jacobian *= self._moves
        rows[:, at + 1 : -2, 6:] = jacobian
        rows[:, 3:at, 6:] = jacobian[:, : 3 * feet]
        rows[:, 3:at, 3:6] = (points[:, :feet] @ CROSS).reshape(count, -1, 3)
        rows[:, 3:at, :3] = turn.transpose(0, 2, 1)[:, self._axis]
        rows[:, at, 2] = 1.0
        rows[:, -2:] = com_jacobian[:, :2]

        scale = self._scale[which]
        rows *= scale[:, :, None]
        np.matmul(rows.transpose(0, 2, 1), rows, out=hessian)
        error *= scale
        np.matmul(error[:, None], rows, out=gradient[:, None])

    def floor(self) -> tuple[Array, Array, list[int]]:
        """Points that may come to the floor, K of all N configurations: no part of the robot goes through it.

        Returns:
            Rows (K, nv), bounds (K,) [m], and where those of each configuration begin, N + 1 numbers.
        """
        pos, turn, _, _, cdof, com, _ = self._placed
        rise = (turn[:, self._floor_bodies, 6:] * self._floor_offsets).sum(axis=-1)
        height = pos[:, self._floor_bodies, 2] + rise - self._floor_radii
        which, points = (height < NEAR_FLOOR).nonzero()
        if not len(which):
            return np.empty((0, self.kin.model.nv)), np.empty(0), [0] * (len(pos) + 1)
        starts = [0, len(which)] if len(pos) == 1 else [0, *np.bincount(which, minlength=len(pos)).cumsum().tolist()]
        bodies = self._floor_bodies[points]
        level = turn[which, bodies, :6].reshape(-1, 2, 3) @ self._floor_offsets[points, :, None]
        off = level[..., 0] + pos[which, bodies, :2] - com[which, :2]
        axes = cdof[which]
        lift = axes[:, :, 5] + off[:, 1:] * axes[:, :, 0] - off[:, :1] * axes[:, :, 1]
        return lift * self._floor_moves[points], height[which, points], starts


def evenly(ids: NDArray[np.int64]) -> slice | NDArray[np.int64]:
    """The same indices (N,) as a slice if they follow one another at one distance: that copies nothing."""
    first, last, count = int(ids[0]), int(ids[-1]), len(ids)
    if count == 1:
        return slice(first, first + 1)
    step = int(ids[1]) - first
    if step < 1 or last - first != step * (count - 1) or (np.diff(ids) != step).any():
        return ids
    return slice(first, last + 1, step)
