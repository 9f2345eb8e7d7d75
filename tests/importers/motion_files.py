"""A person who walks and waves, as a function of time, and writers of motion files: made for these tests.

Everything is in the axes of SMPL's T-pose (X left, Y up, Z ahead) and in metres until a writer changes it.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.spatial.transform import Rotation

from lagoon.motion.skeleton import JOINT_NAMES, PARENTS

AT = {name: i for i, name in enumerate(JOINT_NAMES)}
_LEFT = {
    "left_hip": (0.09, -0.06, 0.0),
    "spine1": (0.0, 0.12, -0.01),
    "left_knee": (0.0, -0.41, 0.01),
    "spine2": (0.0, 0.13, 0.01),
    "left_ankle": (0.0, -0.40, -0.02),
    "spine3": (0.0, 0.06, 0.0),
    "left_foot": (0.02, -0.06, 0.13),
    "neck": (0.0, 0.21, 0.0),
    "left_collar": (0.07, 0.11, 0.0),
    "head": (0.0, 0.1, 0.03),
    "left_shoulder": (0.11, 0.03, 0.0),
    "left_elbow": (0.27, 0.0, -0.01),
    "left_wrist": (0.25, 0.0, 0.0),
}
OFFSETS = np.zeros((22, 3))
for _i, _name in enumerate(JOINT_NAMES[1:], 1):
    _x, _y, _z = _LEFT[_name.replace("right_", "left_")]
    OFFSETS[_i] = (-_x if _name.startswith("right_") else _x, _y, _z)


@dataclass(frozen=True)
class Clip:
    """Rotations and root of T frames."""

    fps: float
    rotvec: np.ndarray
    """(T, 22, 3) relative to the parent."""
    root: np.ndarray
    """(T, 3)"""
    offsets: np.ndarray

    @property
    def pos(self) -> np.ndarray:
        """(T, 22, 3) joint positions, Y up."""
        turns = [Rotation.from_rotvec(self.rotvec[:, 0])]
        out = np.zeros((len(self.root), 22, 3))
        out[:, 0] = self.root
        for j in range(1, 22):
            parent = PARENTS[j]
            out[:, j] = out[:, parent] + turns[parent].apply(self.offsets[j])
            turns.append(turns[parent] * Rotation.from_rotvec(self.rotvec[:, j]))
        return out


def walk_and_wave(fps: float = 20.0, seconds: float = 4.0, offsets: np.ndarray = OFFSETS) -> Clip:
    """Walks ahead in a slight curve, waves the right hand: left and right differ, all is smooth in time."""
    t = np.arange(int(np.floor(seconds * fps + 1e-9)) + 1) / fps
    rotvec = np.zeros((len(t), 22, 3))
    yaw = 0.4 + 0.2 * t
    lean = Rotation.from_euler("yx", np.stack([yaw, 0.05 + 0.03 * np.sin(2 * t)], axis=1))
    rotvec[:, 0] = lean.as_rotvec()
    stride = 2 * np.pi * 0.9 * t
    for side, phase, sign in (("left", 0.0, 1.0), ("right", np.pi, -1.0)):
        swing = np.sin(stride + phase)
        rotvec[:, AT[f"{side}_hip"], 0] = -0.4 * swing - 0.1
        rotvec[:, AT[f"{side}_knee"], 0] = 0.45 + 0.35 * np.cos(stride + phase)
        rotvec[:, AT[f"{side}_ankle"], 0] = -0.1 + 0.1 * swing
        rotvec[:, AT[f"{side}_shoulder"], 2] = -sign * 1.25
    rotvec[:, AT["left_shoulder"], 1] = 0.3 * np.sin(stride)
    rotvec[:, AT["left_elbow"], 1] = -0.4
    # The right arm: up and swinging at 1.5 Hz.
    rotvec[:, AT["right_shoulder"], 2] = -0.5
    rotvec[:, AT["right_elbow"], 2] = -0.9 + 0.5 * np.sin(2 * np.pi * 1.5 * t)
    rotvec[:, AT["spine2"], 1] = 0.1 * np.sin(stride)
    rotvec[:, AT["neck"], 1] = 0.2 * np.sin(t)
    speed = 0.9
    root = np.stack([np.cumsum(np.sin(yaw)), np.zeros(len(t)), np.cumsum(np.cos(yaw))], axis=1) * speed / fps
    # The integral in closed form, so that every frame rate has the same path.
    root[:, 0] = -speed * (np.cos(yaw) - np.cos(0.4)) / 0.2
    root[:, 2] = speed * (np.sin(yaw) - np.sin(0.4)) / 0.2
    root[:, 1] = 0.95 + 0.02 * np.cos(2 * stride)
    return Clip(fps, rotvec, root, offsets)


def expected(clip: Clip) -> np.ndarray:
    """(T, 22, 3) what the import should make of a clip at 20 fps: Z up, facing +X, over the origin, on the floor."""
    pos = clip.pos[..., [2, 0, 1]]
    left = pos[0, AT["left_hip"]] - pos[0, AT["right_hip"]] + pos[0, AT["left_shoulder"]] - pos[0, AT["right_shoulder"]]
    ahead = np.cross(left, pos[0, AT["neck"]] - pos[0, 0])
    turn = Rotation.from_euler("z", -np.arctan2(ahead[1], ahead[0]))
    pos = turn.apply(pos.reshape(-1, 3)).reshape(pos.shape)
    return pos - [pos[0, 0, 0], pos[0, 0, 1], pos[..., 2].min()]


def write_bvh(
    path: Path,
    clip: Clip,
    names: dict[str, str] | None = None,
    order: str = "ZXY",
    unit: float = 100.0,
    z_up: bool = False,
    end: str = "\n",
    tab: str = "\t",
    six: bool = False,
    right_first: bool = False,
) -> Path:
    """Write BVH with one joint for each of the 22."""
    turn = np.eye(3) if not z_up else np.array([[0.0, 0, 1], [1, 0, 0], [0, 1, 0]])
    axes = Rotation.from_matrix(turn)
    named = {name: (names or {}).get(name, name) for name in JOINT_NAMES}
    children = {j: [c for c in range(22) if PARENTS[c] == j] for j in range(22)}
    lines, sequence = ["HIERARCHY"], []

    def joint(j: int, depth: int) -> None:
        pad = tab * depth
        x, y, z = unit * (turn @ clip.offsets[j])
        lines.append(f"{pad}{'JOINT' if j else 'ROOT'} {named[JOINT_NAMES[j]]}")
        lines.extend([pad + "{", f"{pad}{tab}OFFSET {x:.6f} {y:.6f} {z:.6f}"])
        place = "Xposition Yposition Zposition " if j == 0 or six else ""
        turns = " ".join(f"{axis}rotation" for axis in order)
        lines.append(f"{pad}{tab}CHANNELS {6 if place else 3} {place}{turns}")
        sequence.append(j)
        below = children[j][::-1] if right_first else children[j]
        for child in below:
            joint(child, depth + 1)
        if not below:
            lines.extend(
                [
                    f"{pad}{tab}End Site",
                    f"{pad}{tab}{{",
                    f"{pad}{tab}{tab}OFFSET 0.0 {unit * 0.05:.6f} 0.0",
                    f"{pad}{tab}}}",
                ]
            )
        lines.append(pad + "}")

    joint(0, 0)
    columns = []
    for j in sequence:
        if j == 0:
            columns.append(unit * axes.apply(clip.root))
        elif six:
            columns.append(np.tile(unit * (turn @ clip.offsets[j]), (len(clip.root), 1)))
        local = axes * Rotation.from_rotvec(clip.rotvec[:, j]) * axes.inv()
        columns.append(local.as_euler(order.upper(), degrees=True))
    rows = np.concatenate(columns, axis=1)
    lines += ["MOTION", f"Frames: {len(rows)}", f"Frame Time: {1 / clip.fps:.8f}"]
    lines += [" ".join(f"{v:.6f}" for v in row) for row in rows]
    path.write_bytes(end.join(lines).encode() + end.encode())
    return path


def write_amass(path: Path, clip: Clip, rate: str = "mocap_framerate", joints: int = 52, **more: object) -> Path:
    """Write poses as AMASS has them: Z up, so the root is turned."""
    axes = Rotation.from_matrix(np.array([[0.0, 0, 1], [1, 0, 0], [0, 1, 0]]))
    rotvec = np.zeros((len(clip.root), joints, 3))
    rotvec[:, :22] = clip.rotvec
    rotvec[:, 0] = (axes * Rotation.from_rotvec(clip.rotvec[:, 0])).as_rotvec()
    np.savez(
        path,
        poses=rotvec.reshape(len(rotvec), -1),
        trans=axes.apply(clip.root),
        betas=np.zeros(16),
        gender=np.array("neutral"),
        dmpls=np.zeros((len(rotvec), 8)),
        **{rate: np.array(clip.fps)},
        **more,
    )
    return path


def error(got: np.ndarray, want: np.ndarray) -> float:
    """Largest distance of a joint [m]; infinite if the frames differ in number."""
    return float(np.linalg.norm(got - want, axis=-1).max()) if got.shape == want.shape else np.inf


UNIT_ASF = 0.0254 / 0.45
"""Metres in a unit of CMU's skeletons."""
_STARTS = {
    "hip": "femur",
    "knee": "tibia",
    "ankle": "foot",
    "foot": "toes",
    "collar": "clavicle",
    "shoulder": "humerus",
    "elbow": "radius",
    "wrist": "wrist",
}
_MIDDLE = {"pelvis": "lowerback", "spine1": "upperback", "spine2": "thorax", "spine3": "chesttop", "neck": "lowerneck"}


def _bones() -> list[tuple[str, str, int, int]]:
    """(name, parent bone, joint where it begins, joint where it ends or -1) of the 22 joints in CMU's names."""

    def named(start: int, end: int) -> str:
        joint = JOINT_NAMES[start]
        if end >= 0 and joint in ("pelvis", "spine3") and JOINT_NAMES[end].startswith(("left", "right")):
            return JOINT_NAMES[end][0] + ("hipjoint" if joint == "pelvis" else "chestside")
        if joint.startswith(("left", "right")):
            return joint[0] + _STARTS[joint.split("_")[1]]
        return _MIDDLE.get(joint, joint)

    found: list[tuple[str, str, int, int]] = []
    arrived = {0: "root"}
    for end in range(1, 22):
        start = PARENTS[end]
        name = named(start, end)
        found.append((name, arrived[start], start, end))
        arrived[end] = name
    leaves = [j for j in range(22) if j not in PARENTS]
    return found + [(named(leaf, -1), arrived[leaf], leaf, -1) for leaf in leaves]


def write_amc(folder: Path, clip: Clip, name: str = "07_01", end: str = "\n") -> Path:
    """Write NAME.amc and the skeleton of its subject; every bone has axes of its own."""
    random = np.random.default_rng(5)
    asf = [
        ":version 1.10",
        ":name test",
        ":units",
        "  mass 1.0",
        "  length 0.45",
        "  angle deg",
        ":documentation",
        "  none",
    ]
    asf += [":root", "  order TX TY TZ RX RY RZ", "  axis XYZ", "  position 0 0 0", "  orientation 0 0 0", ":bonedata"]
    frames = {}
    for i, (bone, _, start, stop) in enumerate(_bones(), 1):
        vector = clip.offsets[stop] / UNIT_ASF if stop >= 0 else np.array([0.0, 0.3, 0.0])
        angles = random.uniform(-90, 90, 3)
        length = np.linalg.norm(vector)
        x, y, z = vector / length
        asf += ["  begin", f"    id {i}", f"    name {bone}", f"    direction {x:.9f} {y:.9f} {z:.9f}"]
        asf += [f"    length {length:.9f}", "    axis {:.6f} {:.6f} {:.6f}  XYZ".format(*angles)]
        if start:
            asf += [
                "    dof rx ry rz",
                "    limits (-180.0 180.0)",
                "           (-180.0 180.0)",
                "           (-180.0 180.0)",
            ]
            axes = Rotation.from_euler("xyz", np.round(angles, 6), degrees=True)
            local = axes.inv() * Rotation.from_rotvec(clip.rotvec[:, start]) * axes
            frames[bone] = local.as_euler("xyz", degrees=True)
        asf.append("  end")
    asf += [":hierarchy", "  begin"]
    parents: dict[str, list[str]] = {}
    for bone, parent, _, _ in _bones():
        parents.setdefault(parent, []).append(bone)
    asf += [f"    {parent} {' '.join(children)}" for parent, children in parents.items()] + ["  end"]
    (folder / f"{name.split('_')[0]}.asf").write_text(end.join(asf) + end)
    root = np.concatenate(
        [clip.root / UNIT_ASF, Rotation.from_rotvec(clip.rotvec[:, 0]).as_euler("xyz", degrees=True)], axis=1
    )
    amc = ["#!OML:ASF test", ":FULLY-SPECIFIED", ":DEGREES"]
    for t in range(len(root)):
        amc += [str(t + 1), "root " + " ".join(f"{v:.6f}" for v in root[t])]
        amc += [f"{bone} " + " ".join(f"{v:.6f}" for v in rows[t]) for bone, rows in frames.items()]
    path = folder / f"{name}.amc"
    path.write_text(end.join(amc) + end)
    return path


def write_csv(
    path: Path, clip: Clip, mark: str = ",", title: str = "{joint}_{axis}", clock: bool = True, comma: bool = False
) -> Path:
    """Write joint positions, Y up, in metres."""
    titles = [title.format(joint=name, axis=axis) for name in JOINT_NAMES for axis in "xyz"]
    lines = [mark.join((["time"] if clock else []) + titles)]
    for t, row in enumerate(clip.pos.reshape(len(clip.root), -1)):
        cells = ([f"{t / clip.fps:.6f}"] if clock else []) + [f"{v:.6f}" for v in row]
        lines.append(mark.join(cell.replace(".", ",") if comma else cell for cell in cells))
    path.write_text("\n".join(lines) + "\n")
    return path


_MIMIC = (
    ("chest", "root", (0.0, 0.236151, 0.0), 8, 4),
    ("neck", "chest", (0.0, 0.223894, 0.0), 12, 4),
    ("right_hip", "root", (0.0, 0.0, 0.084887), 16, 4),
    ("right_knee", "right_hip", (0.0, -0.421546, 0.0), 20, 1),
    ("right_ankle", "right_knee", (0.0, -0.40987, 0.0), 21, 4),
    ("right_shoulder", "chest", (-0.02405, 0.2435, 0.18311), 25, 4),
    ("right_elbow", "right_shoulder", (0.0, -0.274788, 0.0), 29, 1),
    ("right_wrist", "right_elbow", (0.0, -0.258947, 0.0), 0, 0),
    ("left_hip", "root", (0.0, 0.0, -0.084887), 30, 4),
    ("left_knee", "left_hip", (0.0, -0.421546, 0.0), 34, 1),
    ("left_ankle", "left_knee", (0.0, -0.40987, 0.0), 35, 4),
    ("left_shoulder", "chest", (-0.02405, 0.2435, -0.18311), 39, 4),
    ("left_elbow", "left_shoulder", (0.0, -0.274788, 0.0), 43, 1),
    ("left_wrist", "left_elbow", (0.0, -0.258947, 0.0), 0, 0),
)


def mimic_frames(fps: float = 30.0, seconds: float = 3.0) -> np.ndarray:
    """(T, 44) a DeepMimic humanoid that walks along X, bends its knees and swings one arm."""
    t = np.arange(round(seconds * fps) + 1) / fps
    frames = np.zeros((len(t), 44))
    frames[:, 0] = 1 / fps
    frames[:, 1], frames[:, 2] = 0.8 * t, 0.86 + 0.02 * np.cos(7 * t)

    def put(first: int, rotation: Rotation) -> None:
        frames[:, first : first + 4] = rotation.as_quat()[:, [3, 0, 1, 2]]

    zero = np.zeros((len(t), 3))
    for first, count in [(4, 4)] + [(first, count) for *_, first, count in _MIMIC]:
        if count == 4:
            put(first, Rotation.from_rotvec(zero))
    put(4, Rotation.from_euler("yz", np.stack([0.1 * np.sin(t), -0.05 + 0 * t], axis=1)))
    put(16, Rotation.from_rotvec((0.3 * np.sin(6 * t))[:, None] * [[0.0, 0.0, 1.0]]))
    put(30, Rotation.from_rotvec((-0.3 * np.sin(6 * t))[:, None] * [[0.0, 0.0, 1.0]]))
    frames[:, 20], frames[:, 34] = -0.4 - 0.3 * np.cos(6 * t), -0.4 + 0.3 * np.cos(6 * t)
    put(25, Rotation.from_euler("xz", np.stack([-0.3 + 0 * t, 1.5 + 0.6 * np.sin(5 * t)], axis=1)))
    frames[:, 29], frames[:, 43] = 0.8, 0.3
    return frames


def mimic_positions(frames: np.ndarray) -> dict[str, np.ndarray]:
    """(T, 3) joints of a DeepMimic humanoid, Y up."""
    pos = {"root": frames[:, 1:4]}
    turn = {"root": Rotation.from_quat(frames[:, [5, 6, 7, 4]])}
    for name, parent, offset, first, count in _MIMIC:
        pos[name] = pos[parent] + turn[parent].apply(offset)
        if count == 4:
            turn[name] = turn[parent] * Rotation.from_quat(frames[:, [first + 1, first + 2, first + 3, first]])
        elif count == 1:
            turn[name] = turn[parent] * Rotation.from_rotvec(frames[:, first : first + 1] * [[0.0, 0.0, 1.0]])
    return pos


def write_deepmimic(path: Path, frames: np.ndarray) -> Path:
    """Write frames as DeepMimic does: JSON, a line for each."""
    rows = ",\n".join("[" + ", ".join(f"{v:.7f}" for v in row) + "]" for row in frames)
    path.write_text('{\n"Loop": "none",\n"Frames":\n[\n' + rows + "\n]\n}\n")
    return path
