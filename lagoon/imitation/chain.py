"""Many motions one after the other in one environment: how a base policy learns them.

What enters: motions that begin and end in the stand. What leaves: one long motion, and an environment in which robots
start anywhere in it, most where they fall. Every robot is simulated beside all others whatever it does, which an
environment for each motion would not allow: their fixed costs would be paid for each.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import torch

from lagoon.errors import BadInputError
from lagoon.imitation.arrays import Array, like
from lagoon.imitation.config import TrainConfig
from lagoon.imitation.env import TrackingEnv
from lagoon.imitation.reference import Reference, facing_x
from lagoon.motion.robot_motion import RobotMotion, resample
from lagoon.motion.rotations import quat_from_yaw, quat_mul, quat_rotate, quat_yaw
from lagoon.robot import RobotSpec

Tensor = torch.Tensor

SEAM = 0.02
"""Joint angles of two motions may differ by this much where one follows the other [rad]."""


def chained(motions: Sequence[RobotMotion], fps: float) -> RobotMotion:
    """Return the motions one after the other, each from where and facing as the one before it ended.

    Args:
        motions: of one robot, all beginning and ending in the same pose.
        fps: frame rate of the result [Hz]; its segments are the motions, numbered.

    Raises:
        BadInputError: there are none, or one begins in another pose than the one before it ends in.
    """
    if not motions:
        raise BadInputError("There is no motion to chain.")
    pieces: list[RobotMotion] = []
    place, yaw = np.zeros(3), 0.0
    for k, motion in enumerate(motions):
        piece = facing_x(resample(motion, fps))
        if pieces and np.abs(piece.joint_pos[0] - pieces[-1].joint_pos[-1]).max() > SEAM:
            raise BadInputError(
                f"Motion {k + 1} does not begin in the pose that motion {k} ends in; expected motions that begin and "
                "end in the stand, as lagoon retarget makes them."
            )
        turn = quat_from_yaw(yaw)
        pieces.append(piece)
        moved = quat_rotate(turn, piece.root_pos_w) + place, quat_mul(turn, piece.root_quat_w)
        pieces[-1] = _placed(piece, *moved)
        place = pieces[-1].root_pos_w[-1] * np.array([1.0, 1.0, 0.0])
        yaw = float(quat_yaw(pieces[-1].root_quat_w[-1]))
    first = pieces[0]
    return RobotMotion(
        fps=fps,
        robot=first.robot,
        joint_names=first.joint_names,
        root_pos_w=np.concatenate([piece.root_pos_w for piece in pieces]),
        root_quat_w=np.concatenate([piece.root_quat_w for piece in pieces]),
        joint_pos=np.concatenate([piece.joint_pos for piece in pieces]),
        foot_contact=np.concatenate([piece.foot_contact for piece in pieces]),
        segment_names=tuple(str(k) for k in range(len(pieces))),
        segment_starts=tuple(np.cumsum([0, *(piece.num_frames for piece in pieces[:-1])]).tolist()),
    )


def _placed(motion: RobotMotion, root_pos: np.ndarray, root_quat: np.ndarray) -> RobotMotion:
    return RobotMotion(
        motion.fps, motion.robot, motion.joint_names, root_pos, root_quat, motion.joint_pos, motion.foot_contact
    )


class ChainedReference(Reference):
    """A chain as the actor shall see it: told how far it is in the motion at hand, as in a training of that alone."""

    along: Tensor

    def __init__(self, motion: RobotMotion, robot: RobotSpec) -> None:
        """Build the tables; ``motion`` is what ``chained`` returned, at the control rate."""
        super().__init__(motion, robot)
        bounds = [*np.asarray(motion.segment_starts).tolist(), motion.num_frames]
        shares = [np.arange(stop - start) / (stop - start) for start, stop in pairwise(bounds)]
        self.register_buffer("along", torch.tensor(np.concatenate([*shares, [1.0]]), dtype=torch.float32))

    def phase(self, step: Array) -> Array:
        """See Reference.phase; of the motion at hand."""
        return torch.pi * like(self.along, step)[self.index(step)]


@dataclass(frozen=True)
class MakeChainEnv:
    """Builds the environment of one worker; picklable."""

    motions: tuple[RobotMotion, ...]
    robot: RobotSpec
    config: TrainConfig

    def __call__(self, rank: int, num_envs: int, seed: int) -> TrackingEnv:
        """Return the environment of worker ``rank``."""
        motion = chained(self.motions, 1.0 / self.robot.control_dt)
        reference = ChainedReference(motion, self.robot)
        return TrackingEnv(motion, self.robot, self.config, num_envs, seed * 1009 + rank, reference=reference)
