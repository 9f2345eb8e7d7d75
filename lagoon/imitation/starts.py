"""Where episodes begin: at the reference, a little off it.

What enters: the reference and a generator. What leaves: states near its frames, drawn in large batches
and handed out as robots fall, since drawing a handful at every step would cost more than the physics of it.
"""

from __future__ import annotations

import math

import numpy as np
import torch

from lagoon.imitation.config import TaskConfig
from lagoon.imitation.kinematics import FootKinematics
from lagoon.imitation.reference import Reference
from lagoon.imitation.rotations import quat_from_rotvec, quat_mul, quat_rotate
from lagoon.robot import RobotSpec
from lagoon.sim.backend import SimState

Tensor = torch.Tensor

BATCH = 512
"""States drawn at once."""
BIN_SECONDS = 0.25
"""Frames are drawn by stretches of this length [s]."""
LOOK_BACK = 3
"""A fall has its cause in this many stretches before it, the last of them most."""
MEMORY = 0.995
"""Share of the falls that is still counted after another hundred episodes' ends."""


class Starts:
    """An endless supply of start states."""

    def __init__(
        self,
        reference: Reference,
        robot: RobotSpec,
        task: TaskConfig,
        generator: torch.Generator,
        start_share: float,
    ) -> None:
        """Remember what to draw from; nothing is drawn yet.

        Args:
            reference: frames to start at.
            robot: limits of its joints, size of its feet.
            task: noise around the frames.
            generator: source of randomness.
            start_share: share of the starts at frame 0; the rest are spread over all frames.
        """
        self._reference, self._robot, self._task = reference, robot, task
        self._generator, self._start_share = generator, start_share
        self._feet = FootKinematics(robot)
        self._lower = torch.tensor(robot.joint_lower, dtype=torch.float32)
        self._upper = torch.tensor(robot.joint_upper, dtype=torch.float32)
        self._dt = robot.control_dt
        bins = max(1, math.ceil((reference.num_frames - 2) * robot.control_dt / BIN_SECONDS))
        self.falls = torch.zeros(bins)
        """(B,) falls in each stretch, older ones count less."""
        self._frames, self._states, self._next = np.zeros(0, np.int64), None, 0

    def report(self, steps: Tensor, fell: Tensor) -> None:
        """Tell how episodes ended.

        Args:
            steps: (K,) control steps since frame 0 at their ends.
            fell: (K,) True where they ended by failure.
        """
        bins = (steps.to(torch.float32) * self._dt / BIN_SECONDS).to(torch.int64).clamp(max=len(self.falls) - 1)
        self.falls *= MEMORY ** (len(steps) / 100)
        self.falls += torch.bincount(bins[fell], minlength=len(self.falls)).to(self.falls.dtype)

    def weights(self) -> Tensor:
        """(B,) chance of each stretch, summing to 1: the task's share where robots fail, the rest uniform."""
        uniform = torch.full_like(self.falls, 1.0 / len(self.falls))
        share = self._task.adaptive_starts
        if share == 0.0 or not self.falls.any():
            return uniform
        spread = torch.zeros_like(self.falls)
        for back in range(min(LOOK_BACK, len(self.falls))):
            spread += torch.cat([self.falls[back:], torch.zeros(back)]) * 0.5**back
        return (1.0 - share) * uniform + share * spread / spread.sum()

    def entropy(self) -> float:
        """Entropy of the weights as a share of its largest value: 1 is uniform, 0 a single stretch."""
        weights = self.weights()
        if len(weights) == 1:
            return 1.0
        return float(-(weights * weights.clamp(min=1e-12).log()).sum() / math.log(len(weights)))

    def take(self, count: int) -> tuple[np.ndarray, SimState]:
        """Return the frames (count,) int64 and the states (count rows) of the next starts, as numpy arrays."""
        if self._states is None or self._next + count > len(self._frames):
            frames, states = self._draw(max(BATCH, count))
            self._frames, self._states, self._next = frames.numpy(), states.numpy(), 0
        rows = slice(self._next, self._next + count)
        self._next += count
        return self._frames[rows], self._states.rows(rows)

    def _draw(self, count: int) -> tuple[Tensor, SimState]:
        task, ref, rng = self._task, self._reference, self._generator
        frame = torch.randint(0, max(1, ref.num_frames - 2), (count,), generator=rng)
        if task.adaptive_starts > 0.0:
            length = BIN_SECONDS / self._dt
            place = torch.multinomial(self.weights(), count, replacement=True, generator=rng)
            inside = torch.rand(count, generator=rng)
            frame = ((place + inside) * length).to(torch.int64).clamp(max=max(0, ref.num_frames - 3))
        frame[torch.rand(count, generator=rng) < self._start_share] = 0

        def normal(width: int, scale: float) -> Tensor:
            return torch.randn((count, width), generator=rng) * scale

        joints = ref.joint_pos.shape[1]
        joint_pos = ref.joint_pos[frame] + normal(joints, task.reset_joint_noise)
        joint_pos = torch.minimum(torch.maximum(joint_pos, self._lower), self._upper)
        quat = quat_mul(ref.root_quat[frame], quat_from_rotvec(normal(3, task.reset_tilt_noise)))
        pos = ref.root_pos[frame].clone()
        # Lift the robot where the noise has put a foot into the floor.
        feet = quat_rotate(quat.unsqueeze(1), self._feet(joint_pos))
        lowest = feet[..., 2].min(-1).values + pos[:, 2] - self._robot.foot_radius
        pos[:, 2] -= torch.clamp(lowest, max=0.0)
        speed = task.reset_velocity_noise
        return frame, SimState(
            root_pos_w=pos,
            root_quat_w=quat,
            root_lin_vel_w=ref.root_lin_vel[frame] + normal(3, speed),
            root_ang_vel_b=ref.root_ang_vel[frame] + normal(3, 2 * speed),
            joint_pos=joint_pos,
            joint_vel=ref.joint_vel[frame] + normal(joints, 4 * speed),
        )
