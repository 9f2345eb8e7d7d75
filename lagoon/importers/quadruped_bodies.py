"""The bodies that quadruped clips are written for: DeepMimic's dog, and robots with three hinges a leg.

What enters: frames of a clip. What leaves: hips, knees and feet (T, 12, 3) in the file's world, and the hips of the
trunk at rest. The numbers of each body stand here with their source; a robot that lagoon knows has its RobotSpec.

Source: the dog's frame layout and joint offsets are those of DeepMimic's character dog3d (Peng et al. 2018, MIT
licence); Laikago's and A1's joint offsets those of the URDF files in PyBullet's data (zlib licence).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lagoon.body.forward import about_axis
from lagoon.importers.deepmimic import Joint, positions_of
from lagoon.motion.quadruped_motion import LEGS
from lagoon.motion.rotations import quat_to_matrix
from lagoon.robot import RobotSpec

Array = NDArray[np.float64]
BUS_ORDER = ("FR", "FL", "RR", "RL")
"""Order of the legs in which Unitree's robots, and clips for them, count."""
BASE_TO_FILE = {"y": np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]), "z": np.eye(3)}
"""Rotation (3, 3) from lagoon's base axes (X ahead, Y left, Z up) to those of a base whose Y (or Z) points up; with
Y up Z is ahead and X left."""


@dataclass(frozen=True)
class RobotBody:
    """A robot with three hinges a leg, the first about X, the others about Y of its base (X ahead, Y left, Z up)."""

    words: str
    legs: tuple[str, ...]
    """Order of the legs in a frame."""
    up: str
    """Axis of the file's base that points up: y or z."""
    hip: dict[str, tuple[float, float, float]]
    """First hinge of each leg in the base [m]."""
    thigh: dict[str, tuple[float, float, float]]
    """Second hinge from the first [m]."""
    calf: dict[str, tuple[float, float, float]]
    """Third hinge from the second, at zero angles [m]."""
    foot: dict[str, tuple[float, float, float]]
    """Foot from the third hinge, at zero angles [m]."""
    sign: dict[str, tuple[float, float, float]]
    """1 or -1 for each hinge: angle here = sign * (angle in the file + zero)."""
    zero: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """[rad]"""

    def rest_hips(self) -> Array:
        """(4, 3) points of the trunk that the legs hang on, in the base, in the order of LEGS [m]."""
        return np.array([np.add(self.hip[leg], self.thigh[leg]) for leg in LEGS])

    def points_b(self, angles: Array, legs: Sequence[str]) -> Array:
        """Hips, knees and feet (T, 12, 3) in the base [m], in the order of LEGS.

        Args:
            angles: (T, 12) as in the file [rad].
            legs: order of the legs in them.
        """
        out = np.zeros((len(angles), len(LEGS), 3, 3))
        for k, leg in enumerate(LEGS):
            first = 3 * list(legs).index(leg)
            turned = np.array(self.sign[leg]) * (angles[:, first : first + 3] + np.array(self.zero))
            swing = about_axis("x", turned[:, 0])
            upper = swing @ about_axis("y", turned[:, 1])
            lower = upper @ about_axis("y", turned[:, 2])
            thigh = np.array(self.hip[leg]) + swing @ np.array(self.thigh[leg])
            out[:, k, 0] = self.rest_hips()[k]
            out[:, k, 1] = thigh + upper @ np.array(self.calf[leg])
            out[:, k, 2] = out[:, k, 1] + lower @ np.array(self.foot[leg])
        return out.reshape(len(angles), -1, 3)

    def points_w(self, pos: Array, quat_xyzw: Array, angles: Array, legs: Sequence[str]) -> Array:
        """Hips, knees and feet (T, 12, 3) in the world [m]; not finite where a frame is not.

        Args:
            pos: (T, 3) origin of the base [m].
            quat_xyzw: (T, 4) orientation of the file's base, of any length.
            angles: (T, 12) as in the file [rad].
            legs: order of the legs in them.
        """
        norm = np.linalg.norm(quat_xyzw, axis=-1, keepdims=True)
        unit = np.where((norm > 0.2) & (norm < 5.0), quat_xyzw / np.maximum(norm, 1e-9), np.nan)
        turn = quat_to_matrix(unit[:, [3, 0, 1, 2]]) @ BASE_TO_FILE[self.up]
        return pos[:, None] + np.einsum("tij,tpj->tpi", turn, self.points_b(angles, legs))


def _mirrored(left: tuple[float, float, float]) -> dict[str, tuple[float, float, float]]:
    """The same vector on the left and mirrored on the right, for all legs."""
    return {leg: (left[0], left[1] if leg[1] == "L" else -left[1], left[2]) for leg in LEGS}


def _corners(front: float, rear: float, side: float) -> dict[str, tuple[float, float, float]]:
    return {leg: (front if leg[0] == "F" else rear, side if leg[1] == "L" else -side, 0.0) for leg in LEGS}


_LAIKAGO = RobotBody(
    words="Laikago",
    legs=BUS_ORDER,
    up="y",
    hip=_corners(0.242889, -0.194401, 0.0817145),
    thigh=_mirrored((0.0, 0.0547, 0.0)),
    calf=_mirrored((-0.1422, -0.02069, -0.20833)),
    foot=_mirrored((-0.022, 0.0, -0.25)),
    sign={leg: (1.0 if leg[1] == "L" else -1.0, 1.0, 1.0) for leg in LEGS},
)
BODIES: dict[str, RobotBody] = {
    "laikago": _LAIKAGO,
    "laikago_motors": RobotBody(
        **{**vars(_LAIKAGO), "words": "Laikago, angles of its motors", "zero": (0.0, -0.6, 0.66)}
    ),
    "a1": RobotBody(
        words="A1",
        legs=BUS_ORDER,
        up="z",
        hip=_corners(0.183, -0.183, 0.047),
        thigh=_mirrored((0.0, 0.08505, 0.0)),
        calf=_mirrored((0.0, 0.0, -0.2)),
        foot=_mirrored((0.0, 0.0, -0.2)),
        sign={leg: (1.0, 1.0, 1.0) for leg in LEGS},
    ),
}
"""Robots that public clips are written for."""


def body_of(robot: RobotSpec) -> RobotBody:
    """A robot that lagoon knows; its clips have the joints in the order of its motors."""
    order = tuple(dict.fromkeys(next(leg.name for leg in robot.legs if j in leg.joints) for j in robot.motor_names))
    legs = {leg.name: leg for leg in robot.legs}
    return RobotBody(
        words=robot.name,
        legs=order,
        up="z",
        hip={name: leg.hip_pos_b for name, leg in legs.items()},
        thigh={name: leg.thigh_offset for name, leg in legs.items()},
        calf={name: leg.calf_offset for name, leg in legs.items()},
        foot={name: leg.foot_offset for name, leg in legs.items()},
        sign={name: (1.0, 1.0, 1.0) for name in legs},
    )


DOG_WIDTH = 84
"""Numbers of a frame of DeepMimic's dog: duration, root position, root quaternion wxyz, then the joints below."""


def _dog() -> tuple[Joint, ...]:
    """DeepMimic's dog, Y up, X ahead, Z to the right."""
    tree: list[tuple[str, int, tuple[float, float, float], int]] = [
        ("root", -1, (0.0, 0.0, 0.0), 4),
        ("spine0", 0, (0.0, 0.0, 0.0), 4),
        ("spine1", 1, (0.2375, 0.0, 0.0), 4),
        ("neck", 2, (0.28135, 0.0, 0.0), 4),
        ("head", 3, (0.175, 0.0, 0.0), 4),
    ]
    for side, z in (("left", -1.0), ("right", 1.0)):
        at = len(tree)
        tree += [
            (f"{side}_shoulder", 2, (0.304074, -0.109983, 0.106071 * z), 4),
            (f"{side}_forearm", at, (0.0, -0.19, 0.0), 1),
            (f"{side}_hand", at + 1, (0.0, -0.2225, 0.0), 4),
            (f"{side}_finger", at + 2, (0.0, -0.09, 0.0), 4),
        ]
    for side, z in (("left", -1.0), ("right", 1.0)):
        at = len(tree)
        tree += [
            (f"{side}_upper_leg", 0, (-0.074803, -0.095825, 0.05986 * z), 4),
            (f"{side}_leg", at, (0.0, -0.2, 0.0), 1),
            (f"{side}_foot", at + 1, (0.0, -0.225, 0.0), 4),
            (f"{side}_toe", at + 2, (0.0, -0.135, 0.0), 4),
        ]
    tree += [("tail0", 0, (-0.086, 0.0, 0.0), 4), ("tail1", len(tree), (-0.2, 0.0, 0.0), 4)]
    first, joints = 4, []
    for name, parent, offset, count in tree:
        joints.append((name, parent, offset, first, count))
        first += count
    return tuple(joints)


DOG = _dog()
_DOG_LEGS = {
    "FL": ("left_shoulder", "left_forearm", "left_finger"),
    "FR": ("right_shoulder", "right_forearm", "right_finger"),
    "RL": ("left_upper_leg", "left_leg", "left_toe"),
    "RR": ("right_upper_leg", "right_leg", "right_toe"),
}


def dog_points(frames: Array) -> tuple[Array, Array]:
    """Hips, knees and feet (T, 12, 3) of the dog [m], Y up, in the order of LEGS; and its hips at rest (4, 3)."""
    names = [joint[0] for joint in DOG]
    columns = [names.index(name) for leg in LEGS for name in _DOG_LEGS[leg]]
    still = np.zeros((1, DOG_WIDTH))
    for _, _, _, first, count in DOG:
        if count == 4:
            still[:, first] = 1.0
    return positions_of(DOG, frames)[:, columns], positions_of(DOG, still)[0, columns[::3]]
