"""The torque that holds a pose against gravity, as an offset of the joint targets.

What enters: a reference motion. What leaves: for every frame, what a position servo must be told
beyond the pose itself so that it stands there instead of sagging: torque / kp. With it the policy
starts from a robot that already holds the reference, and learns to balance rather than to lift.

Formula: at rest S' tau + Jc' f = g(q). The contact forces f (least squares, mostly normal) carry the
base's six rows of g; what they leave to the joints is tau.
"""

from __future__ import annotations

import mujoco
import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter1d

from lagoon.motion.robot_motion import RobotMotion
from lagoon.robot import RobotSpec
from lagoon.sim.contact_forces import contact_share
from lagoon.sim.model import Addresses, build_model

Array = NDArray[np.float64]

SMOOTHING_FRAMES = 3.0
"""Standard deviation of the Gaussian that rounds the steps where feet leave the floor [frames]."""


def static_torque(model: mujoco.MjModel, data: mujoco.MjData, at: Addresses, contact: NDArray[np.bool_]) -> Array:
    """(J,) joint torques [Nm] that hold the pose in ``data.qpos`` at rest on the feet in ``contact`` (F,).

    Without any contact the robot is in flight and nothing can hold it: zeros.
    """
    if not contact.any():
        return np.zeros(len(at.joint_dof))
    data.qvel[:] = 0.0
    mujoco.mj_fwdPosition(model, data)
    mujoco.mj_fwdVelocity(model, data)
    gravity = data.qfrc_bias.copy()
    held = contact_share(model, data, at.foot_site[contact], gravity)
    return (gravity - held)[at.joint_dof]


def gravity_offset(motion: RobotMotion, robot: RobotSpec) -> Array:
    """(T, J) offsets of the joint targets [rad] that hold each frame of a motion against gravity."""
    model = build_model(robot)
    data, at = mujoco.MjData(model), Addresses.of(model, robot)
    torque = np.zeros((motion.num_frames, robot.num_joints))
    for t in range(motion.num_frames):
        data.qpos[:3], data.qpos[3:7] = motion.root_pos_w[t], motion.root_quat_w[t]
        data.qpos[at.joint_qpos] = motion.joint_pos[t]
        torque[t] = static_torque(model, data, at, motion.foot_contact[t])
    torque = np.clip(torque, -robot.torque_limit, robot.torque_limit)
    return gaussian_filter1d(torque, SMOOTHING_FRAMES, axis=0, mode="nearest") / robot.kp
