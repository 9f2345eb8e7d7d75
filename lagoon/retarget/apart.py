"""Shapes of the robot that are kept apart, as limits of its steps.

What enters: names of shapes that touched, and the robot in a configuration. What leaves: rows and bounds for the
quadratic programme, one for each pair that is near.

Formula: n (J2 - J1) dq >= CLEARANCE - d, with the nearest points of both shapes, the unit vector n from the first to
the second and their distance d, as in Faverjon and Tournassoud 1987, "A local based approach for path planning of
manipulators with a high number of degrees of freedom", eq. 8; shapes nearer than CLEARANCE come no nearer.
"""

from __future__ import annotations

from collections.abc import Collection

import mujoco
import numpy as np
from numpy.typing import NDArray

from lagoon.retarget.kinematics import Kinematics

Array = NDArray[np.float64]

CLEARANCE = 0.02
"""Distance kept between shapes that would touch [m]; the smoothing after it takes some of it."""
APART_FROM = 0.05
"""Shapes farther apart than this are left alone [m]."""


class PairsApart:
    """Pairs of one robot's shapes; not for use from several threads."""

    def __init__(self, kin: Kinematics, pairs: Collection[tuple[str, str]]) -> None:
        model = kin.model
        self._model = model
        self._pairs = sorted({(model.geom(a).id, model.geom(b).id) for a, b in pairs})
        first, second = np.array(self._pairs, dtype=int).reshape(-1, 2).T
        self._first, self._second = first, second
        self._reach = (model.geom_rbound[first] + model.geom_rbound[second] + APART_FROM) ** 2
        self._jacobians = np.zeros((2, 3, model.nv))
        self._ends = np.zeros(6)
        self.found: list[tuple[Array, Array] | None] = []
        """Rows (K, nv) and bounds (K,) [m] of each configuration since clear(); None where no pair is near."""

    def clear(self) -> None:
        """Forget what was found."""
        self.found = []

    def look(self, data: mujoco.MjData) -> None:
        """Find the pairs that are near in a configuration whose kinematics are computed."""
        model, (one, other), ends = self._model, self._jacobians, self._ends
        between = data.geom_xpos[self._first] - data.geom_xpos[self._second]
        rows, room = [], []
        for k in np.flatnonzero((between * between).sum(axis=1) < self._reach):
            a, b = self._pairs[k]
            distance = mujoco.mj_geomDistance(model, data, a, b, APART_FROM, ends)
            way = ends[3:] - ends[:3]
            length = float(np.linalg.norm(way))
            if distance >= APART_FROM or length < 1e-12:
                continue
            mujoco.mj_jac(model, data, one, None, ends[:3], model.geom_bodyid[a])
            mujoco.mj_jac(model, data, other, None, ends[3:], model.geom_bodyid[b])
            # Within each other, the nearest points lie the other way round.
            rows.append((one - other).T @ way * ((1.0 if distance >= 0 else -1.0) / length))
            room.append(max(distance - CLEARANCE, 0.0))
        self.found.append((np.array(rows), np.array(room)) if rows else None)
