"""One step of the inverse kinematics: all wishes and limits as one quadratic programme, solved by daqp.

What enters: a frame of Targets and a configuration. What leaves: the step of the degrees of freedom. The wishes are
those of mink's tasks, put together in one matrix: a step is taken some ten thousand times for a clip, and the tasks one
by one took most of its time.
"""

from __future__ import annotations

import math
from collections.abc import Collection

import daqp
import mink
import mujoco
import numpy as np
from numpy.typing import NDArray

from lagoon.errors import LagoonError
from lagoon.retarget.config import RetargetConfig
from lagoon.retarget.kinematics import Kinematics, collision_model
from lagoon.retarget.targets import Targets

Array = NDArray[np.float64]

DAMPING = 1e-4
"""Levenberg-Marquardt damping of every degree of freedom."""
FIRM = 0.999
"""Grip from which a foot's place in the world counts; before, its leg alone brings it there, so landing
does not pull the base down."""
LANDING = 20.0
"""How much more a leg that is about to land follows its path than one that gestures."""
CLEARANCE = 0.02
"""Distance kept between shapes that would touch [m]; the smoothing after it takes some of it."""
APART_FROM = 0.05
"""Shapes farther apart than this are left alone [m]."""
NEAR_FLOOR = 0.12
"""Points of the robot higher than this [m] are not kept above the floor; no step is that long."""
UNBOUNDED = 1e30


class StepProgram:
    """The programme of one robot; not for use from several threads.

    Rows, in this order: base orientation (3), feet in world (3 F), base height (1), feet and knees in the base frame
    (6 F), centre of mass in x and y (2). The pull of the joints to rest is added to the diagonal.
    """

    def __init__(self, kin: Kinematics, config: RetargetConfig, max_step: Array) -> None:
        self.kin, self.config, self.max_step = kin, config, max_step
        self.previous: Array | None = None
        """(J,) joints of the frame before, from which none may be farther than ``max_step``; None is no limit."""
        self._configuration = mink.Configuration(kin.model)
        self.data = self._configuration.data
        model, address = kin.model, kin.address
        self._sites, self._joints, self._dofs = address.foot_site, address.joint_qpos, address.joint_dof
        self._feet = len(self._sites)
        bodies = [*model.site_bodyid[self._sites], *kin.knees, kin.base]
        self._moves = np.array([_moves(model, int(body)) for body in bodies])[:, None, :]
        self._floor_bodies = np.array([point.body for point in kin.clearance])
        self._floor_offsets = np.array([point.offset for point in kin.clearance])
        self._floor_radii = np.array([point.radius for point in kin.clearance])
        self._floor_moves = np.array([_moves(model, int(body)) for body in self._floor_bodies])
        ids = [model.joint(name).id for name in kin.robot.joint_names]
        limited = model.jnt_limited[ids].astype(bool)
        self._lower = np.where(limited, model.jnt_range[ids, 0] + config.limit_margin, -UNBOUNDED)
        self._upper = np.where(limited, model.jnt_range[ids, 1] - config.limit_margin, UNBOUNDED)
        self._apart: mink.CollisionAvoidanceLimit | None = None

        feet, nv = self._feet, model.nv
        self._rows = np.zeros((6 + 9 * feet, nv))
        self._error = np.zeros(len(self._rows))
        self._weights = np.zeros(len(self._rows))
        self._skew = np.zeros((2 * feet + 1, 3, 3))
        self._com = np.zeros((3, nv))
        self._rotation = (np.zeros(4), np.zeros(4), np.zeros(3))

    def keep_apart(self, pairs: Collection[tuple[str, str]]) -> None:
        """Keep pairs of the robot's shapes, by their names, CLEARANCE apart; every pair costs time in every step."""
        # The model for checking has the same shapes under the same numbers, and they collide with each other.
        groups = [([a], [b]) for a, b in sorted(pairs)]
        model = collision_model(self.kin.robot)
        self._apart = mink.CollisionAvoidanceLimit(model, groups, 1.0, CLEARANCE, APART_FROM)

    def aim(self, targets: Targets, t: int, com: Array, rest: Array, posture: float) -> None:
        """Set what is wanted: frame ``t``, the centre of mass (2,) [m], resting joints (J,) and their squared cost."""
        config, feet = self.config, self._feet
        grip = targets.grip[t]
        firm = (grip > FIRM).astype(float)
        free = config.weight_foot * (1.0 + LANDING * grip) * (1.0 - firm)
        knees = config.weight_elbow * targets.knee_on[t] * (1.0 - grip)
        squares = self._weights
        squares[:3] = config.weight_base_rotation
        squares[3 : 3 + 3 * feet] = np.repeat(config.weight_contact * firm, 3)
        squares[3 + 3 * feet] = config.weight_base_height
        squares[4 + 3 * feet : -2] = np.repeat(np.concatenate([free, knees]), 3)
        squares[-2:] = config.weight_com
        self._scale = np.sqrt(squares)
        self._quat = targets.base_quat[t]
        self._foot_w, self._height = targets.foot_w[t], float(targets.base_height[t])
        self._wanted_b = np.concatenate([targets.foot_b[t], targets.knee_b[t]])
        self._grip = grip[:, None]
        self._wanted_com, self._rest, self._posture = com, rest, posture
        lower, upper = self._lower, self._upper
        if self.previous is not None:
            lower = np.maximum(lower, self.previous - self.max_step)
            upper = np.minimum(upper, self.previous + self.max_step)
        self._box = np.minimum(lower, upper), upper

    def move_to(self, qpos: Array) -> None:
        """Put the robot into a configuration (nq,)."""
        self.data.qpos[:] = qpos
        self._place()

    def advance(self, step: Array) -> None:
        """Move by a step (nv,)."""
        mujoco.mj_integratePos(self.kin.model, self.data.qpos, step, 1.0)
        self._place()

    def _place(self) -> None:
        mujoco.mj_kinematics(self.kin.model, self.data)
        mujoco.mj_comPos(self.kin.model, self.data)

    def step(self) -> Array:
        """Best step (nv,) from here: least squares of all wishes within the limits.

        Raises:
            LagoonError: the limits contradict each other.
        """
        hessian, gradient = self.objective()
        rows, room = self._inequalities()
        model, joints = self.kin.model, self.data.qpos[self._joints]
        upper = np.full(model.nv + len(rows), UNBOUNDED)
        lower = np.full(model.nv + len(rows), -UNBOUNDED)
        lower[self._dofs], upper[self._dofs] = self._box[0] - joints, self._box[1] - joints
        upper[model.nv :] = room
        step, _, flag, _ = daqp.solve(hessian, gradient, rows, upper, lower)
        if flag <= 0:
            raise LagoonError(
                f"The inverse kinematics of {self.kin.robot.name} found no step within its limits (daqp: {flag}). "
                "Expected a motion that the limits of the joints allow. Try it with retarget.keep_apart=false."
            )
        return step

    def objective(self) -> tuple[Array, Array]:
        """Hessian (nv, nv) and gradient (nv,) of the squared, weighted wishes."""
        data, feet, rows, error = self.data, self._feet, self._rows, self._error
        turn = data.xmat[self.kin.base].reshape(3, 3)
        origin = data.xpos[self.kin.base]
        sites = data.site_xpos[self._sites]
        points = np.concatenate([sites, data.xpos[self.kin.knees], origin[None]])
        jacobian = self._jacobian(points)
        at = 3 + 3 * feet

        error[:3], rows[:3, 3:6] = self._rotation_error()
        error[3:at] = (sites - self._foot_w).ravel()
        rows[3:at] = jacobian[:feet].reshape(-1, rows.shape[1])
        error[at] = origin[2] - self._height
        rows[at] = jacobian[-1, 2]
        seen = (points[:-1] - origin) @ turn - self._wanted_b
        landing = (self._foot_w - origin) @ turn
        seen[:feet] -= self._grip * (landing - self._wanted_b[:feet])
        error[at + 1 : -2] = seen.ravel()
        rows[at + 1 : -2, self._dofs] = (turn.T @ jacobian[:-1][:, :, self._dofs]).reshape(6 * feet, -1)
        mujoco.mj_jacSubtreeCom(self.kin.model, data, self._com, self.kin.base)
        error[-2:] = data.subtree_com[self.kin.base, :2] - self._wanted_com
        rows[-2:] = self._com[:2]

        weighted = rows * self._scale[:, None]
        hessian = weighted.T @ weighted
        gradient = (error * self._scale) @ weighted
        hessian.flat[:: len(hessian) + 1] += DAMPING
        hessian[self._dofs, self._dofs] += self._posture
        gradient[self._dofs] += self._posture * (data.qpos[self._joints] - self._rest)
        return hessian, gradient

    def _jacobian(self, points: Array) -> Array:
        """(P, 3, nv) derivative of feet, knees and base origin (P, 3) in world; as mj_jac, for all at once."""
        data = self.data
        x, y, z = (points - data.subtree_com[self.kin.base]).T
        skew = self._skew
        skew[:, 0, 1], skew[:, 0, 2] = z, -y
        skew[:, 1, 0], skew[:, 1, 2] = -z, x
        skew[:, 2, 0], skew[:, 2, 1] = y, -x
        return (skew @ data.cdof[:, :3].T + data.cdof[:, 3:].T) * self._moves

    def _rotation_error(self) -> tuple[Array, Array]:
        """Rotation vector (3,) from the wanted orientation to the base's, and its derivative (3, 3)."""
        back, apart, angle = self._rotation
        mujoco.mju_negQuat(back, self._quat)
        mujoco.mju_mulQuat(apart, back, self.data.xquat[self.kin.base])
        mujoco.mju_quat2Vel(angle, apart, 1.0)
        x, y, z = angle.tolist()
        square = x * x + y * y + z * z
        size = math.sqrt(square)
        # The inverse of the right Jacobian of SO(3): I + [a] / 2 + k [a]^2.
        k = 1.0 / 12.0 if size < 1e-4 else 1.0 / square - (1.0 + math.cos(size)) / (2.0 * size * math.sin(size))
        return angle, np.array(
            [
                [1.0 - k * (y * y + z * z), k * x * y - 0.5 * z, k * x * z + 0.5 * y],
                [k * x * y + 0.5 * z, 1.0 - k * (x * x + z * z), k * y * z - 0.5 * x],
                [k * x * z - 0.5 * y, k * y * z + 0.5 * x, 1.0 - k * (x * x + y * y)],
            ]
        )

    def _inequalities(self) -> tuple[Array, Array]:
        """Rows (K, nv) and bounds (K,): nothing goes through the floor, and shapes stay apart."""
        data = self.data
        turns = data.xmat[self._floor_bodies].reshape(-1, 3, 3)
        places = data.xpos[self._floor_bodies] + (turns @ self._floor_offsets[:, :, None])[:, :, 0]
        gaps = places[:, 2] - self._floor_radii
        near = np.flatnonzero(gaps < NEAR_FLOOR)
        off = places[near] - data.subtree_com[self.kin.base]
        turning, moving = data.cdof[:, :3], data.cdof[:, 5]
        rise = moving + off[:, 1:2] * turning[:, 0] - off[:, :1] * turning[:, 1]
        rows, room = -rise * self._floor_moves[near], gaps[near]
        if self._apart is not None:
            limit = self._apart.compute_qp_inequalities(self._configuration, 1.0)
            if limit.G is not None and limit.h is not None:
                active = np.isfinite(limit.h)
                rows, room = np.concatenate([rows, limit.G[active]]), np.concatenate([room, limit.h[active]])
        return rows, room


def _moves(model: mujoco.MjModel, body: int) -> Array:
    """(nv,) 1 for each degree of freedom that moves a body, else 0."""
    above = set()
    while body:
        above.add(body)
        body = int(model.body_parentid[body])
    return np.array([float(int(owner) in above) for owner in model.dof_bodyid])
