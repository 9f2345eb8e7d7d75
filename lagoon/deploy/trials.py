"""Draws the conditions of every trial before the first one runs.

What enters: ranges, a seed and sizes. What leaves: TrialConditions; the same seed gives the same
trials, whatever the number of threads.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from lagoon.deploy.config import EvaluateConfig
from lagoon.sim.backend import BodyParameters

Array = NDArray[np.float64]


@dataclass(frozen=True)
class TrialConditions:
    """What is fixed within a trial, for N trials."""

    body: BodyParameters
    start_joint_offset: Array
    """(N, J) offset of the joint targets in the stand before the skill [rad]."""
    start_heading: Array
    """(N,) [rad]."""
    delay_steps: NDArray[np.int64]
    """(N,) physics steps between measurement and torque."""
    joint_pos_offset: Array
    """(N, J) encoder error [rad]."""
    ang_vel_offset: Array
    """(N, 3) gyro error [rad/s]."""
    tilt_offset: Array
    """(N, 3) rotation vector from the true to the measured base frame; about X and Y only [rad]."""
    heading_drift: Array
    """(N,) [rad/s]."""
    quat_sign: Array
    """(N,) +1 or -1: drivers send either of the two quaternions of an orientation."""
    push_vel_w: Array
    """(K, N, 2) velocity added to the base before each of K control ticks, zero where none [m/s]."""


def nominal_conditions(count: int, joints: int, ticks: int, friction: float) -> TrialConditions:
    """Return the conditions of an undisturbed robot with perfect sensors and no delay."""
    zeros = lambda *shape: np.zeros(shape)  # noqa: E731
    return TrialConditions(
        body=BodyParameters.nominal(count, joints, friction),
        start_joint_offset=zeros(count, joints),
        start_heading=zeros(count),
        delay_steps=np.zeros(count, dtype=np.int64),
        joint_pos_offset=zeros(count, joints),
        ang_vel_offset=zeros(count, 3),
        tilt_offset=zeros(count, 3),
        heading_drift=zeros(count),
        quat_sign=np.ones(count),
        push_vel_w=zeros(ticks, count, 2),
    )


def draw_conditions(
    config: EvaluateConfig,
    joints: int,
    ticks: int,
    control_dt: float,
    physics_dt: float,
    generator: np.random.Generator,
) -> TrialConditions:
    """Draw the conditions of ``config.trials`` trials.

    Args:
        config: ranges.
        joints: number of joints J.
        ticks: control ticks K of a trial.
        control_dt: [s].
        physics_dt: [s]; delays are rounded to it.
        generator: source of randomness.
    """
    n, rng = config.trials, generator
    both = lambda largest, *shape: rng.uniform(-largest, largest, size=shape)  # noqa: E731
    body = BodyParameters(
        friction=_tensor(rng.uniform(*config.friction, size=n)),
        mass_scale=_tensor(rng.uniform(*config.mass_scale, size=n)),
        payload=_tensor(rng.uniform(*config.payload, size=n)),
        com_offset=_tensor(both(config.com_offset, n, 3)),
        kp_scale=_tensor(rng.uniform(*config.gain_scale, size=(n, joints))),
        kd_scale=_tensor(rng.uniform(*config.gain_scale, size=(n, joints))),
        strength=_tensor(rng.uniform(*config.strength, size=(n, joints))),
    )
    tilt = both(config.tilt_offset, n, 3)
    tilt[:, 2] = 0.0
    return TrialConditions(
        body=body,
        start_joint_offset=both(config.start_joint_offset, n, joints),
        start_heading=rng.uniform(*config.start_heading, size=n),
        delay_steps=np.round(rng.uniform(*config.delay, size=n) / physics_dt).astype(np.int64),
        joint_pos_offset=both(config.joint_pos_offset, n, joints),
        ang_vel_offset=both(config.ang_vel_offset, n, 3),
        tilt_offset=tilt,
        heading_drift=both(config.heading_drift, n),
        quat_sign=rng.choice([-1.0, 1.0], size=n),
        push_vel_w=_draw_pushes(config, n, ticks, control_dt, rng),
    )


def _draw_pushes(config: EvaluateConfig, n: int, ticks: int, control_dt: float, rng: np.random.Generator) -> Array:
    """Pushes at any time but the last second, in which the robot could not show that it recovers."""
    pushes = np.zeros((ticks, n, 2))
    latest = max(1, ticks - round(1.0 / control_dt))
    for trial, count in enumerate(rng.integers(config.pushes[0], config.pushes[1] + 1, size=n)):
        for _ in range(count):
            speed, angle = rng.uniform(*config.push_speed), rng.uniform(-np.pi, np.pi)
            pushes[rng.integers(0, latest), trial] += speed * np.array([np.cos(angle), np.sin(angle)])
    return pushes


def _tensor(array: Array) -> torch.Tensor:
    return torch.from_numpy(np.asarray(array, dtype=np.float32))
