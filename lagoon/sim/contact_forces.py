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
    jacobian = np.zeros((len(sites), 3, model.nv))
    for place, site in zip(jacobian, sites, strict=True):
        mujoco.mj_jacSite(model, data, place, None, site)
    return contact_shares(jacobian.reshape(1, -1, model.nv), needed[None])[0]


def contact_shares(jacobians: Array, needed: Array) -> Array:
    """(N, nv) what contacts deliver in N frames.

    Args:
        jacobians: (N, 3 K, nv) of the K feet on the floor; x, y and z of each.
        needed: (N, nv) M a + c [N, Nm].
    """
    weights = np.tile([1.0, 1.0, NORMAL_PREFERENCE], jacobians.shape[1] // 3)
    damping = np.broadcast_to(1e-3 * np.eye(len(weights)), (len(needed), len(weights), len(weights)))
    system = np.concatenate([jacobians[:, :, :6].transpose(0, 2, 1) * weights, damping], axis=1)
    basis, triangle = np.linalg.qr(system)
    seen = (needed[:, None, :6] @ basis[:, :6]).transpose(0, 2, 1)
    force = weights[:, None] * np.linalg.solve(triangle, seen)
    return np.asarray((force.transpose(0, 2, 1) @ jacobians)[:, 0], dtype=np.float64)
