"""Reads clips of DeepMimic's humanoid (humanoid3d_*.txt): JSON with 44 numbers a frame, Y up, facing X.

What enters: a text file. What leaves: a RawMotion of its 15 joints and the tips of its feet.

Source: the frame layout of DeepMimic (Peng et al. 2018) and the joint offsets of its humanoid3d character, MIT licence.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from lagoon.body.forward import positions
from lagoon.importers.config import ImportConfig
from lagoon.importers.frames_json import read_frames
from lagoon.importers.raw import Fact, RawMotion
from lagoon.importers.timing import even, rate_of
from lagoon.motion.rotations import quat_to_matrix

Array = NDArray[np.float64]
WIDTH = 44
"""Numbers of a frame: duration, root position, root quaternion wxyz, then the joints below."""
Joint = tuple[str, int, tuple[float, float, float], int, int]
"""Name, parent, offset [m], first column and number of columns of its rotation: 4 a quaternion, 1 an angle about Z."""
_JOINTS: tuple[Joint, ...] = (
    ("root", -1, (0.0, 0.0, 0.0), 4, 4),
    ("chest", 0, (0.0, 0.236151, 0.0), 8, 4),
    ("neck", 1, (0.0, 0.223894, 0.0), 12, 4),
    ("head", 2, (0.0, 0.12, 0.0), 0, 0),
    ("right_hip", 0, (0.0, 0.0, 0.084887), 16, 4),
    ("right_knee", 4, (0.0, -0.421546, 0.0), 20, 1),
    ("right_ankle", 5, (0.0, -0.40987, 0.0), 21, 4),
    ("right_foot", 6, (0.12, -0.045, 0.0), 0, 0),
    ("right_shoulder", 1, (-0.02405, 0.2435, 0.18311), 25, 4),
    ("right_elbow", 8, (0.0, -0.274788, 0.0), 29, 1),
    ("right_wrist", 9, (0.0, -0.258947, 0.0), 0, 0),
    ("left_hip", 0, (0.0, 0.0, -0.084887), 30, 4),
    ("left_knee", 11, (0.0, -0.421546, 0.0), 34, 1),
    ("left_ankle", 12, (0.0, -0.40987, 0.0), 35, 4),
    ("left_foot", 13, (0.12, -0.045, 0.0), 0, 0),
    ("left_shoulder", 1, (-0.02405, 0.2435, -0.18311), 39, 4),
    ("left_elbow", 15, (0.0, -0.274788, 0.0), 43, 1),
    ("left_wrist", 16, (0.0, -0.258947, 0.0), 0, 0),
)


def read(path: Path, config: ImportConfig) -> RawMotion:
    """Read a clip.

    Raises:
        BadInputError: it is a clip of another character.
        CorruptFileError: it is damaged; the line or the frame is named.
    """
    _, frames = read_frames(
        path, {WIDTH: "DeepMimic's humanoid"}, "A clip of an animal or a robot: type import.format=quadruped."
    )
    fps, times = rate_of(frames[:, 0], "the first number of each frame")
    notes = odd_quaternions(_JOINTS, frames)
    pos = positions_of(_JOINTS, frames)
    if times is not None:
        pos = even(pos, times, float(fps.value))
        notes.append("The frames last differently long; they were put on an even clock.")
    return RawMotion(
        kind="DeepMimic txt of the humanoid, by its 44 numbers a frame",
        names=tuple(joint[0] for joint in _JOINTS),
        pos=pos,
        parents=tuple(joint[1] for joint in _JOINTS),
        fps=fps,
        unit=Fact(1.0, "DeepMimic is in metres"),
        up=Fact("y", "the custom of DeepMimic"),
        notes=tuple(notes),
    )


def positions_of(joints: tuple[Joint, ...], frames: Array) -> Array:
    """Positions (T, J, 3) [m] of a character's joints, Y up; not finite where a frame is not.

    Args:
        joints: the character, parents first; the root comes first.
        frames: (T, W) the file's frames, with the root's position in columns 1 to 3.
    """
    offsets = np.array([joint[2] for joint in joints])

    def local(part: slice) -> tuple[Array, Array]:
        block = frames[part]
        shift = np.broadcast_to(offsets, (len(block), *offsets.shape)).copy()
        shift[:, 0] = block[:, 1:4]
        turn = np.broadcast_to(np.eye(3), (len(block), len(joints), 3, 3)).copy()
        for j, (_, _, _, first, count) in enumerate(joints):
            if count == 4:
                turn[:, j] = _matrices(block[:, first : first + 4])
            elif count == 1:
                angle, zero = block[:, first], np.zeros(len(block))
                turn[:, j] = _matrices(np.stack([np.cos(angle / 2), zero, zero, np.sin(angle / 2)], axis=-1))
        return shift, turn

    with np.errstate(invalid="ignore", over="ignore"):
        return positions([joint[1] for joint in joints], len(frames), local)


def odd_quaternions(joints: tuple[Joint, ...], frames: Array) -> list[str]:
    """A sentence when frames have quaternions far from unit length, as some clips of DeepMimic's own do."""
    firsts = [first for _, _, _, first, count in joints if count == 4]
    norms = np.stack([np.linalg.norm(frames[:, first : first + 4], axis=-1) for first in firsts], axis=1)
    odd = int((np.abs(norms - 1.0) >= 0.1).any(axis=1).sum())
    if not odd:
        return []
    return [f"Quaternions whose length is off by a tenth or more, in {odd} of {len(frames)} frames: made unit."]


def _matrices(quat: Array) -> Array:
    """Rotation matrices (T, 3, 3) of quaternions (T, 4) wxyz of any length; NaN where they have none to speak of."""
    norm = np.linalg.norm(quat, axis=-1, keepdims=True)
    return quat_to_matrix(np.where((norm > 0.2) & (norm < 5.0), quat / np.maximum(norm, 1e-9), np.nan))
