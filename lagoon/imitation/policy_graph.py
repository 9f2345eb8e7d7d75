"""The policy as one graph from raw sensors to joint targets.

What enters: named sensor readings, the previous action, the step counter and the graph's own state.
What leaves: joint position targets, the action and the next state. Observation, normaliser, network,
action scaling and the reference motion are inside, so a robot needs nothing else.
"""

from __future__ import annotations

import math

import torch

from lagoon.engine.policy import GaussianActorCritic
from lagoon.imitation.arrays import Array
from lagoon.imitation.config import TaskConfig
from lagoon.imitation.observations import ActorObservation
from lagoon.imitation.reference import Reference
from lagoon.imitation.rotations import heading_of
from lagoon.motion.robot_motion import RobotMotion
from lagoon.robot import RobotSpec

Tensor = torch.Tensor

INPUT_NAMES = ("joint_pos", "joint_vel", "imu_quat", "imu_ang_vel", "prev_action", "time_step", "state")
OUTPUT_NAMES = ("joint_pos_target", "action", "state_out")


def blend_of(cutoff: float, dt: float) -> float:
    """Weight of the new value in a first-order low-pass with this corner frequency [Hz]; 1 without a filter (0 Hz)."""
    return 1.0 - math.exp(-2.0 * math.pi * cutoff * dt) if cutoff > 0.0 else 1.0


def filtered(action: Array, prev_action: Array, blend: float) -> Array:
    """(N, J) the low-passed action; ``prev_action`` is the one that this gave a step before."""
    return prev_action + blend * (action - prev_action)


class PolicyGraph(torch.nn.Module):
    """The deterministic policy; traced and exported to ONNX."""

    lower: Tensor
    upper: Tensor

    def __init__(
        self,
        policy: GaussianActorCritic,
        motion: RobotMotion,
        robot: RobotSpec,
        task: TaskConfig,
        words: Tensor | None = None,
    ) -> None:
        """Put the trained actor behind the observation it was trained on; ``words`` are those of this skill, if any."""
        super().__init__()
        default = torch.tensor(robot.default_joint_pos, dtype=torch.float32)
        self.observe = ActorObservation(Reference(motion, robot), default, task.lookahead, task.history, words)
        self.normalizer, self.actor = policy.normalizer["actor"], policy.actor
        self.action_scale, self.action_clip = task.action_scale, task.action_clip
        self.blend = blend_of(task.target_cutoff, robot.control_dt)
        self.register_buffer("lower", torch.tensor(robot.joint_lower, dtype=torch.float32))
        self.register_buffer("upper", torch.tensor(robot.joint_upper, dtype=torch.float32))

    @property
    def state_size(self) -> int:
        """Width S of the graph's state; its initial value is all zeros."""
        return self.observe.state_size

    def forward(
        self,
        joint_pos: Tensor,
        joint_vel: Tensor,
        imu_quat: Tensor,
        imu_ang_vel: Tensor,
        prev_action: Tensor,
        time_step: Tensor,
        state: Tensor,
    ) -> tuple[Tensor, Tensor, Tensor]:
        """One control step for N robots.

        Args:
            joint_pos: (N, J) [rad].
            joint_vel: (N, J) [rad/s].
            imu_quat: (N, 4) wxyz, base to a world whose yaw origin is arbitrary.
            imu_ang_vel: (N, 3) base frame [rad/s].
            prev_action: (N, J) this graph's previous ``action``; zeros at first.
            time_step: (N, 1) float, 0 at the first call, then 1, 2, ...
            state: (N, S) this graph's previous ``state_out``; ignored at time step 0.

        Returns:
            joint_pos_target (N, J) [rad], action (N, J), state_out (N, S).
        """
        frame = self.observe.frame(joint_pos, joint_vel, imu_quat, prev_action)
        fresh = self.observe.start_state(frame, heading_of(imu_quat))
        state = torch.where(time_step < 0.5, fresh, state)
        step = torch.round(time_step).squeeze(-1).to(torch.int64)
        rows = self.observe(joint_pos, joint_vel, imu_quat, imu_ang_vel, prev_action, step, state, frame)
        action = self.actor(self.normalizer(rows)).clamp(-self.action_clip, self.action_clip)
        if self.blend < 1.0:
            action = filtered(action, prev_action, self.blend)
        reference = self.observe.reference
        target = reference.joint_target[reference.index(step + 1)] + self.action_scale * action
        target = torch.minimum(torch.maximum(target, self.lower), self.upper)
        return target, action, self.observe.next_state(state, frame)
