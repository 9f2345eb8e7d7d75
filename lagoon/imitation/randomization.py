"""Draws what differs from one simulated robot to the next.

What enters: ranges and a generator. What leaves: body parameters for the simulator, and per-episode
errors of sensors and timing. ``ramp`` in [0, 1] shrinks every range toward its nominal value.
"""

from __future__ import annotations

import numpy as np
import torch

from lagoon.imitation.arrays import Array, clipped, joined, library, squared, stacked
from lagoon.imitation.config import RandomizationConfig
from lagoon.imitation.memory import Memory, Told
from lagoon.imitation.rotations import quat_from_heading, quat_from_rotvec, quat_mul
from lagoon.sim.backend import BodyParameters, SimState

Tensor = torch.Tensor


OPTIONAL = {
    "inertia_scale": 1.0,
    "restitution": 0.0,
    "joint_friction": 0.0,
    "joint_damping": 0.0,
    "armature_scale": 1.0,
}
"""Ranges that hold nothing but the nominal value unless somebody opens them; then nothing is drawn for them."""


def uniform(shape: tuple[int, ...], low: float, high: float, generator: torch.Generator) -> Tensor:
    """Uniform float32 in [low, high)."""
    return low + (high - low) * torch.rand(shape, generator=generator)


def _shrunk(limits: tuple[float, float], nominal: float, ramp: float) -> tuple[float, float]:
    return nominal + ramp * (limits[0] - nominal), nominal + ramp * (limits[1] - nominal)


def draw_bodies(
    count: int, joints: int, friction: float, config: RandomizationConfig, ramp: float, generator: torch.Generator
) -> BodyParameters:
    """Draw the physical parameters of ``count`` robots.

    Args:
        count: robots.
        joints: joints of each.
        friction: nominal sliding friction.
        config: ranges.
        ramp: share of each range in use, in [0, 1].
        generator: source of randomness.
    """
    gain = _shrunk(config.gain_scale, 1.0, ramp)
    com = ramp * config.com_offset
    body = BodyParameters(
        friction=uniform((count,), *_shrunk(config.friction, friction, ramp), generator),
        mass_scale=uniform((count,), *_shrunk(config.mass_scale, 1.0, ramp), generator),
        payload=uniform((count,), *_shrunk(config.payload, 0.0, ramp), generator),
        com_offset=uniform((count, 3), -com, com, generator),
        kp_scale=uniform((count, joints), *gain, generator),
        kd_scale=uniform((count, joints), *gain, generator),
        strength=uniform((count, joints), *_shrunk(config.strength, 1.0, ramp), generator),
    )
    for name, nominal in OPTIONAL.items():
        limits = getattr(config, name)
        if limits != (nominal, nominal):
            shape = tuple(getattr(body, name).shape)
            setattr(body, name, uniform(shape, *_shrunk(limits, nominal, ramp), generator))
    if config.slope > 0.0:
        lean = torch.sin(uniform((count, 1), 0.0, ramp * config.slope, generator))
        angle = uniform((count, 1), 0.0, 2.0 * torch.pi, generator)
        body.slope = lean * torch.cat([torch.cos(angle), torch.sin(angle)], dim=1)
    return body


DELAY = 12
"""Column of the delay in what ``body_features`` returns: it is drawn anew for every episode, the body is not."""


def body_features(body: BodyParameters, delay: Tensor, config: RandomizationConfig) -> Tensor:
    """(N, 13 + what is randomized beside) the parameters scaled to about one, for the critic."""
    column = lambda x: x.unsqueeze(-1)  # noqa: E731
    columns = [
        column(body.friction),
        column(body.mass_scale - 1.0) * 10.0,
        column(body.payload),
        body.com_offset * 50.0,
        column(body.kp_scale.mean(-1) - 1.0) * 10.0,
        column(body.kd_scale.mean(-1) - 1.0) * 10.0,
        column(body.strength.mean(-1) - 1.0) * 10.0,
        column(body.strength.min(-1).values - 1.0) * 10.0,
        column(body.kp_scale.min(-1).values - 1.0) * 10.0,
        column(body.kp_scale.max(-1).values - 1.0) * 10.0,
        column(delay.float()),
    ]
    for name, nominal in OPTIONAL.items():
        low, high = getattr(config, name)
        if (low, high) != (nominal, nominal):
            value = getattr(body, name)
            value = value if value.dim() == 1 else value.mean(-1)
            columns.append(column(value - nominal) / max(abs(low - nominal), abs(high - nominal)))
    if config.slope > 0.0:
        columns.append(body.slope / config.slope)
    return torch.cat(columns, dim=-1)


def set_sensor_errors(
    memory: Memory, ids: Array, config: RandomizationConfig, physics_dt: float, ramp: float, unit: Array
) -> None:
    """Write the errors that stay the same for an episode into the rows of the robots ``ids`` (K,).

    Args:
        memory: of all robots.
        ids: whose episodes begin.
        config: ranges.
        physics_dt: the unit of delays [s].
        ramp: share of each range in use, in [0, 1].
        unit: (K, 2 J + 5 or more) uniform in [0, 1).
    """
    joints = memory.joint_pos_offset.shape[1]
    around = (2.0 * ramp) * (unit - 0.5)  # Uniform in [-ramp, ramp).
    memory.joint_pos_offset[ids] = around[:, :joints] * config.joint_pos_offset
    memory.tilt_offset[ids] = around[:, joints : joints + 3] * config.tilt_offset
    turned = around[:, joints + 3] * config.heading_offset
    # The reference faces +X at its start, so the true start heading is zero.
    memory.heading[ids] = told = stacked([np.cos(turned), np.sin(turned)])
    memory.facing[ids] = quat_from_heading(told)
    low, high = (round(ramp * value / physics_dt) for value in config.delay)
    memory.delay[ids] = low + (unit[:, joints + 4] * (high + 1 - low)).astype(np.int64)
    if config.zero_offset > 0.0:
        memory.zero_offset[ids] = around[:, joints + 5 : 2 * joints + 5] * config.zero_offset


def sensed(state: SimState, told: Told, config: RandomizationConfig, noise: Array) -> tuple[Array, Array, Array, Array]:
    """Return what the sensors report of N true states: joint angles, velocities, orientation, gyro.

    Args:
        state: of the robots.
        told: the constant errors of their episodes.
        config: which errors there are.
        noise: (N, 2 J + 6) of this reading; see ``Draws.noise``.
    """
    joints = state.joint_pos.shape[1]
    gyro = 2 * joints + 3
    wobble = quat_from_rotvec(told.tilt_offset + noise[:, 2 * joints : gyro])
    joint_pos, quat = state.joint_pos + told.joint_pos_offset, state.root_quat_w
    if config.zero_offset > 0.0:
        joint_pos += told.zero_offset
    if config.slope > 0.0:
        quat = quat_mul(upright_from_floor(told.slope), quat)
    joint_pos += noise[:, :joints]
    return (
        joint_pos,
        state.joint_vel + noise[:, joints : 2 * joints],
        quat_mul(quat, wobble),
        state.root_ang_vel_b + noise[:, gyro:],
    )


def upright_from_floor(slope: Array) -> Array:
    """(N, 4) the turn from the floor's frame to one whose z points against gravity.

    Args:
        slope: (N, 2) x and y of the unit vector against gravity, in the floor's frame.
    """
    lib = library(slope)
    size = lib.sqrt(squared(slope))[:, None]
    angle = lib.arcsin(clipped(size, 0.0, 1.0)) / clipped(size, 1e-9, None)
    return quat_from_rotvec(joined([slope[:, 1:] * angle, -slope[:, :1] * angle, lib.zeros_like(size)]))
