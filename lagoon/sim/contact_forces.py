"""What the feet on the floor contribute: contact forces that carry a floating base.

What enters: the feet in contact and the generalised forces that a motion needs. What leaves: the part of them that the
contacts deliver; the rest is the motors'.

The forces are the least squares solution of the base's six rows, mostly normal, since the floor pushes more readily
than it holds.
"""

from __future__ import annotations

import mujoco
import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

NORMAL_PREFERENCE = 30.0
"""How much cheaper a normal force is than a tangential one in the least squares."""


def contact_share(model: mujoco.MjModel, data: mujoco.MjData, sites: NDArray[np.int64], needed: Array) -> Array:
    """(nv,) what contacts at the given sites deliver of the (nv,) needed generalised forces.

    Args:
        model: the robot.
        data: with positions computed (mj_fwdPosition).
        sites: (K,) ids of the feet on the floor, K >= 1.
        needed: (nv,) M a + c, or gravity alone at rest [N, Nm].
    """
    jacobian = np.zeros((3, model.nv))
    rows = []
    for site in sites:
        mujoco.mj_jacSite(model, data, jacobian, None, site)
        rows.append(jacobian.copy())
    stacked = np.concatenate(rows)
    weights = np.tile([1.0, 1.0, NORMAL_PREFERENCE], len(rows))
    system = np.concatenate([stacked[:, :6].T * weights, 1e-3 * np.eye(len(weights))])
    wanted = np.concatenate([needed[:6], np.zeros(len(weights))])
    force = weights * np.linalg.lstsq(system, wanted, rcond=None)[0]
    return np.asarray(stacked.T @ force, dtype=np.float64)
