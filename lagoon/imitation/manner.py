"""What a step is paid for: tracking on the clock, tracking where the robot is in the motion, and style.

What enters: the state after each control step. What leaves: rewards (N,), the errors that decide about failure, and
what the critic is told of alignment and style. With both shares at zero this is the phase-locked reward alone, at no
cost.
"""

from __future__ import annotations

import torch

from lagoon.imitation.alignment import OnlineAlignment
from lagoon.imitation.config import TaskConfig
from lagoon.imitation.kinematics import FootKinematics
from lagoon.imitation.reference import Reference
from lagoon.imitation.rewards import TrackingError, tracking_error, tracking_reward
from lagoon.imitation.style import Style
from lagoon.robot import RobotSpec
from lagoon.sim.backend import SimState

Tensor = torch.Tensor


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
        self._looks, self._lag = torch.zeros(0), torch.zeros(0, dtype=torch.int64)
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

    def begin(self, ids: Tensor, frame: Tensor, state: SimState) -> None:
        """Start the robots ``ids`` (K,) at frames (K,) in states (K rows)."""
        if self.alignment is not None:
            self.alignment.begin(ids, frame)
        if self.style is not None:
            self.style.begin(ids, state, self._feet(state.joint_pos))

    def reward(self, state: SimState, step: Tensor, foot_pos: Tensor) -> tuple[Tensor, TrackingError]:
        """Return rewards (N,) in [0, 1] and the errors by which a robot fails.

        Args:
            state: of N robots after the step.
            step: (N,) control steps since frame 0.
            foot_pos: (N, F, 3) in the base frame [m].
        """
        earned, error = self._tracking(state, step, foot_pos)
        if self.style is None:
            return earned, error
        self._looks = self.style.reward(state, foot_pos)
        share = self.task.style.share
        return (1.0 - share) * earned + share * self._looks, error

    def _tracking(self, state: SimState, step: Tensor, foot_pos: Tensor) -> tuple[Tensor, TrackingError]:
        share = self.task.alignment.share
        if self.alignment is None:
            error = tracking_error(state, self.reference, step, foot_pos)
            return tracking_reward(error, self.task.reward), error
        self.alignment.advance(state, step)
        error = tracking_error(state, self.reference, self.alignment.frame, foot_pos, self.alignment.rate)
        earned = tracking_reward(error, self.task.reward)
        if share < 1.0:
            on_time = tracking_error(state, self.reference, step, foot_pos)
            earned = share * earned + (1.0 - share) * tracking_reward(on_time, self.task.reward)
        self._lag = self.alignment.frame - step.clamp(max=self.reference.num_frames)
        return earned, error

    def critic_inputs(self, state: SimState) -> Tensor:
        """(N, width) lag and pace, joint errors at the aligned frame, style of the last transition; after reward()."""
        columns = []
        if self.alignment is not None:
            lag = self._lag.to(torch.float32) / max(1, self.alignment.lag)
            error = self.reference.joint_pos[self.reference.index(self.alignment.frame)] - state.joint_pos
            columns += [lag.unsqueeze(-1), self.alignment.rate.unsqueeze(-1), error]
        if self.style is not None:
            columns.append(self._looks.unsqueeze(-1))
        return torch.cat(columns, dim=-1) if columns else torch.zeros(len(state.joint_pos), 0)

    def fresh_inputs(self, count: int) -> Tensor:
        """(count, width) what the critic is told of robots that have just begun."""
        inputs = torch.zeros(count, self.width)
        if self.alignment is not None:
            inputs[:, 1] = 1.0
        if self.style is not None:
            inputs[:, -1] = 0.5
        return inputs

    def metrics(self) -> dict[str, float]:
        """Numbers for the log, of the last step."""
        found: dict[str, float] = {}
        if self.alignment is not None:
            found["lag_frames"] = self._lag.abs().float().mean().item()
        if self.style is not None:
            found["style_reward"] = self._looks.mean().item()
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
