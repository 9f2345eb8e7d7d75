"""QuadrupedMotion: what an animal, or another robot, does on four legs, as points over time.

What enters: an importer's output. What leaves: the input of retargeting, where there is no person.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from lagoon.errors import BadInputError
from lagoon.motion import npz
from lagoon.motion.checks import checked_array, checked_fps, checked_quaternions
from lagoon.motion.rotations import quat_continuous

Array = NDArray[np.float64]
LEGS = ("FL", "FR", "RL", "RR")
"""Front or rear, left or right: the names that RobotSpec gives its legs."""
PARTS = ("hip", "knee", "foot")
"""Points of a leg from the trunk outward; the hip is a point of the trunk."""
JOINT_NAMES = tuple(f"{leg}_{part}" for leg in LEGS for part in PARTS)
BONES: tuple[tuple[str, str], ...] = (
    ("FL_hip", "FR_hip"),
    ("RL_hip", "RR_hip"),
    ("FL_hip", "RL_hip"),
    ("FR_hip", "RR_hip"),
    *((f"{leg}_{a}", f"{leg}_{b}") for leg in LEGS for a, b in (("hip", "knee"), ("knee", "foot"))),
)
"""Pairs of points to draw a line between."""


@dataclass(frozen=True, repr=False)
class QuadrupedMotion:
    """Points of four legs over time; world Z-up, X-forward at frame 0, floor at z = 0."""

    fps: float
    """Frame rate [Hz]; T frames last (T - 1) / fps seconds."""
    joint_pos_w: Array
    """(T, 12, 3) hip, knee and foot of FL, FR, RL, RR in world [m]."""
    trunk_quat_w: Array
    """(T, 4) wxyz, trunk to world: +X toward the head, +Y left; level when it stands."""
    text: str = ""
    """The caption, in full."""
    source: dict[str, str] = field(default_factory=dict)
    """Where it came from: for example file, sha256, what was guessed."""

    def __post_init__(self) -> None:
        """Validate every field; see docs/conventions.md.

        Raises:
            BadInputError: a field has a wrong shape or a value that is not finite.
        """
        set_field = object.__setattr__
        set_field(self, "fps", checked_fps("QuadrupedMotion", self.fps))
        set_field(self, "text", str(self.text))
        set_field(self, "source", {str(k): str(v) for k, v in dict(self.source).items()})
        pos = checked_array("QuadrupedMotion", "joint_pos_w", self.joint_pos_w, (None, len(JOINT_NAMES), 3))
        if len(pos) < 2:
            raise BadInputError(f"QuadrupedMotion.joint_pos_w has {len(pos)} frames; a motion needs at least 2.")
        set_field(self, "joint_pos_w", pos)
        quat = checked_quaternions("QuadrupedMotion", "trunk_quat_w", self.trunk_quat_w, (len(pos), 4))
        quat = quat_continuous(quat)
        quat.setflags(write=False)
        set_field(self, "trunk_quat_w", quat)

    @property
    def joint_names(self) -> tuple[str, ...]:
        """(12,) names of the points."""
        return JOINT_NAMES

    @property
    def num_frames(self) -> int:
        """Number of frames T."""
        return len(self.joint_pos_w)

    @property
    def duration(self) -> float:
        """Length in seconds, (T - 1) / fps."""
        return (self.num_frames - 1) / self.fps

    def __repr__(self) -> str:
        """One line: sizes, not the arrays."""
        return (
            f"QuadrupedMotion({self.text!r:.60}, {self.num_frames} frames at {self.fps:g} Hz = {self.duration:.2f} s)"
        )

    def leg(self, name: str) -> Array:
        """(T, 3, 3) hip, knee and foot [m] of a leg by its two letters.

        Raises:
            BadInputError: there is no such leg.
        """
        if name not in LEGS:
            raise BadInputError(f"Leg '{name}' is not in this motion. It has: {', '.join(LEGS)}.")
        first = len(PARTS) * LEGS.index(name)
        return self.joint_pos_w[:, first : first + len(PARTS)]

    def save(self, target: Path) -> None:
        """Write npz whole or not at all; keys are the field names."""
        npz.save(target, self)

    @staticmethod
    def load(source: Path, writer: str = "lagoon import FILE") -> QuadrupedMotion:
        """Read npz written by save.

        Raises:
            BadInputError: there is no such file, or it holds no valid motion.
            CorruptFileError: it is not a readable npz, or lacks a field.
        """
        return npz.load(source, QuadrupedMotion, writer)


def trunk_frames(hips: Array) -> Array:
    """Orientation (T, 3, 3) of a trunk from its four hips (T, 4, 3) in the order of LEGS; columns ahead, left, up.

    Ahead is from the middle of the rear hips to that of the front ones; left the mean of both pairs, made
    orthogonal to it.
    """
    ahead = 0.5 * (hips[:, 0] + hips[:, 1] - hips[:, 2] - hips[:, 3])
    ahead = ahead / np.maximum(np.linalg.norm(ahead, axis=-1, keepdims=True), 1e-12)
    left = hips[:, 0] - hips[:, 1] + hips[:, 2] - hips[:, 3]
    left = left - ahead * np.sum(left * ahead, axis=-1, keepdims=True)
    left = left / np.maximum(np.linalg.norm(left, axis=-1, keepdims=True), 1e-12)
    return np.stack([ahead, left, np.cross(ahead, left)], axis=-1)
