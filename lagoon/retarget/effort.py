"""What the motors would have to deliver: joint torques of a motion, by inverse dynamics.

What enters: configurations over time and which feet carry. What leaves: (T, J) torques.

Formula: M(q) a + c(q, v) = S' tau + Jc' f. The contact forces f, by least squares and mostly normal, carry the base's
six rows; what they leave to the joints is tau. Without contact the base's rows cannot be met: tau is what the joints
need.
"""

from __future__ import annotations

import mujoco
import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter1d

from lagoon.retarget.balance import qvel_of
from lagoon.retarget.kinematics import Kinematics
from lagoon.sim.contact_forces import contact_shares

Array = NDArray[np.float64]

SMOOTHING_SECONDS = 0.03
"""Standard deviation of the Gaussian over time that keeps finite differences from counting as effort [s]."""


def joint_torques(kin: Kinematics, qpos: Array, contact: NDArray[np.bool_], fps: float) -> Array:
    """Torques that the motion needs.

    Args:
        kin: the robot.
        qpos: (T, nq) configurations.
        contact: (T, F) feet that carry.
        fps: frame rate [Hz].

    Returns:
        (T, J) torques [Nm], RobotSpec joint order.
    """
    model, data = kin.model, kin.data
    sigma = SMOOTHING_SECONDS * fps
    qvel = gaussian_filter1d(qvel_of(kin, qpos, fps), sigma, axis=0, mode="nearest")
    qacc = gaussian_filter1d(np.asarray(np.gradient(qvel, axis=0)) * fps, sigma, axis=0, mode="nearest")
    feet = kin.address.foot_site
    needed, jacobian = np.empty((len(qpos), model.nv)), np.zeros((len(qpos), len(feet), 3, model.nv))
    for t in range(len(qpos)):
        data.qpos[:], data.qvel[:], data.qacc[:] = qpos[t], qvel[t], qacc[t]
        mujoco.mj_kinematics(model, data)
        mujoco.mj_comPos(model, data)
        mujoco.mj_comVel(model, data)
        mujoco.mj_passive(model, data)
        mujoco.mj_rne(model, data, 1, needed[t])
        needed[t] += model.dof_armature * qacc[t] - data.qfrc_passive
        for k in np.flatnonzero(contact[t]):
            mujoco.mj_jacSite(model, data, jacobian[t, k], None, feet[k])
    for pattern in np.unique(contact, axis=0):
        if pattern.any():
            which = (contact == pattern).all(axis=1)
            needed[which] -= contact_shares(
                jacobian[which][:, pattern].reshape(int(which.sum()), -1, model.nv), needed[which]
            )
    return needed[:, kin.address.joint_dof]
