"""HumanMotion: what a person does, as joint positions over time.

What enters: a generator's or an importer's output. What leaves: the input of retargeting.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from lagoon.errors import BadInputError
from lagoon.motion import npz
from lagoon.motion.checks import checked_array, checked_fps, checked_quaternions
from lagoon.motion.skeleton import HEIGHTS, body_height


@dataclass(frozen=True, repr=False)
class HumanMotion:
    """Joint positions of a person over time; world Z-up, X-forward at frame 0, floor at z = 0."""

    fps: float
    """Frame rate [Hz]; T frames last (T - 1) / fps seconds."""
    joint_names: tuple[str, ...]
    """(J,) names; motions made by lagoon use lagoon.motion.skeleton.JOINT_NAMES."""
    joint_pos_w: NDArray[np.float64]
    """(T, J, 3) joint positions in world [m]."""
    text: str = ""
    """The command or caption, in full."""
    source: dict[str, str] = field(default_factory=dict)
    """Where it came from: for example model, checkpoint sha256, seed."""
    joint_quat_w: NDArray[np.float64] | None = None
    """(T, J, 4) joint orientations wxyz in world, if known."""

    def __post_init__(self) -> None:
        """Validate every field; see docs/conventions.md.

        Raises:
            BadInputError: a field has a wrong shape, a value that is not finite, or a duplicate name.
        """
        names = tuple(str(name) for name in self.joint_names)
        if len(set(names)) != len(names) or not names:
            raise BadInputError(f"HumanMotion.joint_names must be distinct and not empty; got {names}.")
        set_field = object.__setattr__
        set_field(self, "joint_names", names)
        set_field(self, "fps", checked_fps("HumanMotion", self.fps))
        set_field(self, "text", str(self.text))
        set_field(self, "source", {str(k): str(v) for k, v in dict(self.source).items()})
        pos = checked_array("HumanMotion", "joint_pos_w", self.joint_pos_w, (None, len(names), 3))
        if len(pos) < 2:
            raise BadInputError(f"HumanMotion.joint_pos_w has {len(pos)} frames; a motion needs at least 2.")
        set_field(self, "joint_pos_w", pos)
        if self.joint_quat_w is not None:
            quat = checked_quaternions("HumanMotion", "joint_quat_w", self.joint_quat_w, (len(pos), len(names), 4))
            set_field(self, "joint_quat_w", quat)

    @property
    def num_frames(self) -> int:
        """Number of frames T."""
        return len(self.joint_pos_w)

    @property
    def duration(self) -> float:
        """Length in seconds, (T - 1) / fps."""
        return (self.num_frames - 1) / self.fps

    def __repr__(self) -> str:
        """One line: sizes, not the arrays, which would fill a screen."""
        text = self.text if len(self.text) <= 60 else self.text[:57] + "..."
        return (
            f"HumanMotion({text!r}, {self.num_frames} frames at {self.fps:g} Hz = {self.duration:.2f} s, "
            f"{len(self.joint_names)} joints{', orientations' if self.joint_quat_w is not None else ''})"
        )

    def joint(self, name: str) -> NDArray[np.float64]:
        """Return the (T, 3) world positions [m] of a joint by name.

        Raises:
            BadInputError: there is no such joint; the known ones are listed.
        """
        if name not in self.joint_names:
            raise BadInputError(f"Joint '{name}' is not in this motion. It has: {', '.join(self.joint_names)}.")
        return self.joint_pos_w[:, self.joint_names.index(name)]

    def save(self, target: Path) -> None:
        """Write npz whole or not at all; keys are the field names."""
        npz.save(target, self)

    @staticmethod
    def load(source: Path, writer: str = "lagoon generate COMMAND") -> HumanMotion:
        """Read npz written by save, or by hand.

        Args:
            source: the file.
            writer: the command line that writes it again, for errors.

        Raises:
            BadInputError: there is no such file, or it holds no valid motion of a person measured in metres.
            CorruptFileError: it is not a readable npz, or lacks a field.
        """
        motion = npz.load(source, HumanMotion, writer)
        height = body_height(motion.joint_names, motion.joint_pos_w)
        if height is not None and not HEIGHTS[0] <= height <= HEIGHTS[1]:
            raise BadInputError(
                f"{source}: the person measures {height:.3g} m from foot to head along the bones; expected "
                f"{HEIGHTS[0]:g} to {HEIGHTS[1]:g} m.{_unit_guess(height)} Convert joint_pos_w to metres, or write the "
                f"file again with: {writer}"
            )
        return motion


def _unit_guess(height: float) -> str:
    """Name the unit in which a number would be a person's height."""
    for name, size in (("centimetres", 0.01), ("millimetres", 0.001), ("inches", 0.0254), ("feet", 0.3048)):
        if 1.2 <= height * size <= 2.3:
            return f" This looks like {name}."
    return ""
