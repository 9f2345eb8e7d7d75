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


def nearest_in_support(point: Array, feet: Array) -> Array:
    """Closest point (2,) to ``point`` (2,) in the convex hull of (K, 2) feet, K >= 1."""
    if len(feet) == 1:
        return feet[0]
    if len(feet) >= 3 and _inside(point, feet):
        return point
    best, best_distance = feet[0], np.inf
    for i in range(len(feet)):
        for j in range(i + 1, len(feet)):
            edge = feet[j] - feet[i]
            u = np.clip(np.dot(point - feet[i], edge) / max(float(np.dot(edge, edge)), 1e-12), 0.0, 1.0)
            candidate = feet[i] + u * edge
            distance = float(np.linalg.norm(point - candidate))
            if distance < best_distance:
                best, best_distance = candidate, distance
    return best


def _inside(point: Array, feet: Array) -> bool:
    """True when the point lies in a triangle of three of the feet; together they make up the hull."""
    for a, b, c in combinations(feet, 3):
        area = _cross(b - a, c - a)
        if abs(area) < 1e-12:
            # Three feet in a line: the edges between them are looked at by the caller.
            continue
        sides = (_cross(b - a, point - a), _cross(c - b, point - b), _cross(a - c, point - c))
        if all(side * np.sign(area) >= -1e-12 for side in sides):
            return True
    return False


def _cross(a: Array, b: Array) -> float:
    return float(a[0] * b[1] - a[1] * b[0])
