"""RobotMotion: what the robot should do, as root pose and joint angles over time.

What enters: retargeting's output. What leaves: the reference that imitation tracks.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from lagoon.errors import BadInputError
from lagoon.motion import npz
from lagoon.motion.checks import checked_array, checked_fps, checked_quaternions
from lagoon.motion.rotations import quat_conj, quat_continuous, quat_mul, quat_slerp, quat_to_rotvec


@dataclass(frozen=True, repr=False)
class RobotMotion:
    """Root pose, joint angles and foot contacts of a robot over time; world Z-up, floor at z = 0."""

    fps: float
    """Frame rate [Hz]; T frames last (T - 1) / fps seconds."""
    robot: str
    """Robot name, for example ``go2``."""
    joint_names: tuple[str, ...]
    """(J,) joint names, the order of RobotSpec.joint_names."""
    root_pos_w: NDArray[np.float64]
    """(T, 3) base origin in world [m]."""
    root_quat_w: NDArray[np.float64]
    """(T, 4) base orientation wxyz, base to world; neighbouring frames on one hemisphere."""
    joint_pos: NDArray[np.float64]
    """(T, J) joint angles [rad]."""
    foot_contact: NDArray[np.bool_]
    """(T, F) True where the foot is meant to carry weight; F in RobotSpec.foot_names order."""
    segment_names: tuple[str, ...] = ("motion",)
    """(S,) what each stretch of the clip is: for example lead_in, motion, lead_out."""
    segment_starts: NDArray[np.int64] | tuple[int, ...] = (0,)
    """(S,) first frame of each stretch, ascending, the first one 0."""

    def __post_init__(self) -> None:
        """Validate every field; see docs/conventions.md.

        Raises:
            BadInputError: a field has a wrong shape or a value that is not finite.
        """
        set_field = object.__setattr__
        names = tuple(str(name) for name in self.joint_names)
        set_field(self, "joint_names", names)
        set_field(self, "robot", str(self.robot))
        set_field(self, "fps", checked_fps("RobotMotion", self.fps))
        pos = checked_array("RobotMotion", "root_pos_w", self.root_pos_w, (None, 3))
        frames = len(pos)
        if frames < 2:
            raise BadInputError(f"RobotMotion.root_pos_w has {frames} frames; a motion needs at least 2.")
        set_field(self, "root_pos_w", pos)
        quat = quat_continuous(checked_quaternions("RobotMotion", "root_quat_w", self.root_quat_w, (frames, 4)))
        quat.setflags(write=False)
        set_field(self, "root_quat_w", quat)
        joints = checked_array("RobotMotion", "joint_pos", self.joint_pos, (frames, len(names)))
        set_field(self, "joint_pos", joints)
        contact = np.array(self.foot_contact, dtype=bool)
        if contact.ndim != 2 or len(contact) != frames:
            raise BadInputError(f"RobotMotion.foot_contact has shape {contact.shape}; expected ({frames}, feet).")
        contact.setflags(write=False)
        set_field(self, "foot_contact", contact)
        set_field(self, "segment_names", tuple(str(name) for name in self.segment_names))
        starts = np.array(self.segment_starts, dtype=np.int64)
        if len(starts) != len(self.segment_names) or starts[0] != 0 or np.any(np.diff(starts) < 0):
            raise BadInputError(
                f"RobotMotion.segment_starts {starts.tolist()} must begin with 0, ascend, and have one entry for each "
                f"of {list(self.segment_names)}."
            )
        set_field(self, "segment_starts", starts)

    @property
    def num_frames(self) -> int:
        """Number of frames T."""
        return len(self.root_pos_w)

    @property
    def duration(self) -> float:
        """Length in seconds, (T - 1) / fps."""
        return (self.num_frames - 1) / self.fps

    def __repr__(self) -> str:
        """One line: sizes, not the arrays, which would fill a screen."""
        segments = ", ".join(self.segment_names)
        return (
            f"RobotMotion(robot={self.robot!r}, {self.num_frames} frames at {self.fps:g} Hz = {self.duration:.2f} s, "
            f"{len(self.joint_names)} joints, segments: {segments})"
        )

    def segment_at(self, frame: int) -> str:
        """Name of the stretch that holds a frame."""
        return self.segment_names[int(np.searchsorted(self.segment_starts, frame, side="right")) - 1]

    def save(self, target: Path) -> None:
        """Write npz whole or not at all; keys are the field names."""
        npz.save(target, self)

    @staticmethod
    def load(source: Path) -> RobotMotion:
        """Read npz written by save."""
        return npz.load(source, RobotMotion, "lagoon retarget SKILL")


@dataclass(frozen=True)
class MotionVelocity:
    """Velocities of a RobotMotion, computed and never stored beside it."""

    root_lin_vel_w: NDArray[np.float64]
    """(T, 3) velocity of the base origin in world [m/s]."""
    root_ang_vel_b: NDArray[np.float64]
    """(T, 3) angular velocity in the base frame [rad/s], as an IMU gyro and MuJoCo's qvel[3:6] give it."""
    joint_vel: NDArray[np.float64]
    """(T, J) joint velocities [rad/s]."""


def velocity(motion: RobotMotion) -> MotionVelocity:
    """Central differences inside, one-sided at both ends; the single place where velocities are made."""
    frames = motion.num_frames
    before, after = np.maximum(np.arange(frames) - 1, 0), np.minimum(np.arange(frames) + 1, frames - 1)
    dt = ((after - before) / motion.fps)[:, None]
    turn = quat_mul(quat_conj(motion.root_quat_w[before]), motion.root_quat_w[after])
    return MotionVelocity(
        root_lin_vel_w=(motion.root_pos_w[after] - motion.root_pos_w[before]) / dt,
        root_ang_vel_b=quat_to_rotvec(turn) / dt,
        joint_vel=(motion.joint_pos[after] - motion.joint_pos[before]) / dt,
    )


def resample(motion: RobotMotion, fps: float) -> RobotMotion:
    """Return the motion at another frame rate: linear in positions, slerp in orientation."""
    if fps == motion.fps:
        return motion
    frames = int(np.floor(motion.duration * fps + 1e-9)) + 1
    x = np.clip(np.arange(frames) * motion.fps / fps, 0, motion.num_frames - 1)
    low = np.minimum(x.astype(int), motion.num_frames - 2)
    t = (x - low).astype(np.float64)
    starts = np.asarray(motion.segment_starts)
    lerp = lambda a: a[low] * (1 - t[:, None]) + a[low + 1] * t[:, None]  # noqa: E731
    return RobotMotion(
        fps=fps,
        robot=motion.robot,
        joint_names=motion.joint_names,
        root_pos_w=lerp(motion.root_pos_w),
        root_quat_w=quat_slerp(motion.root_quat_w[low], motion.root_quat_w[low + 1], t),
        joint_pos=lerp(motion.joint_pos),
        foot_contact=motion.foot_contact[np.round(x).astype(int)],
        segment_names=motion.segment_names,
        segment_starts=np.minimum(np.ceil(starts * fps / motion.fps).astype(int), frames - 1),
    )
