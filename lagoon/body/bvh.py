"""Writes a HumanMotion as a BVH file, which animation programs read.

What enters: a HumanMotion of 22 joints. What leaves: text: Y up, facing +Z at frame 0, centimetres, degrees,
rotations in the order Z, X, Y. Joints whose bone is not rigid in the motion get position channels too, so that the
file holds exactly the positions that it was given.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from lagoon.body.pose import CHILDREN, local, orientations, rest_of
from lagoon.errors import BadInputError
from lagoon.motion.axes import to_y_up
from lagoon.motion.human_motion import HumanMotion
from lagoon.motion.rotations import quat_conj, quat_rotate
from lagoon.motion.skeleton import JOINT_NAMES, PARENTS
from lagoon.paths import write_text

Array = NDArray[np.float64]

CENTIMETRES = 100.0
"""Units in a metre."""
RIGID = 1e-4
"""Metres that the end of a bone may stray from its rest offset before the joint gets position channels."""
END_SHARE = 0.3
"""Length of what hangs on an end joint, for display only, as a share of the bone before it."""


def write_bvh(target: Path, motion: HumanMotion) -> None:
    """Write a file whole or not at all.

    Raises:
        BadInputError: the motion has other joints than lagoon's skeleton.
        LagoonError: the file cannot be written.
    """
    write_text(target, bvh_text(motion))


def bvh_text(motion: HumanMotion) -> str:
    """The content of a BVH file."""
    if motion.joint_names != JOINT_NAMES:
        raise BadInputError(
            f"The motion has {len(motion.joint_names)} joints; a BVH file is written for the {len(JOINT_NAMES)} of "
            "lagoon's skeleton. Import or generate the motion again."
        )
    pos = motion.joint_pos_w
    rest = rest_of(pos)
    turned = orientations(rest, pos)
    parents = list(PARENTS[1:])
    # Where each joint is, seen from its parent; constant where the bone is rigid.
    seen = quat_rotate(quat_conj(turned[:, parents]), pos[:, 1:] - pos[:, parents])
    offset = rest[1:] - rest[parents]
    stray = np.linalg.norm(seen - offset, axis=-1).max(axis=0)
    moves = [True, *(stray > RIGID)]
    places = np.concatenate([pos[:, :1], seen], axis=1)
    columns = _columns(places, local(turned), moves)
    lines = ["HIERARCHY", *_joint_lines(0, np.concatenate([np.zeros((1, 3)), offset]), moves, "")]
    lines += ["MOTION", f"Frames: {len(pos)}", f"Frame Time: {1.0 / motion.fps:.9f}"]
    lines += [" ".join(f"{value:.6f}" for value in row) for row in columns]
    return "\n".join(lines) + "\n"


def _order(joint: int = 0) -> list[int]:
    """Joints in the order of the file: depth first."""
    return [joint, *(inner for child in CHILDREN[joint] for inner in _order(child))]


def _columns(places: Array, rotations: Array, moves: list[bool]) -> Array:
    """(T, channels) numbers of the frames."""
    frames, joints = rotations.shape[:2]
    y_up = to_y_up(np.eye(3)).T
    matrices = (y_up @ rotations @ y_up.T).reshape(-1, 3, 3)
    angles = Rotation.from_matrix(matrices).as_euler("ZXY").reshape(frames, joints, 3)
    angles = np.degrees(np.unwrap(angles, axis=0))
    found = []
    for joint in _order():
        if moves[joint]:
            found.append(to_y_up(places[:, joint]) * CENTIMETRES)
        found.append(angles[:, joint])
    return np.concatenate(found, axis=1)


def _joint_lines(joint: int, offset: Array, moves: list[bool], indent: str) -> list[str]:
    """One joint of the hierarchy with all below it."""
    inner = indent + "  "
    shown = lambda vector: " ".join(f"{value * CENTIMETRES:.6f}" for value in to_y_up(vector))  # noqa: E731
    channels = "Zrotation Xrotation Yrotation"
    channels = f"6 Xposition Yposition Zposition {channels}" if moves[joint] else f"3 {channels}"
    lines = [
        f"{indent}{'JOINT' if joint else 'ROOT'} {JOINT_NAMES[joint]}",
        indent + "{",
        f"{inner}OFFSET {shown(offset[joint])}",
        f"{inner}CHANNELS {channels}",
    ]
    for child in CHILDREN[joint]:
        lines += _joint_lines(child, offset, moves, inner)
    if not CHILDREN[joint]:
        end = f"{inner}  OFFSET {shown(END_SHARE * offset[joint])}"
        lines += [f"{inner}End Site", inner + "{", end, inner + "}"]
    return [*lines, indent + "}"]
