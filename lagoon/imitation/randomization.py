"""Draws what differs from one simulated robot to the next.

What enters: ranges and a generator. What leaves: body parameters for the simulator, and per-episode
errors of sensors and timing. ``ramp`` in [0, 1] shrinks every range toward its nominal value.
"""

from __future__ import annotations

import numpy as np
import torch

from lagoon.imitation.arrays import Array, clipped, joined, library, squared
from lagoon.imitation.config import RandomizationConfig
from lagoon.imitation.memory import Memory
from lagoon.imitation.rotations import quat_from_rotvec, quat_mul
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


def draw_sensor_errors(
    memory: Memory, ids: Array, config: RandomizationConfig, physics_dt: float, ramp: float, generator: torch.Generator
) -> None:
    """Draw the errors that stay the same for an episode, for the robots ``ids`` (K,), into their rows."""
    count, joints = len(ids), memory.joint_pos_offset.shape[1]
    q, tilt, heading = config.joint_pos_offset, config.tilt_offset, config.heading_offset
    memory.joint_pos_offset[ids] = uniform((count, joints), -ramp * q, ramp * q, generator)
    memory.tilt_offset[ids] = uniform((count, 3), -ramp * tilt, ramp * tilt, generator)
    memory.heading_offset[ids] = uniform((count,), -ramp * heading, ramp * heading, generator)
    low, high = (round(ramp * value / physics_dt) for value in config.delay)
    memory.delay[ids] = torch.randint(low, high + 1, (count,), generator=generator)
    if config.zero_offset > 0.0:
        zero = ramp * config.zero_offset
        memory.zero_offset[ids] = uniform((count, joints), -zero, zero, generator)


def sensed(
    state: SimState,
    memory: Memory,
    config: RandomizationConfig,
    ramp: float,
    generator: torch.Generator,
) -> tuple[Array, Array, Array, Array]:
    """Return what the sensors report of N true states: joint angles, velocities, orientation, gyro."""
    joints = state.joint_pos.shape[1]
    noise = torch.randn((len(state.joint_pos), 2 * joints + 6), generator=generator).numpy()
    q, v, tilt, gyro = np.split(noise, (joints, 2 * joints, 2 * joints + 3), axis=1)
    wobble = quat_from_rotvec(memory.tilt_offset + tilt * (ramp * config.tilt_noise))
    joint_pos, quat = state.joint_pos + memory.joint_pos_offset, state.root_quat_w
    if config.zero_offset > 0.0:
        joint_pos += memory.zero_offset
    if config.slope > 0.0:
        quat = quat_mul(upright_from_floor(memory.slope), quat)
    return (
        joint_pos + q * (ramp * config.joint_pos_noise),
        state.joint_vel + v * (ramp * config.joint_vel_noise),
        quat_mul(quat, wobble),
        state.root_ang_vel_b + gyro * (ramp * config.ang_vel_noise),
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
