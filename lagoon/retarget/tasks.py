"""The wishes and limits of the inverse kinematics that mink does not bring along.

What enters: a mink configuration. What leaves: task errors with Jacobians, and linear inequalities.
Points are tracked in world axes, so that height and place can be weighted apart, which a frame task in
local axes cannot.
"""

from __future__ import annotations

import mink
import mujoco
import numpy as np
from numpy.typing import NDArray

from lagoon.retarget.kinematics import Kinematics

Array = NDArray[np.float64]


class WorldPointsTask(mink.Task):
    """Feet and base origin at wanted world positions; (F + 1) * 3 rows, each with its own weight."""

    def __init__(self, kin: Kinematics) -> None:
        self.kin = kin
        count = len(kin.address.foot_site) + 1
        super().__init__(cost=np.zeros(3 * count))
        self.target = np.zeros((count, 3))
        self._jacobian = np.zeros((3 * count, kin.model.nv))

    def set_weights(self, feet: Array, base_height: float) -> None:
        """Set squared costs: (F,) for each foot, one for the base height; base x and y stay free."""
        cost = np.zeros((len(self.target), 3))
        cost[:-1] = np.sqrt(feet)[:, None]
        cost[-1, 2] = np.sqrt(base_height)
        self.cost = cost.ravel()

    def compute_error(self, configuration: mink.Configuration) -> Array:
        """Position minus target (rows,) [m], world axes."""
        data = configuration.data
        points = np.vstack([data.site_xpos[self.kin.address.foot_site], data.xpos[self.kin.base]])
        return (points - self.target).ravel()

    def compute_jacobian(self, configuration: mink.Configuration) -> Array:
        """(rows, nv) derivative of the error."""
        model, data, jacobian = configuration.model, configuration.data, self._jacobian
        for i, site in enumerate(self.kin.address.foot_site):
            mujoco.mj_jacSite(model, data, jacobian[3 * i : 3 * i + 3], None, site)
        mujoco.mj_jacBody(model, data, jacobian[-3:], None, self.kin.base)
        return jacobian


class BasePointsTask(mink.Task):
    """Feet and knees at wanted positions in the base frame; 2 * F * 3 rows.

    In the base frame a waving leg keeps its shape while the trunk moves to keep balance. A foot about
    to land (grip between 0 and 1) is led to its place on the floor by the leg alone: the Jacobian has no
    base columns, so landing never drags the trunk along.
    """

    def __init__(self, kin: Kinematics) -> None:
        self.kin = kin
        feet = len(kin.address.foot_site)
        super().__init__(cost=np.zeros(6 * feet))
        self.target = np.zeros((2 * feet, 3))
        self.landing_w = np.zeros((feet, 3))
        self.grip = np.zeros(feet)
        self._jacobian = np.zeros((6 * feet, kin.model.nv))
        self._row = np.zeros((3, kin.model.nv))
        self._joint_dof = kin.address.joint_dof

    def set_weights(self, feet: Array, knees: Array) -> None:
        """Set squared costs, (F,) each."""
        self.cost = np.repeat(np.sqrt(np.concatenate([feet, knees])), 3)

    def compute_error(self, configuration: mink.Configuration) -> Array:
        """Position minus target (rows,) [m], base axes."""
        data = configuration.data
        turn = data.xmat[self.kin.base].reshape(3, 3)
        points = np.vstack([data.site_xpos[self.kin.address.foot_site], data.xpos[self.kin.knees]])
        error = (points - data.xpos[self.kin.base]) @ turn - self.target
        landing_b = (self.landing_w - data.xpos[self.kin.base]) @ turn
        feet = len(self.grip)
        error[:feet] -= self.grip[:, None] * (landing_b - self.target[:feet])
        return error.ravel()

    def compute_jacobian(self, configuration: mink.Configuration) -> Array:
        """(rows, nv) derivative of the error; moving the base does not change it."""
        model, data = configuration.model, configuration.data
        turn = data.xmat[self.kin.base].reshape(3, 3)
        feet = len(self.kin.knees)
        for i in range(2 * feet):
            if i < feet:
                mujoco.mj_jacSite(model, data, self._row, None, self.kin.address.foot_site[i])
            else:
                mujoco.mj_jacBody(model, data, self._row, None, self.kin.knees[i - feet])
            self._jacobian[3 * i : 3 * i + 3, self._joint_dof] = turn.T @ self._row[:, self._joint_dof]
        return self._jacobian


class TravelLimit(mink.Limit):
    """Joint velocity limit between two frames of a clip: |q - q_previous| <= v_max * dt.

    mink's own velocity limit bounds one solver step; several steps are taken per frame here, so the
    bound must be on their sum.
    """

    def __init__(self, kin: Kinematics, max_step: Array) -> None:
        self.kin = kin
        self.max_step = max_step
        self.previous: Array | None = None
        rows = np.zeros((len(max_step), kin.model.nv))
        rows[np.arange(len(max_step)), kin.address.joint_dof] = 1.0
        self._rows = np.vstack([rows, -rows])

    def compute_qp_inequalities(self, configuration: mink.Configuration, dt: float) -> mink.Constraint:
        """Box around the previous frame's joints (J,) [rad]; inactive while there is none."""
        del dt
        if self.previous is None:
            return mink.Constraint()
        moved = configuration.data.qpos[self.kin.address.joint_qpos] - self.previous
        return mink.Constraint(G=self._rows, h=np.concatenate([self.max_step - moved, self.max_step + moved]))


class FloorLimit(mink.Limit):
    """Nothing goes through the floor: height + d(height)/dq dq >= radius for every point near it."""

    NEAR = 0.12
    """Points higher than this [m] are left out; no step is that long."""

    def __init__(self, kin: Kinematics, depth: float) -> None:
        self.kin = kin
        self.depth = depth
        self._bodies = np.array([point.body for point in kin.clearance])
        self._offsets = np.array([point.offset for point in kin.clearance])
        self._radii = np.array([point.radius for point in kin.clearance])
        self._row = np.zeros((3, kin.model.nv))

    def compute_qp_inequalities(self, configuration: mink.Configuration, dt: float) -> mink.Constraint:
        """One row for each point near the floor."""
        del dt
        model, data = configuration.model, configuration.data
        turns = data.xmat[self._bodies].reshape(-1, 3, 3)
        places = data.xpos[self._bodies] + np.einsum("pij,pj->pi", turns, self._offsets)
        gaps = places[:, 2] - self._radii + self.depth
        near = np.flatnonzero(gaps < self.NEAR)
        if not len(near):
            return mink.Constraint()
        rows = np.empty((len(near), model.nv))
        for i, p in enumerate(near):
            mujoco.mj_jac(model, data, self._row, None, places[p], self._bodies[p])
            rows[i] = -self._row[2]
        return mink.Constraint(G=rows, h=gaps[near])
