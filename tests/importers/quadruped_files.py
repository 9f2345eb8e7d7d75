"""A robot that trots, as a function of time, and writers of quadruped clips in their exact layouts, for tests.

Axes are lagoon's: X ahead, Y left, Z up. Joint angles come from the feet in closed form, so that what a reader must
find is known without its forward kinematics.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.spatial.transform import Rotation

LEGS = ("FL", "FR", "RL", "RR")
BUS = ("FR", "FL", "RR", "RL")


@dataclass(frozen=True)
class Frame:
    """A robot's body as its URDF has it; lengths [m]."""

    hips: dict[str, tuple[float, float]]
    """x and y of the second hinge, with the first at zero."""
    calf: tuple[float, float]
    """x and z of the third hinge from the second."""
    foot: tuple[float, float]
    axis: float
    """y of the first hinge, on the left."""
    height: float
    """Of the hips above the feet, standing."""
    side: float = 0.0
    """How far the third hinge is inside (negative: outside) of the second."""


LAIKAGO = Frame(
    {leg: (0.242889 if leg[0] == "F" else -0.194401, 0.1364145 * (1 if leg[1] == "L" else -1)) for leg in LEGS},
    (-0.1422, -0.20833),
    (-0.022, -0.25),
    0.0817145,
    0.41,
    0.02069,
)
A1 = Frame(
    {leg: (0.183 if leg[0] == "F" else -0.183, 0.13205 * (1 if leg[1] == "L" else -1)) for leg in LEGS},
    (0.0, -0.2),
    (0.0, -0.2),
    0.047,
    0.29,
)
GO2 = Frame(
    {leg: (0.1934 if leg[0] == "F" else -0.1934, 0.142 * (1 if leg[1] == "L" else -1)) for leg in LEGS},
    (0.0, -0.213),
    (0.0, -0.213),
    0.0465,
    0.3,
)


@dataclass(frozen=True)
class Trot:
    """What the robot does: T frames."""

    fps: float
    body: Frame
    pos: np.ndarray
    """(T, 3) base in world."""
    yaw: np.ndarray
    """(T,)"""
    feet_b: np.ndarray
    """(T, 4, 3) feet in the base, order of LEGS."""

    @property
    def hips_b(self) -> np.ndarray:
        """(4, 3)"""
        return np.array([(*self.body.hips[leg], 0.0) for leg in LEGS])

    def world(self, points_b: np.ndarray) -> np.ndarray:
        """(T, 4, 3) of points in the base."""
        turn = Rotation.from_rotvec(self.yaw[:, None] * [0.0, 0.0, 1.0])
        return (
            np.stack([turn.apply(np.array(np.broadcast_to(points_b, self.feet_b.shape)[:, k])) for k in range(4)], 1)
            + (self.pos[:, None])
        )

    @property
    def feet(self) -> np.ndarray:
        """(T, 4, 3) in world."""
        return self.world(self.feet_b)

    @property
    def angles(self) -> np.ndarray:
        """(T, 4, 3) joint angles about X, Y and Y, order of LEGS; the knee bends backward."""
        a, b = np.array(self.body.calf), np.array(self.body.foot)
        heading = lambda p: np.arctan2(p[..., 0], p[..., 1])  # noqa: E731
        side = np.sign(self.hips_b[:, 1])
        out = self.hips_b[:, 1] - side * (self.body.axis + self.body.side)
        y, z = self.feet_b[..., 1] - side * self.body.axis, self.feet_b[..., 2]
        down = np.sqrt(y**2 + z**2 - out**2)
        first = np.arctan2(z, y) - np.arctan2(-down, out)
        first = np.angle(np.exp(1j * first))
        wanted = np.stack([self.feet_b[..., 0] - self.hips_b[:, 0], -down], axis=-1)
        reach = np.linalg.norm(wanted, axis=-1)
        r, s = np.hypot(*a), np.hypot(*b)
        bend = np.arccos(np.clip((reach**2 - r**2 - s**2) / (2 * r * s), -1, 1))
        calf = np.angle(np.exp(1j * (heading(a) - heading(b) - bend)))
        c, s_ = np.cos(calf)[..., None], np.sin(calf)[..., None]
        turned = np.concatenate([c * b[0] + s_ * b[1], -s_ * b[0] + c * b[1]], axis=-1)
        thigh = np.angle(np.exp(1j * (heading(wanted) - heading(a + turned))))
        return np.stack([first, thigh, calf], axis=-1)


def trot(
    body: Frame = LAIKAGO,
    fps: float = 60.0,
    cycles: float = 4.0,
    speed: float = 0.6,
    yaw: float = 0.4,
    turn: float = 0.0,
    lift: float = 0.06,
    legs: tuple[str, ...] = LEGS,
) -> Trot:
    """Trots ahead, half a second a cycle; only ``legs`` step, the others stand if the robot does."""
    period, duty = 0.5, 0.55
    t = np.arange(round(cycles * period * fps) + 1) / fps
    heading = yaw + turn * t
    step = speed / fps * np.stack([np.cos(heading), np.sin(heading), np.zeros_like(t)], axis=1)
    pos = np.cumsum(step, axis=0) - step[0]
    pos[:, 2] = body.height
    feet = np.zeros((len(t), 4, 3))
    for k, leg in enumerate(LEGS):
        phase = (t / period + (0.0 if leg in ("FL", "RR") else 0.5)) % 1.0
        swing = np.clip((phase - duty) / (1 - duty), 0, 1)
        share = np.where(phase < duty, 0.5 - phase / duty, -0.5 + swing - np.sin(2 * np.pi * swing) / 6)
        x, y = body.hips[leg][0], body.hips[leg][1] - np.sign(body.hips[leg][1]) * body.side
        on = float(leg in legs)
        feet[:, k] = [x, y, -body.height]
        # A foot on the floor stays where it is in the world while the base goes ahead and turns.
        feet[:, k, :2] += on * period * duty * share[:, None] * np.array([speed - turn * y, turn * x])
        feet[:, k, 2] += on * lift * np.sin(np.pi * swing) ** 2
    return Trot(fps, body, pos, heading, feet)


def rows_of(clip: Trot, order: tuple[str, ...] = BUS, y_up_base: bool = True, motors: bool = False) -> np.ndarray:
    """(T, 19) base position, quaternion xyzw, angles, as motion_imitation has them."""
    turn = Rotation.from_rotvec(clip.yaw[:, None] * [0.0, 0.0, 1.0])
    if y_up_base:  # The base's own Z is ahead, X left, Y up.
        turn = turn * Rotation.from_matrix([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    angles = clip.angles.copy()
    if y_up_base:
        angles[:, [1, 3], 0] *= -1.0  # Laikago's right hips turn the other way.
    angles = angles - ([0.0, -0.6, 0.66] if motors else [0.0, 0.0, 0.0])
    columns = [angles[:, LEGS.index(leg)] for leg in order]
    return np.concatenate([clip.pos, turn.as_quat(), *columns], axis=1)


def write_rows(path: Path, rows: np.ndarray, fps: float, loop: str = "Clamp", turns: bool = False) -> Path:
    """Write as motion_imitation does; frames of 20 numbers bring their duration along."""
    head = {"LoopMode": loop, "FrameDuration": 1 / fps, "EnableCycleOffsetPosition": True}
    head["EnableCycleOffsetRotation"] = turns
    if rows.shape[1] == 20:
        head = {"Loop": loop.lower()}
    lines = ",\n".join("  [" + ", ".join(f"{v:.6f}" for v in row) + "]" for row in rows)
    path.write_text(json.dumps(head, indent=0)[:-2] + ',\n\n"Frames":\n[\n' + lines + "\n]\n}\n")
    return path


DOG = (
    ("spine0", "root", (0.0, 0.0, 0.0), 8, 4),
    ("spine1", "spine0", (0.2375, 0.0, 0.0), 12, 4),
    ("left_shoulder", "spine1", (0.304074, -0.109983, -0.106071), 24, 4),
    ("left_forearm", "left_shoulder", (0.0, -0.19, 0.0), 28, 1),
    ("left_hand", "left_forearm", (0.0, -0.2225, 0.0), 29, 4),
    ("left_finger", "left_hand", (0.0, -0.09, 0.0), 33, 4),
    ("right_shoulder", "spine1", (0.304074, -0.109983, 0.106071), 37, 4),
    ("right_forearm", "right_shoulder", (0.0, -0.19, 0.0), 41, 1),
    ("right_hand", "right_forearm", (0.0, -0.2225, 0.0), 42, 4),
    ("right_finger", "right_hand", (0.0, -0.09, 0.0), 46, 4),
    ("left_upper_leg", "root", (-0.074803, -0.095825, -0.05986), 50, 4),
    ("left_leg", "left_upper_leg", (0.0, -0.2, 0.0), 54, 1),
    ("left_foot", "left_leg", (0.0, -0.225, 0.0), 55, 4),
    ("left_toe", "left_foot", (0.0, -0.135, 0.0), 59, 4),
    ("right_upper_leg", "root", (-0.074803, -0.095825, 0.05986), 63, 4),
    ("right_leg", "right_upper_leg", (0.0, -0.2, 0.0), 67, 1),
    ("right_foot", "right_leg", (0.0, -0.225, 0.0), 68, 4),
    ("right_toe", "right_foot", (0.0, -0.135, 0.0), 72, 4),
)
"""DeepMimic's dog: name, parent, offset, first column and number of columns."""
DOG_FEET = {"FL": "left_finger", "FR": "right_finger", "RL": "left_toe", "RR": "right_toe"}


def dog_frames(fps: float = 60.0, seconds: float = 2.0) -> np.ndarray:
    """(T, 84) DeepMimic's dog, which walks along X with bent legs and lifts its left front leg the most."""
    t = np.arange(round(seconds * fps) + 1) / fps
    frames = np.zeros((len(t), 84))
    frames[:, 0] = 1 / fps
    frames[:, 1], frames[:, 2] = 0.4 * t, 0.55
    frames[:, [4, 16, 20, 76, 80]] = 1.0
    for _, _, _, first, count in DOG:
        if count == 4:
            frames[:, first] = 1.0
    stride = 2 * np.pi * 2 * t

    def about_z(first: int, angle: np.ndarray) -> None:
        frames[:, first], frames[:, first + 3] = np.cos(angle / 2), np.sin(angle / 2)

    for side, phase in (("left", 0.0), ("right", np.pi)):
        column = {name: first for name, _, _, first, _ in DOG}
        lifts = np.maximum(np.sin(stride + phase), 0.0)
        about_z(column[f"{side}_shoulder"], -0.5 + 0.2 * np.cos(stride + phase))
        frames[:, column[f"{side}_forearm"]] = 0.7 + (0.9 if side == "left" else 0.3) * lifts
        about_z(column[f"{side}_upper_leg"], 0.4 - 0.2 * np.cos(stride + phase))
        frames[:, column[f"{side}_leg"]] = -0.9 - 0.3 * np.maximum(-np.sin(stride + phase), 0.0)
        about_z(column[f"{side}_foot"], 0.5 + 0 * t)
    return frames


def dog_positions(frames: np.ndarray) -> dict[str, np.ndarray]:
    """(T, 3) joints of the dog, Y up."""
    pos, turn = {"root": frames[:, 1:4]}, {"root": Rotation.from_quat(frames[:, [5, 6, 7, 4]])}
    for name, parent, offset, first, count in DOG:
        pos[name] = pos[parent] + turn[parent].apply(offset)
        if count == 4:
            turn[name] = turn[parent] * Rotation.from_quat(frames[:, [first + 1, first + 2, first + 3, first]])
        else:
            turn[name] = turn[parent] * Rotation.from_rotvec(frames[:, first : first + 1] * [[0.0, 0.0, 1.0]])
    return pos


def write_dog(path: Path, frames: np.ndarray, loop: str = "none") -> Path:
    """Write frames as DeepMimic does."""
    rows = ",\n".join("[" + ", ".join(f"{v:.10f}" for v in row) + "]" for row in frames)
    path.write_text(f'{{\n"Loop": "{loop}",\n"Frames":\n[\n{rows}\n]\n}}\n')
    return path
