"""Reads npz files with poses of SMPL, SMPL-H or SMPL-X, as AMASS has them.

What enters: an npz with poses and a frame rate. What leaves: a RawMotion of 22 joints.

Source: the keys are those of AMASS (Mahmood et al. 2019) and its later releases.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lagoon.errors import BadInputError, CorruptFileError
from lagoon.importers import smpl_pose
from lagoon.importers.array_file import names_in, one_number, read_npz
from lagoon.importers.config import ImportConfig
from lagoon.importers.raw import Fact, RawMotion
from lagoon.motion.skeleton import JOINT_NAMES, PARENTS

Array = NDArray[np.float64]
POSES = ("poses", "pose_body", "body_pose", "fullpose")
SHAPES = ("betas", "shapedirs", "v_template", "gender")
RATES = ("mocap_framerate", "mocap_frame_rate", "frame_rate", "framerate", "fps", "mocap_fps")
_ROOT = ("root_orient", "global_orient")
_PLACE = ("trans", "transl")


def is_smpl(names: Iterable[str]) -> bool:
    """Whether arrays of these names are poses or shapes of SMPL."""
    names = set(names)
    return bool(names & set(POSES)) or bool({"betas"} & names) or {"v_template", "shapedirs"} <= names


def read(path: Path, config: ImportConfig) -> RawMotion:
    """Read poses.

    Raises:
        BadInputError: the file holds a shape without poses, or no place of the root.
        CorruptFileError: it is damaged.
    """
    found = read_npz(path, (*POSES, *_ROOT, *_PLACE, *RATES, "betas"))
    rotvec, kind = _rotations(path, found)
    root = _numbers(path, found, _PLACE)
    notes: list[str] = []
    if root is None:
        root = np.zeros((len(rotvec), 3))
        notes.append("The file has no trans; the pelvis stays over one spot, at one height.")
    elif root.shape != (len(rotvec), 3):
        raise CorruptFileError(
            f"{path.name}: trans has shape {root.shape}; expected ({len(rotvec)}, 3), as many frames as poses. Copy "
            "the file again."
        )
    rate = next((key for key in RATES if key in found), None)
    fps = None
    if rate is not None:
        value = one_number(found[rate])
        if not np.isfinite(value):
            raise CorruptFileError(f"{path.name}: {rate} is no number; expected a frame rate. Type import.fps=120.")
        fps = Fact(value, f"{rate} in the file")
    offsets, whose = skeleton_of(config, _numbers(path, found, ("betas",)))
    return RawMotion(
        kind=f"{kind}, {whose}",
        names=JOINT_NAMES,
        pos=smpl_pose.pose(rotvec, root, offsets),
        parents=PARENTS,
        fps=fps,
        unit=Fact(1.0, "poses of SMPL are in metres"),
        up=Fact("z", "the custom of AMASS"),
        notes=tuple(notes),
    )


def skeleton_of(config: ImportConfig, betas: Array | None) -> tuple[Array, str]:
    """Offsets (22, 3) [m] to use, and whose they are, in words."""
    if config.body_model is None:
        return smpl_pose.mean_offsets(), "over a mean skeleton"
    shape = None if betas is None else betas.reshape(-1, betas.shape[-1])[0] if betas.size else None
    return smpl_pose.person_offsets(Path(config.body_model), shape), f"over {Path(config.body_model).name}"


def rotvec_of(path: Path, name: str, array: NDArray[Any]) -> Array:
    """(T, 22, 3) rotation vectors of the body out of (T, 3 J), (T, J, 3) or (T, J, 3, 3), J of 22 or more.

    Raises:
        CorruptFileError: another shape.
    """
    if array.dtype.kind not in "iuf":
        raise CorruptFileError(f"{path.name}: {name} holds {array.dtype}; expected numbers. Copy the file again.")
    pose = np.asarray(array, float)
    if pose.ndim == 4 and pose.shape[2:] == (3, 3):
        from scipy.spatial.transform import Rotation

        body_part = pose[:, : len(JOINT_NAMES)]
        if not np.isfinite(body_part).all() or (np.linalg.det(body_part) < 0.5).any():
            raise CorruptFileError(f"{path.name}: {name} holds matrices that are no rotations. Export the file again.")
        flat = Rotation.from_matrix(body_part.reshape(-1, 3, 3)).as_rotvec()
        return flat.reshape(len(pose), -1, 3)[:, : len(JOINT_NAMES)]
    if pose.ndim == 2 and pose.shape[1] % 3 == 0:
        pose = pose.reshape(len(pose), -1, 3)
    if pose.ndim != 3 or pose.shape[2] != 3 or pose.shape[1] < len(JOINT_NAMES):
        raise CorruptFileError(
            f"{path.name}: {name} has shape {array.shape}; expected (frames, 66 or more), three numbers for each of 22 "
            "joints or more."
        )
    return pose[:, : len(JOINT_NAMES)]


def _rotations(path: Path, found: Mapping[str, NDArray[Any]]) -> tuple[Array, str]:
    if "poses" in found or "fullpose" in found:
        name = "poses" if "poses" in found else "fullpose"
        joints = found[name].reshape(len(found[name]), -1).shape[1] // 3 if found[name].ndim > 1 else 0
        kind = {24: "SMPL", 52: "SMPL-H", 55: "SMPL-X"}.get(joints, "SMPL")
        return rotvec_of(path, name, found[name]), f"{kind} npz (AMASS), by its array {name}"
    name = next((key for key in POSES if key in found), None)
    if name is None:
        names = names_in(path)
        has = ", ".join(sorted(names)) or "nothing"
        what = "a body shape without motion" if names & set(SHAPES) else "no poses"
        raise BadInputError(
            f"{path.name} holds {what} (it has {has}); expected poses or pose_body. Take the file of the motion, in "
            "AMASS the one whose name ends in _poses.npz or _stageii.npz."
        )
    root = next((key for key in _ROOT if key in found), None)
    if root is None:
        raise BadInputError(
            f"{path.name} has {name} but no root_orient; expected both. Take a file with the whole pose."
        )
    turn, rest = (np.asarray(found[key]) for key in (root, name))
    if turn.ndim < 2 or rest.ndim < 2 or len(turn) != len(rest) or turn.dtype.kind not in "iuf":
        raise CorruptFileError(
            f"{path.name}: {root} has shape {turn.shape} and {name} {rest.shape}; expected as many frames in both."
        )
    whole = np.concatenate([turn.reshape(len(turn), -1), rest.reshape(len(rest), -1)], axis=1)
    return rotvec_of(path, f"{root} with {name}", whole), f"SMPL-X npz (AMASS), by its array {name}"


def _numbers(path: Path, found: Mapping[str, NDArray[Any]], names: Iterable[str]) -> Array | None:
    name = next((key for key in names if key in found), None)
    if name is None:
        return None
    if found[name].dtype.kind not in "iuf":
        raise CorruptFileError(f"{path.name}: {name} holds {found[name].dtype}; expected numbers. Copy the file again.")
    return np.asarray(found[name], float)
