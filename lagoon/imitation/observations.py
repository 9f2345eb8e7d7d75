"""What the actor sees, from sensors that a real robot has; what the critic sees beyond that.

What enters: named raw readings, the policy's own state, the reference. What leaves: feature rows. The
actor's part is traced into the exported graph, so training and robot run the same code. It holds no
base velocity, no world position and no absolute yaw: orientation is taken relative to the heading at
the start, which the graph remembers in its state.

State layout, S = 2 + history * frame: cosine and sine of the start heading, then past frames, newest
first. A frame is joint angles minus the stand (J), joint velocities * 0.05 (J), action (J), gravity (3).
"""

from __future__ import annotations

import torch

from lagoon.imitation.reference import Reference
from lagoon.imitation.rotations import (
    gravity_in_base,
    quat_conj,
    quat_from_heading,
    quat_mul,
    quat_rotate_inverse,
    quat_to_rotvec,
)
from lagoon.sim.backend import SimState

Tensor = torch.Tensor

JOINT_VEL_SCALE = 0.05
ANG_VEL_SCALE = 0.25


class ActorObservation(torch.nn.Module):
    """Rows for the actor. Pure apart from the constant tables it carries."""

    default_joint_pos: Tensor
    words: Tensor

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
        joints = len(default_joint_pos)
        self.frame_size = 3 * joints + 3
        self.state_size = 2 + history * self.frame_size
        # gravity, gyro, joints, velocities, action; orientation error; window; history; phase; words.
        window = len(lookahead) * (joints + 3)
        self.size = 6 + 3 * joints + 3 + window + 3 + history * self.frame_size + 6 + len(self.words)

    def frame(self, joint_pos: Tensor, joint_vel: Tensor, imu_quat: Tensor, prev_action: Tensor) -> Tensor:
        """(N, frame_size) what is remembered of one control step."""
        return torch.cat(
            [
                joint_pos - self.default_joint_pos,
                joint_vel * JOINT_VEL_SCALE,
                prev_action,
                gravity_in_base(imu_quat),
            ],
            dim=-1,
        )

    def start_state(self, frame: Tensor, heading: Tensor) -> Tensor:
        """(N, S) the state at the first step: this heading (N, 2), and this frame as the whole past."""
        return torch.cat([heading] + [frame] * self.history, dim=-1)

    def next_state(self, state: Tensor, frame: Tensor) -> Tensor:
        """(N, S) the state after a step: the heading stays, the oldest frame goes."""
        if self.history == 0:
            return state
        return torch.cat([state[..., :2], frame, state[..., 2 : 2 + (self.history - 1) * self.frame_size]], dim=-1)

    def forward(
        self,
        joint_pos: Tensor,
        joint_vel: Tensor,
        imu_quat: Tensor,
        imu_ang_vel: Tensor,
        prev_action: Tensor,
        step: Tensor,
        state: Tensor,
    ) -> Tensor:
        """Build the rows.

        Args:
            joint_pos: (N, J) encoder readings [rad].
            joint_vel: (N, J) [rad/s].
            imu_quat: (N, 4) wxyz, base to a world whose yaw origin is arbitrary.
            imu_ang_vel: (N, 3) gyro, base frame [rad/s].
            prev_action: (N, J) the previous output.
            step: (N,) int64 control steps since frame 0 of the reference.
            state: (N, S) see the module's docstring.

        Returns:
            (N, size) rows, not normalised.
        """
        ref = self.reference
        now = ref.index(step + 1)
        heading = quat_from_heading(state[..., :2])
        # Where the base should be pointing, seen from where it points.
        error = quat_to_rotvec(quat_mul(quat_conj(imu_quat), quat_mul(heading, ref.root_quat[now])))
        parts = [
            self.frame(joint_pos, joint_vel, imu_quat, prev_action),
            imu_ang_vel * ANG_VEL_SCALE,
            error,
        ]
        for ahead in self.lookahead:
            rows = ref.index(step + ahead)
            parts += [ref.joint_pos[rows] - self.default_joint_pos, ref.gravity[rows]]
        parts += [ref.root_ang_vel[now] * ANG_VEL_SCALE, state[..., 2:]]
        phase = ref.phase(step, joint_pos.dtype).unsqueeze(-1)
        parts += [f(k * phase) for k in (1, 3, 8) for f in (torch.sin, torch.cos)]
        if len(self.words):
            parts += [self.words.expand(joint_pos.shape[0], -1)]
        return torch.cat(parts, dim=-1)


def critic_extras(state: SimState, reference: Reference, step: Tensor, foot_pos: Tensor, body: Tensor) -> Tensor:
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
    now = reference.index(step)
    lin_vel = quat_rotate_inverse(state.root_quat_w, state.root_lin_vel_w)
    pos_error = quat_rotate_inverse(state.root_quat_w, reference.root_pos[now] - state.root_pos_w)
    foot_error = (reference.foot_pos[now] - foot_pos).flatten(1)
    return torch.cat([lin_vel, state.root_pos_w[:, 2:], pos_error * 2.0, foot_error * 5.0, body], dim=-1)
