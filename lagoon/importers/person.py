"""The 22 joints of lagoon's skeleton out of whatever joints a file has.

What enters: joint paths with a mapping. What leaves: (T, 22, 3) paths, still in the file's unit and axes, and
the names of the joints that had to be put in. Needs hips, knees, ankles, shoulders, elbows, wrists.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lagoon.errors import BadInputError
from lagoon.importers.joint_names import NEEDED, Mapping, find
from lagoon.importers.raw import RawMotion
from lagoon.motion.skeleton import JOINT_NAMES

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Person:
    """Paths of the 22 joints in the file's unit and axes."""

    pos: Array
    """(T, 22, 3)"""
    made: tuple[str, ...]
    """Joints that the file does not have."""
    style: str
    found: int
    """Joints that were found by name."""

    def joint(self, name: str) -> Array:
        """(T, 3) path of a joint."""
        return self.pos[:, JOINT_NAMES.index(name)]


def person_of(raw: RawMotion, map_file: str | None, file: str) -> Person:
    """Find and complete the 22 joints.

    Raises:
        BadInputError: joints that are needed are missing.
    """
    ends = [name.endswith("_end") and parent >= 0 for name, parent in zip(raw.names, raw.parents or [], strict=False)]
    mapping = find(raw.names, ends or [False] * len(raw.names), map_file, file)
    joints = {joint: raw.pos[:, at] for joint, at in mapping.index.items()}
    _chain_ends(raw, mapping, joints)
    real = set(joints)
    missing = [joint for joint in NEEDED if joint not in joints]
    if missing:
        raise BadInputError(
            f"{file}: no joint was recognised as {', '.join(missing)}, and no end of a limb stands for it. Name it in "
            "a YAML file with lines such as 'left_wrist: NAME_IN_THE_FILE', and type import.map=FILE.yaml."
        )
    real |= _trunk(raw, mapping, joints)
    if "pelvis" not in mapping.index:
        real.discard("pelvis")
    _feet(joints)
    made = tuple(name for name in JOINT_NAMES if name not in real)
    return Person(np.stack([joints[name] for name in JOINT_NAMES], axis=1), made, mapping.style, len(mapping.index))


def _chain_ends(raw: RawMotion, mapping: Mapping, joints: dict[str, Array]) -> None:
    """Take wrists, ankles, feet and head from the ends of chains where they have no name."""
    if raw.parents is None:
        return
    for child, parent in [
        (f"{s}_{c}", f"{s}_{p}")
        for s in ("left", "right")
        for c, p in (("wrist", "elbow"), ("ankle", "knee"), ("foot", "ankle"))
    ] + [("head", "neck")]:
        if child in joints or parent not in mapping.index:
            continue
        below = [i for i, p in enumerate(raw.parents) if p == mapping.index[parent] and i not in mapping.index.values()]
        length = {i: _length(raw.pos[:, i] - raw.pos[:, mapping.index[parent]]) for i in below}
        if length and max(length.values()) > 0.0:
            joints[child] = raw.pos[:, max(length, key=lambda i: length[i])]


def _length(vector: Array) -> float:
    norms = np.linalg.norm(vector, axis=-1)
    norms = norms[np.isfinite(norms)]
    return float(np.median(norms)) if len(norms) else 0.0


def _trunk(raw: RawMotion, mapping: Mapping, joints: dict[str, Array]) -> set[str]:
    """Complete pelvis, spine, neck, head and collars; returns those of the spine that the file does have."""
    hips = 0.5 * (joints["left_hip"] + joints["right_hip"])
    shoulders = 0.5 * (joints["left_shoulder"] + joints["right_shoulder"])
    leg = _length(joints["left_hip"] - joints["left_knee"]) + _length(joints["left_knee"] - joints["left_ankle"])
    if "pelvis" in joints and _length(joints["pelvis"] - hips) > 0.35 * leg:
        # A root on the floor or at the origin is not the pelvis.
        del joints["pelvis"]
        mapping.index.pop("pelvis")
    pelvis = joints.setdefault("pelvis", hips)
    neck = joints.setdefault("neck", shoulders + 0.08 * (shoulders - hips))
    joints.setdefault("head", neck + 0.2 * (neck - pelvis))
    chain = _between(raw, mapping, pelvis, neck, leg)
    if not {"spine1", "spine2", "spine3"} <= joints.keys():
        top = chain[-1] if chain else pelvis + 0.6 * (neck - pelvis)
        low = chain[0] if len(chain) > 1 else pelvis + (top - pelvis) / 3.0
        middle = chain[(len(chain) - 1) // 2] if len(chain) > 2 else 0.5 * (low + top)
        joints |= {"spine1": low, "spine2": middle, "spine3": top} | joints
    for side in ("left", "right"):
        joints.setdefault(f"{side}_collar", 0.5 * (neck + joints[f"{side}_shoulder"]))
    known = {1: ("spine3",), 2: ("spine1", "spine3")}
    return set(known.get(len(chain), ("spine1", "spine2", "spine3") if chain else ()))


def _between(raw: RawMotion, mapping: Mapping, pelvis: Array, neck: Array, leg: float) -> list[Array]:
    """Joints of the trunk from the pelvis up, those that lie on either end left out."""
    if raw.parents is not None and "neck" in mapping.index:
        chain: list[int] = []
        at = raw.parents[mapping.index["neck"]]
        while at >= 0 and at != mapping.index.get("pelvis"):
            chain.append(at)
            at = raw.parents[at]
        columns = [i for i in chain[::-1] if i not in mapping.index.values()]
    else:
        columns = list(mapping.trunk)
    paths = [raw.pos[:, i] for i in columns]
    paths = [p for p in paths if _length(p - pelvis) > 0.03 * leg and _length(p - neck) > 0.03 * leg]
    along = [_length(p - pelvis) for p in paths]
    paths = [path for _, path in sorted(zip(along, paths, strict=True), key=lambda pair: pair[0])]
    return [p for i, p in enumerate(paths) if i == 0 or _length(p - paths[i - 1]) > 0.02 * leg]


def _feet(joints: dict[str, Array]) -> None:
    """Put missing feet ahead of the ankles: square to the shank, where the body faces."""
    left = joints["left_hip"] - joints["right_hip"] + joints["left_shoulder"] - joints["right_shoulder"]
    up = joints["neck"] - joints["pelvis"]
    ahead = np.cross(left, up)
    for side in ("left", "right"):
        if f"{side}_foot" in joints:
            continue
        ankle, knee = joints[f"{side}_ankle"], joints[f"{side}_knee"]
        shank = ankle - knee
        length = np.linalg.norm(shank, axis=-1, keepdims=True)
        down = shank / np.maximum(length, 1e-12)
        level = ahead - down * np.sum(ahead * down, axis=-1, keepdims=True)
        level /= np.maximum(np.linalg.norm(level, axis=-1, keepdims=True), 1e-12)
        joints[f"{side}_foot"] = ankle + _length(shank) * (0.31 * level + 0.14 * down)
