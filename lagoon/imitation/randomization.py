"""Draws what differs from one simulated robot to the next.

What enters: ranges and a generator. What leaves: body parameters for the simulator, and per-episode
errors of sensors and timing. ``ramp`` in [0, 1] shrinks every range toward its nominal value.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch

from lagoon.imitation.config import RandomizationConfig
from lagoon.imitation.rotations import quat_from_rotvec, quat_mul
from lagoon.sim.backend import BodyParameters

Tensor = torch.Tensor


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
    return BodyParameters(
        friction=uniform((count,), *_shrunk(config.friction, friction, ramp), generator),
        mass_scale=uniform((count,), *_shrunk(config.mass_scale, 1.0, ramp), generator),
        payload=uniform((count,), *_shrunk(config.payload, 0.0, ramp), generator),
        com_offset=uniform((count, 3), -com, com, generator),
        kp_scale=uniform((count, joints), *gain, generator),
        kd_scale=uniform((count, joints), *gain, generator),
        strength=uniform((count, joints), *_shrunk(config.strength, 1.0, ramp), generator),
    )


def body_features(body: BodyParameters, delay: Tensor) -> Tensor:
    """(N, 13) the parameters scaled to about one, for the critic."""
    column = lambda x: x.unsqueeze(-1)  # noqa: E731
    return torch.cat(
        [
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
        ],
        dim=-1,
    )


@dataclass
class SensorErrors:
    """Errors that stay the same for an episode, and the noise that does not."""

    joint_pos_offset: Tensor
    """(N, J) [rad]."""
    tilt_offset: Tensor
    """(N, 3) rotation vector [rad]."""
    heading_offset: Tensor
    """(N,) error of the start heading [rad]."""
    delay: Tensor
    """(N,) int64, physics steps from the action to its torque."""

    @staticmethod
    def zeros(count: int, joints: int) -> SensorErrors:
        """Perfect sensors."""
        return SensorErrors(
            torch.zeros(count, joints), torch.zeros(count, 3), torch.zeros(count), torch.zeros(count, dtype=torch.int64)
        )

    def draw(
        self, ids: Tensor, config: RandomizationConfig, physics_dt: float, ramp: float, generator: torch.Generator
    ) -> None:
        """Draw new errors for the robots ``ids`` (K,)."""
        count, joints = len(ids), self.joint_pos_offset.shape[1]
        q, tilt, heading = config.joint_pos_offset, config.tilt_offset, config.heading_offset
        self.joint_pos_offset[ids] = uniform((count, joints), -ramp * q, ramp * q, generator)
        self.tilt_offset[ids] = uniform((count, 3), -ramp * tilt, ramp * tilt, generator)
        self.heading_offset[ids] = uniform((count,), -ramp * heading, ramp * heading, generator)
        low, high = (round(ramp * value / physics_dt) for value in config.delay)
        self.delay[ids] = torch.randint(low, high + 1, (count,), generator=generator)


def sensed(
    joint_pos: Tensor,
    joint_vel: Tensor,
    quat: Tensor,
    ang_vel: Tensor,
    errors: SensorErrors,
    config: RandomizationConfig,
    ramp: float,
    generator: torch.Generator,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return what the sensors report of the truth: joint angles, velocities, orientation, gyro; all (N, ...)."""
    noise = torch.randn((joint_pos.shape[0], 2 * joint_pos.shape[1] + 6), generator=generator) * ramp
    q, v, tilt, gyro = noise.split([joint_pos.shape[1], joint_pos.shape[1], 3, 3], dim=1)
    wobble = quat_from_rotvec(errors.tilt_offset + tilt * config.tilt_noise)
    return (
        joint_pos + errors.joint_pos_offset + q * config.joint_pos_noise,
        joint_vel + v * config.joint_vel_noise,
        quat_mul(quat, wobble),
        ang_vel + gyro * config.ang_vel_noise,
    )
