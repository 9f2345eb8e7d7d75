"""Simulated robots that run an exported policy: stand, then one control tick after another.

What enters: a bundle, physics settings and the conditions of each trial. What leaves: the state after
every tick. The graph runs in onnxruntime through the same PolicyRunner as on a robot.
"""

from __future__ import annotations

import os
from collections import deque
from dataclasses import replace

import numpy as np
import torch
from numpy.typing import NDArray

from lagoon.bundle import PolicyBundle
from lagoon.deploy.runtime import PolicyRunner
from lagoon.deploy.sensors import NoisySensors, perfect
from lagoon.deploy.trials import TrialConditions
from lagoon.errors import BadInputError
from lagoon.motion.rotations import quat_from_yaw
from lagoon.robot import RobotSpec
from lagoon.sim.backend import SimState
from lagoon.sim.model import PhysicsConfig
from lagoon.sim.mujoco_backend import MujocoBackend

Array = NDArray[np.float64]


def available_cores() -> int:
    """Number of cores that this process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class TrialRun:
    """N robots under one policy; call stand once, then tick until the skill is over."""

    def __init__(
        self,
        bundle: PolicyBundle,
        robot: RobotSpec,
        physics: PhysicsConfig,
        conditions: TrialConditions,
        sensors: NoisySensors | None,
        threads: int,
    ) -> None:
        """Build the simulator with the bundle's gains, since those are what a robot would be told.

        Args:
            bundle: a loaded bundle that fits the robot.
            robot: which robot.
            physics: solver options and collision shapes.
            conditions: of N trials.
            sensors: error model, or None for perfect sensors.
            threads: physics threads, 0 for all available cores.
        """
        self.robot = replace(robot, kp=bundle.kp, kd=bundle.kd)
        self.conditions, self._sensors = conditions, sensors
        count = len(conditions.start_heading)
        self.backend = MujocoBackend(self.robot, count, physics, threads or available_cores(), watch_feet=True)
        self.backend.set_parameters(torch.arange(count), conditions.body)
        self.runner = PolicyRunner(bundle, batch=count)
        self._parked = np.zeros(count, dtype=bool)
        # As many past targets as the longest delay can reach back to.
        depth = 2 + int(conditions.delay_steps.max()) // self.backend.substeps
        self._targets: deque[Array] = deque(maxlen=depth)

    def stand(self, seconds: float) -> SimState:
        """Put every robot on its four feet, let it settle for a while, and reset the policy.

        Raises:
            BadInputError: physics diverged, so the bundle's gains cannot be right.
        """
        robot, headings = self.robot, self.conditions.start_heading
        self.backend.set_state(torch.arange(len(headings)), self._standing(headings))
        targets = robot.default_joint_pos + self.conditions.start_joint_offset
        targets = np.clip(targets, robot.joint_lower, robot.joint_upper)
        for _ in range(max(1, round(seconds / robot.control_dt))):
            if self.backend.step(torch.from_numpy(targets.astype(np.float32))).any():
                raise BadInputError(
                    f"The simulated robot broke loose while it only stood, with the bundle's gains kp up to "
                    f"{robot.kp.max():g} and kd up to {robot.kd.max():g}. Check the gains in "
                    f"assets/robots/{robot.name}/robot.yaml, then: lagoon train SKILL, lagoon export SKILL --again"
                )
        self._targets.extend([targets] * (self._targets.maxlen or 1))
        self.runner.reset()
        return self.backend.state()

    @property
    def targets(self) -> Array:
        """(N, J) joint targets of the last tick, before any delay [rad]."""
        return self._targets[-1]

    def tick(self, state: SimState) -> tuple[SimState, NDArray[np.bool_]]:
        """Push, measure, run the policy, and advance the physics by one control period.

        Args:
            state: what stand or the tick before returned.

        Returns:
            The new state, and (N,) True where physics diverged or the policy returned no finite numbers.
        """
        k, robot = self.runner.tick, self.robot
        if k < len(self.conditions.push_vel_w):
            self._push(self.conditions.push_vel_w[k])
            state = self.backend.state()
        reading = perfect(state) if self._sensors is None else self._sensors.read(state, k * robot.control_dt)
        targets = self.runner.step_all(reading.joint_pos, reading.joint_vel, reading.imu_quat, reading.imu_ang_vel)
        targets[self._parked] = robot.default_joint_pos
        self._targets.append(targets)
        diverged = self.backend.step(torch.from_numpy(self._delayed().astype(np.float32))).numpy()
        return self.backend.state(), diverged | self.runner.bad_rows

    def park(self, rows: NDArray[np.bool_]) -> None:
        """Stand fallen robots up and leave the policy out: they are cheap to simulate and stay finite."""
        new = rows & ~self._parked
        self._parked |= rows
        ids = np.flatnonzero(new)
        if len(ids):
            self.backend.set_state(torch.from_numpy(ids), self._standing(self.conditions.start_heading[ids]))

    def close(self) -> None:
        """Release the simulator."""
        self.backend.close()

    def _delayed(self) -> Array:
        """(S, N, J) target that each joint sees in each of the S physics steps of this period."""
        substeps = self.backend.substeps
        steps = np.arange(substeps)[:, None] - self.conditions.delay_steps[None, :]
        age = -(steps // substeps)
        past = np.stack(self._targets)
        return past[len(past) - 1 - age, np.arange(past.shape[1])[None, :]]

    def _push(self, vel_w: Array) -> None:
        ids = np.flatnonzero(np.any(vel_w != 0.0, axis=1) & ~self._parked)
        if len(ids):
            delta = np.concatenate([vel_w[ids], np.zeros((len(ids), 1))], axis=1)
            self.backend.push(torch.from_numpy(ids), torch.from_numpy(delta.astype(np.float32)))

    def _standing(self, headings: Array) -> SimState:
        count, robot = len(headings), self.robot
        zeros = torch.zeros(count, 3)
        position = torch.zeros(count, 3)
        position[:, 2] = robot.default_root_height
        pose = torch.from_numpy(np.tile(robot.default_joint_pos, (count, 1)).astype(np.float32))
        return SimState(
            root_pos_w=position,
            root_quat_w=torch.from_numpy(quat_from_yaw(headings).astype(np.float32)),
            root_lin_vel_w=zeros,
            root_ang_vel_b=zeros.clone(),
            joint_pos=pose,
            joint_vel=torch.zeros_like(pose),
        )
