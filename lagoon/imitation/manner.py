"""What a step is paid for: tracking on the clock, tracking where the robot is in the motion, and style.

What enters: the state after each control step. What leaves: rewards (N,), the errors that decide about failure, and
what the critic is told of alignment and style. With both shares at zero this is the phase-locked reward alone, at no
cost.
"""

from __future__ import annotations

import numpy as np
import torch

from lagoon.imitation.alignment import OnlineAlignment
from lagoon.imitation.arrays import mean, tensor
from lagoon.imitation.config import TaskConfig
from lagoon.imitation.kinematics import FootKinematics
from lagoon.imitation.reference import Reference
from lagoon.imitation.rewards import TrackingError, tracking_error, tracking_reward
from lagoon.imitation.style import Style
from lagoon.robot import RobotSpec
from lagoon.sim.backend import SimState

Tensor = torch.Tensor
Array = np.ndarray


class Manner:
    """The reward of N robots, with what it remembers of each."""

    def __init__(
        self,
        reference: Reference,
        task: TaskConfig,
        feet: FootKinematics,
        alignment: OnlineAlignment | None,
        style: Style | None,
    ) -> None:
        """Keep the parts; alignment and style are None where their share is zero."""
        self.reference, self.task, self.alignment, self.style = reference, task, alignment, style
        self._feet = feet
        self._looks, self._lag = np.zeros(0, np.float32), np.zeros(0, np.int64)
        joints = reference.joint_pos.shape[1]
        self.width = (2 + joints if alignment else 0) + (1 if style else 0)
        """Columns that the critic gets."""
        self.late_steps = alignment.lag if alignment else 0
        """Control steps that an episode lasts longer, for robots that are late."""

    @staticmethod
    def build(reference: Reference, robot: RobotSpec, task: TaskConfig, num_envs: int, seed: int) -> Manner:
        """Build what the task's shares ask for."""
        aligned, style = task.alignment.share > 0.0, task.style.share > 0.0
        return Manner(
            reference,
            task,
            FootKinematics(robot),
            OnlineAlignment(reference, task.alignment, num_envs, robot.control_dt) if aligned else None,
            Style(reference, task.style, num_envs, seed) if style else None,
        )

    def begin(self, ids: Array, frame: Array, state: SimState) -> None:
        """Start the robots ``ids`` (K,) at frames (K,) in states (K rows)."""
        if self.alignment is not None:
            self.alignment.begin(tensor(ids), tensor(frame))
        if self.style is not None:
            self.style.begin(tensor(ids), state.torch(), tensor(self._feet(state.joint_pos)))

    def reward(self, state: SimState, step: Array, foot_pos: Array) -> tuple[Array, TrackingError]:
        """Return rewards (N,) in [0, 1] and the errors by which a robot fails.

        Args:
            state: of N robots after the step.
            step: (N,) control steps since frame 0.
            foot_pos: (N, F, 3) in the base frame [m].
        """
        earned, error = self._tracking(state, step, foot_pos)
        if self.style is None:
            return earned, error
        self._looks = self.style.reward(state.torch(), tensor(foot_pos)).numpy()
        share = self.task.style.share
        return (1.0 - share) * earned + share * self._looks, error

    def _tracking(self, state: SimState, step: Array, foot_pos: Array) -> tuple[Array, TrackingError]:
        share = self.task.alignment.share
        if self.alignment is None:
            error = tracking_error(state, self.reference, step, foot_pos)
            return tracking_reward(error, self.task.reward), error
        self.alignment.advance(state.torch(), tensor(step))
        frame, rate = self.alignment.frame.numpy(), self.alignment.rate.numpy()
        error = tracking_error(state, self.reference, frame, foot_pos, rate)
        earned = tracking_reward(error, self.task.reward)
        if share < 1.0:
            on_time = tracking_error(state, self.reference, step, foot_pos)
            earned = share * earned + (1.0 - share) * tracking_reward(on_time, self.task.reward)
        self._lag = frame - np.minimum(step, self.reference.num_frames)
        return earned, error

    def critic_inputs(self, state: SimState) -> Array:
        """(N, width) lag and pace, joint errors at the aligned frame, style of the last transition; after reward()."""
        columns = []
        if self.alignment is not None:
            lag = self._lag.astype(np.float32) / max(1, self.alignment.lag)
            error = self.reference.at(self.alignment.frame.numpy()).joint_pos - state.joint_pos
            columns += [lag[:, None], self.alignment.rate.numpy()[:, None], error]
        if self.style is not None:
            columns.append(self._looks[:, None])
        return np.concatenate(columns, axis=-1) if columns else np.zeros((len(state.joint_pos), 0), np.float32)

    def fresh_inputs(self, count: int) -> Array:
        """(count, width) what the critic is told of robots that have just begun."""
        inputs = np.zeros((count, self.width), np.float32)
        if self.alignment is not None:
            inputs[:, 1] = 1.0
        if self.style is not None:
            inputs[:, -1] = 0.5
        return inputs

    def metrics(self) -> dict[str, float]:
        """Numbers for the log, of the last step."""
        found: dict[str, float] = {}
        if self.alignment is not None:
            found["lag_frames"] = mean(abs(self._lag))
        if self.style is not None:
            found["style_reward"] = mean(self._looks)
            found |= self.style.stats
        return found

    def learn(self) -> None:
        """Improve the discriminator, once in an iteration."""
        if self.style is not None:
            self.style.learn()

    def state_dict(self) -> dict[str, Tensor]:
        """What a resumed run needs; empty without style."""
        return {} if self.style is None else self.style.state_dict()

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        """Take over what state_dict returned."""
        if self.style is not None and "style_generator" in state:
            self.style.load_state_dict(state)
