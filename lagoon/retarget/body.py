"""The human motion as retargeting wants it: at the robot's rate, facing +X, with a trunk frame.

What enters: a HumanMotion. What leaves: Body, the named joint paths and the trunk orientation, all in
a world whose origin is below the hips in frame 0.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from lagoon.errors import BadInputError
from lagoon.motion.human_motion import HumanMotion
from lagoon.motion.interpolate import interpolate
from lagoon.motion.rotations import yaw_to_matrix

Array = NDArray[np.float64]

REQUIRED = tuple(
    f"{side}_{joint}"
    for joint in ("hip", "knee", "ankle", "foot", "shoulder", "elbow", "wrist")
    for side in ("left", "right")
)
"""Joints without which a body cannot be mapped."""


@dataclass(frozen=True)
class Body:
    """Paths of a person's joints; T frames at ``fps``."""

    fps: float
    joints: dict[str, Array]
    """(T, 3) each, world [m]."""
    trunk: Array
    """(T, 3, 3) trunk to world; columns are forward, left and up along the spine."""
    leg_length: float
    """Hip to ankle along the bones [m]."""
    arm_length: float
    """Shoulder to wrist along the bones [m]."""

    @property
    def num_frames(self) -> int:
        """Number of frames T."""
        return len(self.trunk)

    def middle(self, joint: str) -> Array:
        """(T, 3) midpoint of the left and the right joint [m]."""
        return 0.5 * (self.joints[f"left_{joint}"] + self.joints[f"right_{joint}"])

    def speed(self, joint: str) -> Array:
        """(T,) speed of a joint [m/s]."""
        return np.linalg.norm(np.gradient(self.joints[joint], axis=0), axis=1) * self.fps

    @property
    def tilt(self) -> Array:
        """(T,) angle of the spine from vertical [rad]."""
        return np.arccos(np.clip(self.trunk[:, 2, 2], -1.0, 1.0))

    def turned(self, angle: float) -> Body:
        """The same person turned by an angle [rad] about the vertical through the origin."""
        turn = yaw_to_matrix(angle)
        return replace(
            self, joints={name: path @ turn.T for name, path in self.joints.items()}, trunk=turn @ self.trunk
        )

    def part(self, start: int, stop: int) -> Body:
        """Some of the frames, brought to the origin and turned so that the first faces +X, on all fours its head."""
        joints = {name: path[start:stop] for name, path in self.joints.items()}
        frame = trunk_frames(joints)[0]
        level = frame[2, 2] < np.cos(np.pi / 4)
        ahead = frame[:, 2] if level else frame[:, 0]
        origin = 0.5 * (joints["left_hip"][0] + joints["right_hip"][0]) * np.array([1.0, 1.0, 0.0])
        joints = {name: path - origin for name, path in joints.items()}
        cut = replace(self, joints=joints, trunk=trunk_frames(joints))
        return cut.turned(-float(np.arctan2(ahead[1], ahead[0])))

    @staticmethod
    def of(human: HumanMotion, fps: float, speed: float = 1.0) -> Body:
        """Resample, turn to face +X in frame 0 and measure.

        Args:
            human: the motion.
            fps: wanted rate [Hz].
            speed: 0.5 makes everything take twice as long.

        Raises:
            BadInputError: the motion lacks a joint that is needed; all missing ones are named.
        """
        missing = [name for name in REQUIRED if name not in human.joint_names]
        if missing:
            raise BadInputError(
                f"The human motion lacks the joint(s) {', '.join(missing)}. Retargeting needs: {', '.join(REQUIRED)}. "
                "Give it a motion with the 22 joints of lagoon.motion.skeleton."
            )
        path = np.stack([human.joint(name) for name in REQUIRED], axis=1)
        path = resample_path(path, human.fps * speed, fps)
        joints = {name: path[:, i] for i, name in enumerate(REQUIRED)}
        forward = trunk_frames(joints)[0][:, 0]
        turn = np.arctan2(forward[1], forward[0])
        c, s = np.cos(turn), np.sin(turn)
        to_x = np.array([[c, s, 0.0], [-s, c, 0.0], [0.0, 0.0, 1.0]])
        origin = 0.5 * (joints["left_hip"][0] + joints["right_hip"][0]) * np.array([1.0, 1.0, 0.0])
        joints = {name: (value - origin) @ to_x.T for name, value in joints.items()}
        return Body(
            fps=fps,
            joints=joints,
            trunk=trunk_frames(joints),
            leg_length=_limb_length(joints, "hip", "knee", "ankle"),
            arm_length=_limb_length(joints, "shoulder", "elbow", "wrist"),
        )


def resample_path(path: Array, source_fps: float, fps: float) -> Array:
    """Cubic interpolation of (T, ...) positions to another rate; covers the same (T - 1) / fps seconds."""
    duration = (len(path) - 1) / source_fps
    times = np.arange(int(np.floor(duration * fps + 1e-9)) + 1) / fps
    return interpolate(path, np.arange(len(path)) / source_fps, times)


def trunk_frames(joints: dict[str, Array]) -> Array:
    """Orientation of the trunk, (T, 3, 3).

    Up is hip middle to shoulder middle; left is the mean of the hip and the shoulder axes, made
    orthogonal to it; forward completes the frame. The mean halves the twist of a stepping pelvis.
    """
    hips = joints["left_hip"] - joints["right_hip"]
    shoulders = joints["left_shoulder"] - joints["right_shoulder"]
    up = _unit(
        joints["left_shoulder"] + joints["right_shoulder"] - joints["left_hip"] - joints["right_hip"],
        np.array([0.0, 0.0, 1.0]),
    )
    across = 0.5 * (_unit(hips, np.array([0.0, 1.0, 0.0])) + _unit(shoulders, np.array([0.0, 1.0, 0.0])))
    left = _unit(across - up * np.sum(across * up, axis=-1, keepdims=True), np.array([0.0, 1.0, 0.0]))
    return np.stack([np.cross(left, up), left, up], axis=-1)


def _unit(vectors: Array, fallback: Array) -> Array:
    norm = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return np.where(norm > 1e-6, vectors / np.maximum(norm, 1e-6), fallback)


def _limb_length(joints: dict[str, Array], root: str, middle: str, end: str) -> float:
    lengths = []
    for side in ("left", "right"):
        a, b, c = (joints[f"{side}_{name}"] for name in (root, middle, end))
        lengths.append(np.median(np.linalg.norm(b - a, axis=1) + np.linalg.norm(c - b, axis=1)))
    length = float(np.mean(lengths))
    if length < 1e-3:
        raise BadInputError(
            f"The human limb {root}-{middle}-{end} is {length:.4f} m long; expected a person in metres. "
            "Check the unit and the joint names of the motion."
        )
    return length
