"""The tracking reward: how near the robot is to the reference, at this very step or at the frame aligned with it.

What enters: errors of N robots. What leaves: (N,) rewards. Pure functions of tensors.

Source: the weighted sum of exponentials of DeepMimic (Peng et al. 2018, sec. 5), with LAGOON's state
terms; weights and scales are lagoon's own (see RewardConfig).
"""

from __future__ import annotations

from dataclasses import dataclass

import torch

from lagoon.imitation.config import RewardConfig
from lagoon.imitation.reference import Reference
from lagoon.imitation.rotations import gravity_in_base, quat_conj, quat_mul, quat_to_rotvec
from lagoon.sim.backend import SimState

Tensor = torch.Tensor


@dataclass
class TrackingError:
    """Distances between N robots and the reference, all unsigned."""

    joint_pos_sq: Tensor
    """(N,) summed squared joint errors [rad^2]."""
    joint_vel_sq: Tensor
    """(N,) summed squared joint velocity errors [rad^2/s^2]."""
    foot_pos_sq: Tensor
    """(N,) summed squared foot errors in the base frame [m^2]."""
    height: Tensor
    """(N,) base height error [m]."""
    tilt: Tensor
    """(N,) angle between the gravity directions [rad]."""
    rotation: Tensor
    """(N,) angle of the whole orientation error [rad]."""
    lin_vel_sq: Tensor
    """(N,) squared base velocity error [m^2/s^2]."""
    ang_vel_sq: Tensor
    """(N,) squared angular velocity error [rad^2/s^2]."""

    @property
    def heading_sq(self) -> Tensor:
        """(N,) what is left of the squared orientation error beside the tilt [rad^2]."""
        return torch.clamp(self.rotation**2 - self.tilt**2, min=0.0)


def tracking_error(
    state: SimState, reference: Reference, step: Tensor, foot_pos: Tensor, rate: Tensor | None = None
) -> TrackingError:
    """Compare N robots with the reference at control steps (N,); ``foot_pos`` (N, F, 3) is in the base frame [m].

    ``rate`` (N,) is the pace at which each robot goes through the reference, None the clock's: who goes half as fast
    is expected to have half of its velocities.

    Robots start at the reference's own heading (world yaw is free on a flat floor), so orientations
    and velocities are compared in world. Positions in the ground plane are not compared: the actor
    cannot sense them.
    """
    now = reference.index(step)
    rotation = quat_to_rotvec(quat_mul(quat_conj(reference.root_quat[now]), state.root_quat_w))
    joint_vel, lin_vel, ang_vel = reference.joint_vel[now], reference.root_lin_vel[now], reference.root_ang_vel[now]
    if rate is not None:
        pace = rate.unsqueeze(-1)
        joint_vel, lin_vel, ang_vel = joint_vel * pace, lin_vel * pace, ang_vel * pace
    level = (gravity_in_base(state.root_quat_w) * reference.gravity[now]).sum(-1)
    return TrackingError(
        joint_pos_sq=((state.joint_pos - reference.joint_pos[now]) ** 2).sum(-1),
        joint_vel_sq=((state.joint_vel - joint_vel) ** 2).sum(-1),
        foot_pos_sq=((foot_pos - reference.foot_pos[now]) ** 2).sum((-1, -2)),
        height=(state.root_pos_w[:, 2] - reference.root_pos[now, 2]).abs(),
        tilt=torch.arccos(level.clamp(-1.0, 1.0)),
        rotation=rotation.norm(dim=-1),
        lin_vel_sq=((state.root_lin_vel_w - lin_vel) ** 2).sum(-1),
        ang_vel_sq=((state.root_ang_vel_b - ang_vel) ** 2).sum(-1),
    )


def tracking_reward(error: TrackingError, config: RewardConfig) -> Tensor:
    """(N,) in (0, 1]; 1 when pose and velocity are exact: sum_k weight_k exp(-scale_k error_k)."""
    orientation = error.tilt**2 + config.heading_share * error.heading_sq
    pose = config.height_scale * error.height**2 + config.orientation_scale * orientation
    speed = config.lin_vel_scale * error.lin_vel_sq + config.ang_vel_scale * error.ang_vel_sq
    return (
        config.joint_pos_weight * torch.exp(-config.joint_pos_scale * error.joint_pos_sq)
        + config.joint_vel_weight * torch.exp(-config.joint_vel_scale * error.joint_vel_sq)
        + config.foot_pos_weight * torch.exp(-config.foot_pos_scale * error.foot_pos_sq)
        + config.pose_weight * torch.exp(-pose)
        + config.velocity_weight * torch.exp(-speed)
    )


def effort_penalty(
    action: Tensor,
    prev_action: Tensor,
    torque: Tensor,
    torque_limit: Tensor,
    config: RewardConfig,
    prev_change: Tensor | None = None,
) -> Tensor:
    """(N,) >= 0: the price of jerky actions and of torques near the limit.

    Args:
        action: (N, J) this step's action.
        prev_action: (N, J) the one before.
        torque: (N, J) asked of the motors, before clipping [Nm].
        torque_limit: (J,) [Nm].
        config: weights.
        prev_change: (N, J) change of the action one step before; needed for the price of jerk.
    """
    rate = ((action - prev_action) ** 2).mean(-1)
    excess = torch.clamp(torque.abs() / torque_limit - 0.7, min=0.0)
    price = config.action_rate_penalty * rate + config.torque_penalty * (excess**2).mean(-1)
    if config.action_jerk_penalty > 0.0 and prev_change is not None:
        price = price + config.action_jerk_penalty * ((action - prev_action - prev_change) ** 2).mean(-1)
    return price
