"""What a robot and a person look like: simple shapes fixed to moving frames.

What enters: a RobotSpec, a HumanMotion or a QuadrupedMotion. What leaves: a Figure (shapes on B frames) and Poses
(where the frames are over time), which the renderer, the web page and the browser viewer all draw.
"""

from __future__ import annotations

from dataclasses import dataclass

import mujoco
import numpy as np
from numpy.typing import NDArray

from lagoon.errors import BadInputError
from lagoon.motion.human_motion import HumanMotion
from lagoon.motion.quadruped_motion import BONES as QUADRUPED_BONES
from lagoon.motion.quadruped_motion import QuadrupedMotion
from lagoon.motion.robot_motion import RobotMotion
from lagoon.motion.rotations import quat_from_rotvec, quat_mul, quat_rotate, quat_slerp
from lagoon.motion.skeleton import BONES
from lagoon.robot import RobotSpec
from lagoon.sim.meshes import Mesh, meshes_of
from lagoon.sim.model import Addresses, build_model

Array = NDArray[np.float64]
Color = tuple[float, float, float, float]

VISUAL_GROUP = 2
"""Geoms of robot.xml that are meant to be seen."""
KINDS = {
    mujoco.mjtGeom.mjGEOM_BOX: "box",
    mujoco.mjtGeom.mjGEOM_CAPSULE: "capsule",
    mujoco.mjtGeom.mjGEOM_SPHERE: "sphere",
    mujoco.mjtGeom.mjGEOM_CYLINDER: "cylinder",
}

# The person's arms and legs wear the colours of the robot's front and rear legs, so that the eye finds
# which limb became which.
ARM, LEG = (0.15, 0.5, 0.85, 1.0), (0.93, 0.5, 0.22, 1.0)
TORSO, SKIN = (0.72, 0.75, 0.79, 1.0), (0.86, 0.72, 0.62, 1.0)


@dataclass(frozen=True)
class Shape:
    """One primitive fixed to a frame of its figure."""

    kind: str
    """box, capsule, cylinder (both along local Z), sphere, or mesh."""
    size: tuple[float, float, float]
    """Half sizes [m], as MuJoCo has them: box x, y, z; capsule and cylinder radius, half length; sphere radius; mesh:
    those of the box around it."""
    frame: int
    """Index of the frame that carries it."""
    pos: tuple[float, float, float]
    """Centre in that frame [m]."""
    quat: tuple[float, float, float, float]
    """Orientation in that frame, wxyz."""
    rgba: Color
    mesh: Mesh | None = None
    """The triangles of a mesh."""


@dataclass(frozen=True)
class Figure:
    """Shapes on B frames."""

    frames: tuple[str, ...]
    """(B,) names; the first one is where a camera should look."""
    shapes: tuple[Shape, ...]


@dataclass(frozen=True)
class Poses:
    """Where the B frames of a figure are over T moments."""

    pos: Array
    """(T, B, 3) origins in world [m]."""
    quat: Array
    """(T, B, 4) frame to world, wxyz."""

    @property
    def count(self) -> int:
        """Number of moments T."""
        return len(self.pos)

    def sample(self, x: Array) -> Poses:
        """Poses at fractional moments (K), held beyond both ends: linear in positions, slerp in orientations."""
        x = np.clip(x, 0.0, self.count - 1.0)
        low = np.minimum(x.astype(np.int64), max(self.count - 2, 0))
        high = np.minimum(low + 1, self.count - 1)
        t = (x - low)[:, None]
        pos = self.pos[low] * (1 - t[..., None]) + self.pos[high] * t[..., None]
        return Poses(pos, quat_slerp(self.quat[low], self.quat[high], np.broadcast_to(t, (len(x), self.quat.shape[1]))))

    def shapes_w(self, figure: Figure) -> tuple[Array, Array]:
        """World centres (T, S, 3) [m] and orientations (T, S, 4) wxyz of the figure's S shapes."""
        frame = [shape.frame for shape in figure.shapes]
        pos = np.array([shape.pos for shape in figure.shapes])
        quat = np.array([shape.quat for shape in figure.shapes])
        return self.pos[:, frame] + quat_rotate(self.quat[:, frame], pos), quat_mul(self.quat[:, frame], quat)


class RobotFigure:
    """A robot's looks and its forward kinematics, from the visual geoms of its robot.xml."""

    def __init__(self, robot: RobotSpec) -> None:
        """Compile the model and collect the shapes of group 2."""
        self.robot = robot
        self.model = build_model(robot)
        self.addresses = Addresses.of(self.model, robot)
        self._data = mujoco.MjData(self.model)
        # The root first, since a camera looks at the first frame; body 0 is the world.
        self.bodies = np.arange(1, self.model.nbody)
        names = tuple(self.model.body(i).name for i in self.bodies)
        self.figure = Figure(names, tuple(self._shape(i) for i in self._seen()))
        self.looks = self._looks(names)
        """The same frames with the maker's meshes; the figure itself where there are none."""

    def _looks(self, names: tuple[str, ...]) -> Figure:
        shapes = [
            Shape(
                "mesh",
                tuple(np.maximum(np.abs(item.mesh.vertices).max(axis=0), 1e-3).tolist()),
                names.index(item.body),
                tuple(item.pos.tolist()),
                tuple(item.quat.tolist()),
                item.rgba,
                item.mesh,
            )
            for item in meshes_of(self.robot, self.model)
        ]
        return Figure(names, tuple(shapes)) if shapes else self.figure

    def _seen(self) -> list[int]:
        model = self.model
        return [i for i in range(model.ngeom) if model.geom_group[i] == VISUAL_GROUP and model.geom_bodyid[i] > 0]

    def _shape(self, geom: int) -> Shape:
        model = self.model
        kind = KINDS.get(mujoco.mjtGeom(model.geom_type[geom]))
        if kind is None:
            raise BadInputError(
                f"Geom {geom} of {self.robot.model_path} is of a kind that lagoon cannot draw. "
                f"Use one of: {', '.join(sorted(KINDS.values()))}."
            )
        material = int(model.geom_matid[geom])
        rgba = model.geom_rgba[geom] if material < 0 else model.mat_rgba[material]
        used = {"sphere": 1, "box": 3}.get(kind, 2)
        size = [float(v) if i < used else 0.0 for i, v in enumerate(model.geom_size[geom])]
        return Shape(
            kind=kind,
            size=(size[0], size[1], size[2]),
            frame=int(model.geom_bodyid[geom]) - 1,
            pos=tuple(model.geom_pos[geom].tolist()),
            quat=tuple(model.geom_quat[geom].tolist()),
            rgba=(float(rgba[0]), float(rgba[1]), float(rgba[2]), float(rgba[3])),
        )

    def pose(self, root_pos_w: Array, root_quat_w: Array, joint_pos: Array) -> tuple[Array, Array]:
        """Body origins (B, 3) [m] and orientations (B, 4) wxyz in world of one configuration.

        Args:
            root_pos_w: (3,) base origin in world [m].
            root_quat_w: (4,) base to world, wxyz.
            joint_pos: (J,) [rad], RobotSpec order.
        """
        self._data.qpos[0:3], self._data.qpos[3:7] = root_pos_w, root_quat_w
        self._data.qpos[self.addresses.joint_qpos] = joint_pos
        mujoco.mj_kinematics(self.model, self._data)
        return self._data.xpos[self.bodies].copy(), self._data.xquat[self.bodies].copy()

    def poses(self, motion: RobotMotion) -> Poses:
        """Forward kinematics of every frame of a motion.

        Raises:
            BadInputError: the motion is for another robot or another joint order.
        """
        if motion.joint_names != self.robot.joint_names:
            raise BadInputError(
                f"The motion is for robot '{motion.robot}' with joints {', '.join(motion.joint_names)}; "
                f"robot '{self.robot.name}' has {', '.join(self.robot.joint_names)}. "
                f"Retarget it again with robot={self.robot.name}."
            )
        all_poses = [
            self.pose(motion.root_pos_w[t], motion.root_quat_w[t], motion.joint_pos[t])
            for t in range(motion.num_frames)
        ]
        return Poses(np.stack([pos for pos, _ in all_poses]), np.stack([quat for _, quat in all_poses]))


# Radius [m] and colour of the limb between a joint and its parent, by the last word of the child's name.
# Sizes are of an adult mannequin, chosen by eye.
_LIMBS: dict[str, tuple[float, Color]] = {
    "hip": (0.09, TORSO),
    "spine1": (0.105, TORSO),
    "spine2": (0.11, TORSO),
    "spine3": (0.115, TORSO),
    "neck": (0.05, SKIN),
    "collar": (0.075, TORSO),
    "shoulder": (0.06, TORSO),
    "head": (0.045, SKIN),
    "elbow": (0.047, ARM),
    "wrist": (0.038, ARM),
    "knee": (0.068, LEG),
    "ankle": (0.05, LEG),
    "foot": (0.04, LEG),
}
# A ball beyond the end of a limb: distance past the child joint and radius [m].
_ENDS: dict[str, tuple[float, float]] = {"head": (0.07, 0.105), "wrist": (0.06, 0.045)}


STICK = 0.025
"""Radius of an animal's limbs and trunk [m]."""


def bones_of(motion: HumanMotion | QuadrupedMotion) -> list[tuple[str, str]]:
    """Pairs of joint names between which a line is drawn; those that the motion has."""
    bones = QUADRUPED_BONES if isinstance(motion, QuadrupedMotion) else BONES
    return [(a, b) for a, b in bones if a in motion.joint_names and b in motion.joint_names]


def side_of(a: str, b: str) -> str:
    """Side of the bone between two joints: left, right, or empty."""
    sides = {
        side
        for name in (a, b)
        for side, starts in (("left", ("left_", "FL_", "RL_")), ("right", ("right_", "FR_", "RR_")))
        if name.startswith(starts)
    }
    return sides.pop() if len(sides) == 1 else ""


def human_figure(human: HumanMotion | QuadrupedMotion, radius_scale: float = 1.0) -> tuple[Figure, Poses]:
    """A mannequin, or an animal of sticks, that follows the joints of a motion.

    Every known bone becomes a capsule of its mean length whose frame lies midway between the two joints
    with Z along the bone; joints that belong to no known bone become small balls.

    Args:
        human: the motion.
        radius_scale: factor on the thickness of all limbs, for a person not of life size.
    """
    names = human.joint_names
    bones = [(names.index(a), names.index(b)) for a, b in bones_of(human)]
    animal = isinstance(human, QuadrupedMotion)
    lone = sorted(set(range(len(names))) - {joint for bone in bones for joint in bone})
    frames: list[str] = []
    shapes: list[Shape] = []
    pos: list[Array] = []
    quat: list[Array] = []
    identity = (1.0, 0.0, 0.0, 0.0)
    for parent, child in bones:
        part = names[child].split("_")[-1]
        radius, color = radius_scale * (STICK if animal else _LIMBS[part][0]), _LIMBS[part][1]
        if animal and names[child][0] == "F" and part != "hip":
            color = ARM
        start, end = human.joint_pos_w[:, parent], human.joint_pos_w[:, child]
        half = float(np.linalg.norm(end - start, axis=-1).mean()) / 2
        index = len(frames)
        frames.append(names[child])
        pos.append((start + end) / 2)
        quat.append(_from_z_to(end - start))
        shapes.append(Shape("capsule", (radius, half, 0.0), index, (0.0, 0.0, 0.0), identity, color))
        if part in _ENDS:
            beyond, ball = (radius_scale * v for v in _ENDS[part])
            shapes.append(Shape("sphere", (ball, 0.0, 0.0), index, (0.0, 0.0, half + beyond), identity, SKIN))
    for joint in lone:
        shapes.append(Shape("sphere", (0.04 * radius_scale, 0.0, 0.0), len(frames), (0.0, 0.0, 0.0), identity, TORSO))
        frames.append(names[joint])
        pos.append(human.joint_pos_w[:, joint])
        quat.append(np.tile(identity, (human.num_frames, 1)))
    return Figure(tuple(frames), tuple(shapes)), Poses(np.stack(pos, axis=1), np.stack(quat, axis=1))


def _from_z_to(direction: Array) -> Array:
    """Shortest rotations (T, 4) wxyz that take the Z axis to directions (T, 3)."""
    unit = direction / np.maximum(np.linalg.norm(direction, axis=-1, keepdims=True), 1e-9)
    axis = np.cross(np.array([0.0, 0.0, 1.0]), unit)
    sine = np.linalg.norm(axis, axis=-1, keepdims=True)
    # Straight down has no unique axis; X is as good as any.
    axis = np.where(sine > 1e-9, axis / np.maximum(sine, 1e-12), np.array([1.0, 0.0, 0.0]))
    return quat_from_rotvec(axis * np.arctan2(sine, unit[..., 2:]))
