"""The policy as one graph from raw sensors to joint targets.

What enters: named sensor readings, the previous action, the step counter and the graph's own state.
What leaves: joint position targets, the action and the next state. Observation, normaliser, network,
action scaling and the reference motion are inside, so a robot needs nothing else.
"""

from __future__ import annotations

import torch

from lagoon.engine.policy import GaussianActorCritic
from lagoon.imitation.config import TaskConfig
from lagoon.imitation.observations import ActorObservation
from lagoon.imitation.reference import Reference
from lagoon.imitation.rotations import heading_of
from lagoon.motion.robot_motion import RobotMotion
from lagoon.robot import RobotSpec

Tensor = torch.Tensor

INPUT_NAMES = ("joint_pos", "joint_vel", "imu_quat", "imu_ang_vel", "prev_action", "time_step", "state")
OUTPUT_NAMES = ("joint_pos_target", "action", "state_out")


class PolicyGraph(torch.nn.Module):
    """The deterministic policy; traced and exported to ONNX."""

    lower: Tensor
    upper: Tensor

    def __init__(self, policy: GaussianActorCritic, motion: RobotMotion, robot: RobotSpec, task: TaskConfig) -> None:
        """Put the trained actor behind the observation it was trained on."""
        super().__init__()
        default = torch.tensor(robot.default_joint_pos, dtype=torch.float32)
        self.observe = ActorObservation(Reference(motion, robot), default, task.lookahead, task.history)
        self.normalizer, self.actor = policy.normalizer["actor"], policy.actor
        self.action_scale, self.action_clip = task.action_scale, task.action_clip
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
        rows = self.observe(joint_pos, joint_vel, imu_quat, imu_ang_vel, prev_action, step, state)
        action = self.actor(self.normalizer(rows)).clamp(-self.action_clip, self.action_clip)
        reference = self.observe.reference
        target = reference.joint_target[reference.index(step + 1)] + self.action_scale * action
        target = torch.minimum(torch.maximum(target, self.lower), self.upper)
        return target, action, self.observe.next_state(state, frame)
