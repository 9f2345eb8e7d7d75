"""What the actor sees, from sensors that a real robot has; what the critic sees beyond that.

What enters: named raw readings, the policy's own state, the reference. What leaves: feature rows. The
actor's part is traced into the exported graph, so training and robot run the same code. It holds no
base velocity, no world position and no absolute yaw: orientation is taken relative to the heading at
the start, which the graph remembers in its state.

State layout, S = 2 + history * frame: cosine and sine of the start heading, then past frames, newest
first. A frame is joint angles minus the stand (J), joint velocities * 0.05 (J), action (J), gravity (3).
"""

from __future__ import annotations

import numpy as np
import torch

from lagoon.imitation.arrays import Array, joined, library, rows_of
from lagoon.imitation.reference import Reference
from lagoon.imitation.rotations import (
    gravity_in_base,
    quat_difference,
    quat_from_heading,
    quat_mul,
    quat_rotate_inverse,
    quat_to_rotvec,
)
from lagoon.sim.backend import SimState

Tensor = torch.Tensor

JOINT_VEL_SCALE = 0.05
ANG_VEL_SCALE = 0.25
WAVES = (1.0, 3.0, 8.0)
"""The clock of the motion is shown by sine and cosine at so many times the phase."""


class ActorObservation(torch.nn.Module):
    """Rows for the actor. Pure apart from the constant tables it carries."""

    default_joint_pos: Tensor
    words: Tensor
    ahead: Tensor
    waves: Tensor
    now: Tensor
    window: Tensor

    def __init__(
        self,
        reference: Reference,
        default_joint_pos: Tensor,
        lookahead: tuple[int, ...],
        history: int,
        words: Tensor | None = None,
    ) -> None:
        """Fix the tables and the layout.

        Args:
            reference: what to imitate.
            default_joint_pos: (J,) the stand [rad].
            lookahead: reference frames ahead of now to show.
            history: past frames kept in the state.
            words: (W,) what tells this skill from others that the same network learns; None for one skill alone.
        """
        super().__init__()
        self.reference = reference
        self.lookahead, self.history = tuple(lookahead), history
        self.register_buffer("default_joint_pos", default_joint_pos.float())
        self.register_buffer("words", torch.zeros(0) if words is None else words.float())
        self.register_buffer("ahead", torch.tensor(self.lookahead))
        self.register_buffer("waves", torch.tensor(WAVES))
        # One row of a table for all that is looked up at a time.
        self.register_buffer("now", torch.cat([reference.root_quat, reference.root_ang_vel * ANG_VEL_SCALE], dim=1))
        window = [reference.joint_pos - self.default_joint_pos, reference.gravity]
        self.register_buffer("window", torch.cat(window, dim=1))
        # The same for numpy arrays, row by row of steps; it grows as far as steps go.
        self._shown = np.zeros((0, 0), np.float32)
        self._stand, self._words = self.default_joint_pos.numpy(), self.words.numpy()
        joints = len(default_joint_pos)
        self.frame_size = 3 * joints + 3
        self.state_size = 2 + history * self.frame_size
        # gravity, gyro, joints, velocities, action; orientation error; window; history; phase; words.
        width = len(lookahead) * (joints + 3)
        self.size = 6 + 3 * joints + 3 + width + 3 + history * self.frame_size + 6 + len(self.words)

    def shown(self, step: Array) -> tuple[Array, Array, Array]:
        """What control steps (N,) alone decide.

        Returns:
            (N, 4) where the base should point a step ahead; (N, L (J + 3) + 3) joints and gravity of the frames
            ahead, and the angular velocity a step ahead; (N, 6) the clock.
        """
        if isinstance(step, np.ndarray):
            return self._looked_up(step)
        ref = self.reference
        now = self.now[ref.index(step + 1)]
        window = self.window[ref.index(step[:, None] + self.ahead)]
        phase = ref.phase(step)[:, None] * self.waves
        clock = torch.stack([torch.sin(phase), torch.cos(phase)], dim=-1)
        return now[..., :4], torch.cat([window.flatten(1), now[..., 4:]], dim=-1), clock.flatten(1)

    def _looked_up(self, step: np.ndarray) -> tuple[Array, Array, Array]:
        while True:
            try:
                rows = self._shown.take(step, axis=0)
            except IndexError:
                steps = torch.arange(max(2 * len(self._shown), int(step.max()) + 1))
                self._shown = torch.cat(self.shown(steps), dim=1).numpy()
                continue
            clock = rows.shape[1] - 2 * len(WAVES)
            return rows[:, :4], rows[:, 4:clock], rows[:, clock:]

    def frame(self, joint_pos: Array, joint_vel: Array, imu_quat: Array, prev_action: Array) -> Array:
        """(N, frame_size) what is remembered of one control step."""
        return joined(
            [
                joint_pos - (self._stand if isinstance(joint_pos, np.ndarray) else self.default_joint_pos),
                joint_vel * JOINT_VEL_SCALE,
                prev_action,
                gravity_in_base(imu_quat),
            ]
        )

    def start_state(self, frame: Array, heading: Array) -> Array:
        """(N, S) the state at the first step: this heading (N, 2), and this frame as the whole past."""
        return joined([heading] + [frame] * self.history)

    def next_state(self, state: Array, frame: Array) -> Array:
        """(N, S) the state after a step: the heading stays, the oldest frame goes. A numpy state may be overwritten."""
        if self.history == 0:
            return state
        if isinstance(state, np.ndarray) and self.history == 1:
            state[:, 2:] = frame
            return state
        return joined([state[..., :2], frame, state[..., 2 : 2 + (self.history - 1) * self.frame_size]])

    def forward(
        self,
        joint_pos: Array,
        joint_vel: Array,
        imu_quat: Array,
        imu_ang_vel: Array,
        prev_action: Array,
        step: Array,
        state: Array,
        frame: Array | None = None,
        heading: Array | None = None,
    ) -> Array:
        """Build the rows, of numpy arrays as of tensors.

        Args:
            joint_pos: (N, J) encoder readings [rad].
            joint_vel: (N, J) [rad/s].
            imu_quat: (N, 4) wxyz, base to a world whose yaw origin is arbitrary.
            imu_ang_vel: (N, 3) gyro, base frame [rad/s].
            prev_action: (N, J) the previous output.
            step: (N,) int64 control steps since frame 0 of the reference.
            state: (N, S) see the module's docstring.
            frame: (N, frame_size) what ``frame`` returned for these readings, where it is known already.
            heading: (N, 4) the rotation by the state's heading, where it is known already.

        Returns:
            (N, size) rows, not normalised.
        """
        pointing, ahead, clock = self.shown(step)
        if heading is None:
            heading = quat_from_heading(state[..., :2])
        # Where the base should be pointing, seen from where it points.
        error = quat_to_rotvec(quat_difference(imu_quat, quat_mul(heading, pointing)))
        parts = [
            self.frame(joint_pos, joint_vel, imu_quat, prev_action) if frame is None else frame,
            imu_ang_vel * ANG_VEL_SCALE,
            error,
            ahead,
            state[..., 2:],
            clock,
        ]
        if len(self._words):
            words = self._words if isinstance(joint_pos, np.ndarray) else self.words
            parts += [library(words).broadcast_to(words, (joint_pos.shape[0], len(words)))]
        return joined(parts)


def critic_extras(state: SimState, reference: Reference, step: Array, foot_pos: Array, body: Array) -> Array:
    """What the critic sees beyond the actor: everything a simulator knows and a robot does not.

    Args:
        state: true state of N robots.
        reference: what to imitate.
        step: (N,) control step.
        foot_pos: (N, F, 3) true foot centres in the base frame [m].
        body: (N, P) the randomized parameters, scaled to about one.

    Returns:
        (N, 3 + 1 + 3 + 3F + P) rows, not normalised.
    """
    now = reference.at(step)
    vectors = library(foot_pos).stack([state.root_lin_vel_w, now.root_pos - state.root_pos_w])
    lin_vel, pos_error = quat_rotate_inverse(state.root_quat_w, vectors)
    foot_error = rows_of(now.foot_pos - foot_pos)
    return joined([lin_vel, state.root_pos_w[:, 2:], pos_error * 2.0, foot_error * 5.0, body])
