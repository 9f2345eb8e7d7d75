"""What a robot's sensors report of the truth.

What enters: the simulated state and the errors of each trial. What leaves: the four readings that a
policy takes. Errors that last are drawn once per trial; noise is drawn at every tick.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lagoon.deploy.config import EvaluateConfig
from lagoon.deploy.trials import TrialConditions
from lagoon.motion.rotations import quat_from_rotvec, quat_from_yaw, quat_mul
from lagoon.sim.backend import SimState

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Reading:
    """Sensor values of N robots at one tick."""

    joint_pos: Array
    """(N, J) [rad]."""
    joint_vel: Array
    """(N, J) [rad/s]."""
    imu_quat: Array
    """(N, 4) wxyz, base to a world whose heading drifts."""
    imu_ang_vel: Array
    """(N, 3) base frame [rad/s]."""


def perfect(state: SimState) -> Reading:
    """Return the truth."""
    return Reading(
        joint_pos=state.joint_pos.numpy().astype(np.float64),
        joint_vel=state.joint_vel.numpy().astype(np.float64),
        imu_quat=state.root_quat_w.numpy().astype(np.float64),
        imu_ang_vel=state.root_ang_vel_b.numpy().astype(np.float64),
    )


class NoisySensors:
    """Adds each trial's errors and fresh noise to the truth."""

    def __init__(self, config: EvaluateConfig, conditions: TrialConditions, generator: np.random.Generator) -> None:
        """Keep the errors; ``generator`` gives the noise."""
        self._config, self._conditions, self._rng = config, conditions, generator

    def read(self, state: SimState, seconds: float) -> Reading:
        """Return the readings at ``seconds`` after the start of the skill.

        The measured orientation is drift * truth * mounting error: drift turns about the world's vertical,
        mounting and noise turn in the base frame.
        """
        c, trial, truth = self._config, self._conditions, perfect(state)
        noise = lambda size, of: self._rng.normal(0.0, size, of.shape)  # noqa: E731
        gyro = truth.imu_ang_vel
        wobble = quat_from_rotvec(trial.tilt_offset + noise(c.tilt_noise, gyro))
        drift = quat_from_yaw(trial.heading_drift * seconds)
        return Reading(
            joint_pos=truth.joint_pos + trial.joint_pos_offset + noise(c.joint_pos_noise, truth.joint_pos),
            joint_vel=truth.joint_vel + noise(c.joint_vel_noise, truth.joint_vel),
            imu_quat=quat_mul(drift, quat_mul(truth.imu_quat, wobble)) * trial.quat_sign[:, None],
            imu_ang_vel=gyro + trial.ang_vel_offset + noise(c.ang_vel_noise, gyro),
        )
