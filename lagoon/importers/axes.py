"""Which way is up, which way the person faces, and whether left is left.

What enters: the paths of 22 joints. What leaves: Z-up paths that face +X in the first frame, over the
origin, floor at z = 0, with the reasons.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lagoon.errors import BadInputError
from lagoon.importers.config import ImportConfig
from lagoon.importers.person import Person
from lagoon.importers.raw import Decision, Fact
from lagoon.motion.rotations import yaw_to_matrix
from lagoon.motion.skeleton import JOINT_NAMES, MIRROR

Array = NDArray[np.float64]
_AT = {name: i for i, name in enumerate(JOINT_NAMES)}
TURNS: dict[str, Array] = {
    "z": np.eye(3),
    "-z": np.diag([1.0, -1.0, -1.0]),
    "y": np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]),
    "-y": np.array([[0.0, 0.0, 1.0], [-1.0, 0.0, 0.0], [0.0, -1.0, 0.0]]),
    "x": np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]),
    "-x": np.array([[0.0, -1.0, 0.0], [0.0, 0.0, 1.0], [-1.0, 0.0, 0.0]]),
}
"""Rotation that takes each axis of a file to Z; all are proper, so that left stays left."""


def up_axis(pos: Array, told: Fact | None, config: ImportConfig) -> tuple[str, Decision]:
    """Name the axis that points up, and say why.

    The custom of the format holds unless the person stands along another axis; a person who lies all
    the time cannot be told from one who stands in other axes, except by the floor at zero.

    Args:
        pos: (T, 22, 3) in the file's axes.
        told: axis by the format.
        config: may give the axis.
    """
    change = "import.up=z"
    if config.up != "auto":
        return config.up, Decision("up axis", config.up, "import.up was given", change)
    stands, share, sure = _standing(pos)
    if told is None:
        floors = [axis for axis in ("y", "z") if _on_floor(pos, axis, 0.03)]
        if len(floors) == 1 and not _on_floor(pos, stands, 0.03):
            why = "the lowest joint stays at zero along it, as on a floor"
            return floors[0], Decision("up axis", floors[0], why, change)
        why = f"the body is upright along it ({share:.2f} of 1)" if sure else "a guess: the body is never upright"
        return stands, Decision("up axis", stands, why, change)
    custom = str(told.value)
    if stands == custom or _along(pos, custom, 50.0) > 0.5:
        return custom, Decision("up axis", custom, f"{told.why}; the body is upright along it", change)
    if share > 0.85 and sure and not (_on_floor(pos, custom) and not _on_floor(pos, stands)):
        why = f"the body stands along it, against {told.why} ({custom}), which would be right for one who lies"
        return stands, Decision("up axis", stands, why, f"import.up={custom}")
    return custom, Decision("up axis", custom, f"{told.why}; the body is not upright in this clip", change)


def _along(pos: Array, axis: str, percent: float) -> float:
    """Percentile over the frames of how far the body, from ankles to neck, points along an axis: 1 is all the way."""
    body = pos[:, _AT["neck"]] - 0.5 * (pos[:, _AT["left_ankle"]] + pos[:, _AT["right_ankle"]])
    body /= np.maximum(np.linalg.norm(body, axis=-1, keepdims=True), 1e-12)
    return float(np.percentile(body @ TURNS[axis][2], percent))


def _standing(pos: Array) -> tuple[str, float, bool]:
    """Axis along which the person stands, how far, and whether that is sure.

    A person who falls or turns a cartwheel points along several axes in turn. Of those the one is up along which the
    lowest joint stays level: there the floor is.
    """
    upright = {axis: _along(pos, axis, 90.0) for axis in TURNS}
    able = [axis for axis in TURNS if upright[axis] > 0.8]
    chosen = min(able or TURNS, key=lambda axis: _wobble(pos, axis))
    return chosen, upright[chosen], bool(able)


def _wobble(pos: Array, axis: str) -> float:
    """Change of the lowest joint's height over the frames."""
    low, high = np.percentile((pos @ TURNS[axis][2]).min(axis=1), (5.0, 95.0))
    return float(high - low)


def _on_floor(pos: Array, axis: str, share: float = 0.1) -> bool:
    """Whether the lowest joint stays at zero, as floors are, within a share of the body's length."""
    height = pos @ TURNS[axis][2]
    lowest = height.min(axis=1)
    size = np.median(np.linalg.norm(pos[:, _AT["neck"]] - pos[:, _AT["left_ankle"]], axis=-1))
    return bool(np.median(np.abs(lowest)) < share * size)


def handedness(person: Person) -> tuple[float, str]:
    """Say whether left and right fit the body: 1 fits, -1 mirrored, 0 cannot be told; and by what.

    Toes point ahead and knees bend ahead of the line from hip to ankle; ahead is left cross up. Turning the whole
    body changes nothing, mirroring it or swapping names reverses the sign.
    """
    pos = person.pos
    ahead = np.cross(*_left_and_up(pos))
    ahead /= np.maximum(np.linalg.norm(ahead, axis=-1, keepdims=True), 1e-12)
    toes, knees = [], []
    for side in ("left", "right"):
        hip, knee, ankle = (pos[:, _AT[f"{side}_{part}"]] for part in ("hip", "knee", "ankle"))
        leg = np.median(np.linalg.norm(knee - hip, axis=-1)) + np.median(np.linalg.norm(ankle - knee, axis=-1))
        # In the plane of the thigh and shank, not of the trunk: a person who bends down keeps his knees ahead.
        bend = knee - 0.5 * (hip + ankle)
        knees.append(np.sum(bend * ahead, axis=-1) / max(leg, 1e-12))
        if f"{side}_foot" not in person.made:
            foot = pos[:, _AT[f"{side}_foot"]] - ankle
            shank = (ankle - knee) / np.maximum(np.linalg.norm(ankle - knee, axis=-1, keepdims=True), 1e-12)
            foot = foot - shank * np.sum(foot * shank, axis=-1, keepdims=True)
            toes.append(np.sum(foot * ahead, axis=-1) / np.maximum(np.linalg.norm(foot, axis=-1), 1e-12))
    bent = float(np.mean(np.stack(knees)))
    if toes:
        value = float(np.median(np.stack(toes)))
        if value < -0.3 and bent > 0.02:
            return 0.0, "toes point backward, but knees bend ahead"
        if abs(value) > 0.3:
            return float(np.sign(value)), f"the toes point {'ahead' if value > 0 else 'backward'}"
    if abs(bent) > 0.02:
        return float(np.sign(bent)), f"the knees bend {'ahead' if bent > 0 else 'backward'}"
    return 0.0, "legs are straight and have no toes"


def _left_and_up(pos: Array) -> tuple[Array, Array]:
    """Directions (..., 3) to the left of hips and shoulders, and up the trunk, of any length, of (..., 22, 3)."""
    left = pos[..., _AT["left_hip"], :] - pos[..., _AT["right_hip"], :]
    left = left + pos[..., _AT["left_shoulder"], :] - pos[..., _AT["right_shoulder"], :]
    return left, pos[..., _AT["neck"], :] - pos[..., _AT["pelvis"], :]


def keep_sides(person: Person, config: ImportConfig, file: str) -> tuple[Person, Decision]:
    """Check that left is left, or mirror as told.

    Raises:
        BadInputError: the body is mirrored and nothing was told.
    """
    sign, why = handedness(person)
    change = "import.mirror=names or import.mirror=axes"
    if config.mirror == "keep":
        return person, Decision("left and right", "as in the file", "import.mirror=keep was given", change)
    if config.mirror in ("names", "axes") and sign <= 0:
        if config.mirror == "names":
            pos, value = person.pos[:, MIRROR], "names swapped"
        else:
            pos, value = person.pos * np.array([-1.0, 1.0, 1.0]), "axes mirrored"
        made = (
            tuple(JOINT_NAMES[MIRROR[_AT[name]]] for name in person.made) if config.mirror == "names" else person.made
        )
        return Person(pos, made, person.style, person.found), Decision("left and right", value, why, change)
    if config.mirror in ("names", "axes"):
        raise BadInputError(
            f"{file}: import.mirror={config.mirror} would mirror a person whose left and right are right ({why}). "
            "Leave import.mirror out."
        )
    if sign < 0:
        raise BadInputError(
            f"{file}: left and right are swapped: by the joints' names {why}. Importing it would mirror the person. "
            "Type import.mirror=names if the names are swapped, import.mirror=axes if the file's axes are left-handed "
            "(Unity, some game exports), or import.mirror=keep if the person does walk like that."
        )
    value = "kept" if sign > 0 else "kept, not checked"
    return person, Decision("left and right", value, why, change)


def heading(pos: Array) -> float:
    """Angle [rad] about Z at which the person faces in the first frame of (T, 22, 3), Z-up.

    Left cross up of the trunk; for one who lies, where the head points.
    """
    left, up = _left_and_up(pos[0])
    ahead = np.cross(left, up / max(np.linalg.norm(up), 1e-12))
    if np.linalg.norm(ahead[:2]) < 0.3 * np.linalg.norm(ahead):
        ahead = up
    return float(np.arctan2(ahead[1], ahead[0]))


def place(pos: Array, up: str, config: ImportConfig) -> tuple[Array, list[Decision]]:
    """Turn to +X, move over the origin, put the lowest joint of the clip on the floor.

    Args:
        pos: (T, 22, 3) Z-up [m].
        up: the file's up axis.
        config: may give the file's axis that becomes forward.

    Raises:
        BadInputError: import.facing is the up axis.
    """
    if config.facing == "auto":
        angle = heading(pos)
        why = f"hips and shoulders in the first frame; turned by {-np.degrees(angle):.0f} degrees"
        facing = Decision("facing", "+X", why, "import.facing=-z")
    else:
        if config.facing[-1] == up[-1]:
            raise BadInputError(
                f"import.facing={config.facing} is the up axis ({up}). Choose one of the other two axes."
            )
        axis = np.zeros(3)
        axis["xyz".index(config.facing[-1])] = -1.0 if config.facing.startswith("-") else 1.0
        ahead = TURNS[up] @ axis
        angle = float(np.arctan2(ahead[1], ahead[0]))
        facing = Decision("facing", f"{config.facing} of the file", "import.facing was given", "import.facing=auto")
    out = pos @ yaw_to_matrix(-angle).T
    low = float(out[..., 2].min())
    out = out - np.array([out[0, 0, 0], out[0, 0, 1], low])
    return out, [facing, Decision("floor", f"{low:+.3f} m", "height of the lowest joint in the clip, moved to zero")]
