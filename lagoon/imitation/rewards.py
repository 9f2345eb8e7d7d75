"""The tracking reward: how near the robot is to the reference, at this very step or at the frame aligned with it.

What enters: errors of N robots. What leaves: (N,) rewards. Pure functions of tensors or of numpy arrays.

Source: the weighted sum of exponentials of DeepMimic (Peng et al. 2018, sec. 5), with LAGOON's state
terms; weights and scales are lagoon's own (see RewardConfig).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from lagoon.imitation.arrays import Array, clipped, constant, joined, library, like, rows_of, squared, stacked
from lagoon.imitation.config import RewardConfig
from lagoon.imitation.reference import Reference
from lagoon.imitation.rotations import gravity_in_base, quat_angle, quat_difference
from lagoon.sim.backend import SimState


@dataclass
class TrackingError:
    """Distances between N robots and the reference, all unsigned."""

    joint_pos_sq: Array
    """(N,) summed squared joint errors [rad^2]."""
    joint_vel_sq: Array
    """(N,) summed squared joint velocity errors [rad^2/s^2]."""
    foot_pos_sq: Array
    """(N,) summed squared foot errors in the base frame [m^2]."""
    height: Array
    """(N,) base height error [m]."""
    tilt: Array
    """(N,) angle between the gravity directions [rad]."""
    rotation: Array
    """(N,) angle of the whole orientation error [rad]."""
    lin_vel_sq: Array
    """(N,) squared base velocity error [m^2/s^2]."""
    ang_vel_sq: Array
    """(N,) squared angular velocity error [rad^2/s^2]."""

    @cached_property
    def heading_sq(self) -> Array:
        """(N,) what is left of the squared orientation error beside the tilt [rad^2]."""
        return clipped(self.rotation**2 - self.tilt**2, 0.0, None)


def tracking_error(
    state: SimState, reference: Reference, step: Array, foot_pos: Array, rate: Array | None = None
) -> TrackingError:
    """Compare N robots with the reference at control steps (N,); ``foot_pos`` (N, F, 3) is in the base frame [m].

    ``rate`` (N,) is the pace at which each robot goes through the reference, None the clock's: who goes half as fast
    is expected to have half of its velocities.

    Robots start at the reference's own heading (world yaw is free on a flat floor), so orientations
    and velocities are compared in world. Positions in the ground plane are not compared: the actor
    cannot sense them.
    """
    now, lib = reference.at(step), library(step)
    if rate is not None:
        now.tracked[:, reference.velocities :] *= rate[:, None]
    seen = (state.joint_pos, rows_of(foot_pos), state.joint_vel, state.root_lin_vel_w, state.root_ang_vel_b)
    gap = joined(seen) - now.tracked
    sums = (gap * gap) @ like(reference.groups, step)
    level = (gravity_in_base(state.root_quat_w) * now.gravity).sum(-1)
    return TrackingError(
        joint_pos_sq=sums[:, 0],
        joint_vel_sq=sums[:, 2],
        foot_pos_sq=sums[:, 1],
        height=abs(state.root_pos_w[:, 2] - now.root_pos[:, 2]),
        tilt=lib.arccos(clipped(level, -1.0, 1.0)),
        rotation=quat_angle(quat_difference(now.root_quat, state.root_quat_w)),
        lin_vel_sq=sums[:, 3],
        ang_vel_sq=sums[:, 4],
    )


def tracking_reward(error: TrackingError, config: RewardConfig) -> Array:
    """(N,) in (0, 1]; 1 when pose and velocity are exact: sum_k weight_k exp(-scale_k error_k)."""
    orientation = error.tilt**2 + config.heading_share * error.heading_sq
    pose = config.height_scale * error.height**2 + config.orientation_scale * orientation
    speed = config.lin_vel_scale * error.lin_vel_sq + config.ang_vel_scale * error.ang_vel_sq
    terms = stacked([error.joint_pos_sq, error.joint_vel_sq, error.foot_pos_sq, pose, speed])
    scales = (config.joint_pos_scale, config.joint_vel_scale, config.foot_pos_scale, 1.0, 1.0)
    weights = (
        config.joint_pos_weight,
        config.joint_vel_weight,
        config.foot_pos_weight,
        config.pose_weight,
        config.velocity_weight,
    )
    return library(terms).exp(terms * -constant(scales, terms)) @ constant(weights, terms)


def effort_penalty(
    action: Array,
    prev_action: Array,
    torque: Array,
    torque_limit: Array,
    config: RewardConfig,
    prev_change: Array | None = None,
) -> Array:
    """(N,) >= 0: the price of jerky actions and of torques near the limit.

    Args:
        action: (N, J) this step's action.
        prev_action: (N, J) the one before.
        torque: (N, J) asked of the motors, before clipping [Nm].
        torque_limit: (J,) [Nm].
        config: weights.
        prev_change: (N, J) change of the action one step before; needed for the price of jerk.
    """
    each = 1.0 / action.shape[-1]
    excess = clipped(abs(torque) / torque_limit - 0.7, 0.0, None)
    price = config.action_rate_penalty * each * squared(action - prev_action)
    price = price + config.torque_penalty * each * squared(excess)
    if config.action_jerk_penalty > 0.0 and prev_change is not None:
        price = price + config.action_jerk_penalty * each * squared(action - prev_action - prev_change)
    return price
