"""Can the floor produce this motion? Centroidal momentum, centre of pressure, and the way back.

What enters: configurations over time. What leaves: the force and the centre of pressure the motion
needs, its distance from the feet that carry, and the centre-of-mass path that a wanted centre of
pressure asks for.

Source: centroidal dynamics as in Orin, Goswami and Lee 2013; the pressure point of the linear inverted
pendulum as in Kajita et al. 2003, "Biped walking pattern generation by using preview control", eq. 3.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import mujoco
import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_banded

from lagoon.retarget.kinematics import Kinematics

Array = NDArray[np.float64]
GRAVITY = 9.81
LEAST_LOAD = 0.1
"""The pressure point is computed with at least this share of the weight on the floor; below it is flight."""


@dataclass(frozen=True)
class Dynamics:
    """What the floor must do; T frames."""

    com: Array
    """(T, 3) centre of mass [m]."""
    force: Array
    """(T, 3) force from the floor [N]."""
    moment: Array
    """(T, 3) moment from the floor about the centre of mass [Nm]."""
    pressure: Array
    """(T, 2) centre of pressure on the floor [m]."""
    weight: float
    """Mass times gravity [N]."""

    @property
    def loaded(self) -> NDArray[np.bool_]:
        """(T,) True where enough weight is on the floor for the pressure point and friction to mean something."""
        return self.force[:, 2] > LEAST_LOAD * self.weight

    @property
    def friction(self) -> Array:
        """(T,) needed ratio of horizontal to vertical force; meaningful where ``loaded``."""
        level = np.linalg.norm(self.force[:, :2], axis=1)
        return level / np.maximum(self.force[:, 2], LEAST_LOAD * self.weight)


def qvel_of(kin: Kinematics, qpos: Array, fps: float) -> Array:
    """(T, nv) velocities by central differences, one-sided at the ends."""
    frames = len(qpos)
    qvel = np.zeros((frames, kin.model.nv))
    for t in range(frames):
        a, b = max(t - 1, 0), min(t + 1, frames - 1)
        mujoco.mj_differentiatePos(kin.model, qvel[t], (b - a) / fps, qpos[a], qpos[b])
    return qvel


def dynamics(kin: Kinematics, qpos: Array, fps: float) -> Dynamics:
    """Force and moment by finite differences of linear and angular momentum.

    Args:
        kin: the robot.
        qpos: (T, nq) configurations.
        fps: frame rate [Hz].
    """
    model, data = kin.model, kin.data
    qvel = qvel_of(kin, qpos, fps)
    mass = float(model.body_subtreemass[kin.base])
    com = np.zeros((len(qpos), 3))
    spin = np.zeros_like(com)
    for t in range(len(qpos)):
        data.qpos[:], data.qvel[:] = qpos[t], qvel[t]
        mujoco.mj_kinematics(model, data)
        mujoco.mj_comPos(model, data)
        mujoco.mj_comVel(model, data)
        mujoco.mj_subtreeVel(model, data)
        com[t], spin[t] = data.subtree_com[kin.base], data.subtree_angmom[kin.base]
    acceleration = second_difference(com) * fps**2
    force = mass * (acceleration + np.array([0.0, 0.0, GRAVITY]))
    moment = np.asarray(np.gradient(spin, axis=0)) * fps
    load = np.maximum(force[:, 2], LEAST_LOAD * mass * GRAVITY)
    pressure = np.stack(
        [
            com[:, 0] - (com[:, 2] * force[:, 0] + moment[:, 1]) / load,
            com[:, 1] - (com[:, 2] * force[:, 1] - moment[:, 0]) / load,
        ],
        axis=1,
    )
    return Dynamics(com, force, moment, pressure, mass * GRAVITY)


def second_difference(path: Array) -> Array:
    """x[t+1] - 2 x[t] + x[t-1] along axis 0, zero at both ends."""
    second = np.zeros_like(path)
    second[1:-1] = path[2:] - 2.0 * path[1:-1] + path[:-2]
    return second


def com_for_pressure(pressure: Array, height: Array, fps: float) -> Array:
    """Centre-of-mass path (T, 2) of the inverted pendulum whose pressure point is ``pressure`` (T, 2).

    Solves x - (h / g) d2x/dt2 = p with x = p at both ends, a tridiagonal system. The solution looks
    ahead as a walking person does: the mass moves over the next foot before it carries.

    Args:
        pressure: (T, 2) wanted centre of pressure [m].
        height: (T,) height of the centre of mass [m].
        fps: frame rate [Hz].
    """
    frames = len(pressure)
    k = np.clip(height, 0.05, None) / GRAVITY * fps**2
    k[0] = k[-1] = 0.0
    bands = np.zeros((3, frames))
    bands[0, 1:] = -k[:-1]
    bands[1] = 1.0 + 2.0 * k
    bands[2, :-1] = -k[1:]
    return solve_banded((1, 1), bands, pressure)


def outside_support(points: Array, feet: Array, contact: NDArray[np.bool_]) -> Array:
    """How far (T, 2) points lie from the nearest point of the hull of the feet that carry; nan where none does.

    Args:
        points: (T, 2) on the floor [m].
        feet: (T, F, 2) feet [m].
        contact: (T, F) which of them carry.
    """
    away = np.full(points.shape, np.nan)
    for pattern in np.unique(contact, axis=0):
        if pattern.any():
            frames = (contact == pattern).all(axis=1)
            away[frames] = points[frames] - nearest_in_support(points[frames], feet[frames][:, pattern])
    return away


def nearest_in_support(points: Array, feet: Array) -> Array:
    """Closest points (..., 2) to ``points`` (..., 2) in the convex hulls of (..., K, 2) feet, K >= 1."""
    best, best_distance = feet[..., 0, :].copy(), np.full(points.shape[:-1], np.inf)
    for i, j in combinations(range(feet.shape[-2]), 2):
        start, edge = feet[..., i, :], feet[..., j, :] - feet[..., i, :]
        along = ((points - start) * edge).sum(axis=-1) / np.maximum((edge * edge).sum(axis=-1), 1e-12)
        candidate = start + np.clip(along, 0.0, 1.0)[..., None] * edge
        distance = np.linalg.norm(points - candidate, axis=-1)
        closer = distance < best_distance
        best = np.where(closer[..., None], candidate, best)
        best_distance = np.where(closer, distance, best_distance)
    return np.where(_inside(points, feet)[..., None], points, best)


def _inside(points: Array, feet: Array) -> NDArray[np.bool_]:
    """True where a point lies in a triangle of three of the feet; together they make up the hull."""
    inside = np.zeros(points.shape[:-1], bool)
    for triangle in combinations(range(feet.shape[-2]), 3):
        a, b, c = (feet[..., k, :] for k in triangle)
        area = _cross(b - a, c - a)
        sides = np.stack([_cross(b - a, points - a), _cross(c - b, points - b), _cross(a - c, points - c)])
        # Three feet in a line: the edges between them are looked at by the caller.
        inside |= (np.abs(area) >= 1e-12) & (sides * np.sign(area) >= -1e-12).all(axis=0)
    return inside


def _cross(a: Array, b: Array) -> Array:
    return a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0]
