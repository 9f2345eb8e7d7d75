"""Where the robot's points are for given joint angles: a cached MuJoCo model with names resolved.

What enters: a RobotSpec and configurations (qpos rows: base position, base quaternion wxyz, joints).
What leaves: positions of feet, knees and of the points that must stay above the floor.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import mujoco
import numpy as np
from numpy.typing import NDArray

from lagoon.motion.rotations import quat_conj, quat_mul, quat_to_rotvec
from lagoon.retarget.scaling import longest_leg
from lagoon.robot import RobotSpec
from lagoon.sim.model import CHECKING, COLLISION_GROUP, TRAINING, Addresses, PhysicsConfig, build_model

Array = NDArray[np.float64]

SMALL = 1e-4
"""Below this angle [rad] the derivative of a rotation vector is that at 0."""


@dataclass(frozen=True)
class ClearancePoint:
    """A point of the robot that may come no closer to the floor than its radius."""

    body: int
    offset: Array
    """(3,) in the body frame [m]."""
    radius: float
    """[m]"""
    name: str


@dataclass(frozen=True)
class Places:
    """Where the robot's points are in T configurations, F legs in RobotSpec order."""

    origin: Array
    """(T, 3) base origin in world [m]."""
    turn: Array
    """(T, 3, 3) base axes in world."""
    feet: Array
    """(T, F, 3) foot centres in world [m]."""
    knees: Array
    """(T, F, 3) knees in world [m]."""
    com: Array
    """(T, 3) centre of mass in world [m]."""
    clearance: Array
    """(T, P) distance of each clearance point's surface from the floor [m]; negative is below it."""

    @property
    def feet_b(self) -> Array:
        """(T, F, 3) foot centres in the base frame [m]."""
        return (self.feet - self.origin[:, None]) @ self.turn

    @property
    def knees_b(self) -> Array:
        """(T, F, 3) knees in the base frame [m]."""
        return (self.knees - self.origin[:, None]) @ self.turn


class Kinematics:
    """Forward kinematics of one robot; not for use from several threads."""

    def __init__(self, robot: RobotSpec) -> None:
        self.robot = robot
        self.model = _model(robot)
        self.data = mujoco.MjData(self.model)
        self.address = Addresses.of(self.model, robot)
        self.base = self.address.base_body
        self.knees = np.array([self.model.joint(leg.calf_joint).bodyid[0] for leg in robot.legs])
        self.thighs = np.array([self.model.joint(leg.thigh_joint).bodyid[0] for leg in robot.legs])
        self.leg_joints = np.array([robot.joint_ids(leg.joints) for leg in robot.legs])
        self.longest_leg = np.array([longest_leg(robot, leg) for leg in robot.legs])
        self.hind = np.array([k for k, leg in enumerate(robot.legs) if not leg.is_front])
        self.front = np.array([k for k, leg in enumerate(robot.legs) if leg.is_front])
        self.clearance = _clearance_points(self.model, self.base)
        self._clear_bodies = np.array([point.body for point in self.clearance], dtype=int)
        self._clear_offsets = np.array([point.offset for point in self.clearance]).reshape(-1, 3)
        self._clear_radii = np.array([point.radius for point in self.clearance])

    def update(self, qpos: Array) -> None:
        """Move the model to one configuration (nq,)."""
        self.data.qpos[:] = qpos
        mujoco.mj_kinematics(self.model, self.data)
        mujoco.mj_comPos(self.model, self.data)

    def feet(self, qpos: Array) -> Array:
        """(F, 3) foot centres in world [m]."""
        self.update(qpos)
        return self.data.site_xpos[self.address.foot_site].copy()

    def points_b(self, qpos: Array) -> tuple[Array, Array]:
        """Feet (F, 3) and knees (F, 3) in the base frame [m]."""
        self.update(qpos)
        turn = self.data.xmat[self.base].reshape(3, 3)
        origin = self.data.xpos[self.base]
        return (
            (self.data.site_xpos[self.address.foot_site] - origin) @ turn,
            (self.data.xpos[self.knees] - origin) @ turn,
        )

    def com(self, qpos: Array) -> Array:
        """(3,) centre of mass in world [m]."""
        self.update(qpos)
        return self.data.subtree_com[self.base].copy()

    def clearances(self, qpos: Array) -> Array:
        """(P,) distance of each clearance point's surface from the floor [m]; negative is below it."""
        self.update(qpos)
        return self._heights(self.data.xpos, self.data.xmat)

    def _heights(self, pos: Array, turn: Array) -> Array:
        """(..., P) clearances from positions (..., B, 3) and axes (..., B, 9) of the bodies."""
        rise = (turn[..., self._clear_bodies, 6:] * self._clear_offsets).sum(axis=-1)
        return pos[..., self._clear_bodies, 2] + rise - self._clear_radii

    def along(self, qpos: Array) -> Places:
        """Places of all points in T configurations (T, nq)."""
        model, data, count = self.model, self.data, len(qpos)
        pos, turn = np.empty((count, model.nbody, 3)), np.empty((count, model.nbody, 9))
        sites, com = np.empty((count, model.nsite, 3)), np.empty((count, 3))
        middle = data.subtree_com[self.base]
        for t in range(count):
            data.qpos[:] = qpos[t]
            mujoco.mj_kinematics(model, data)
            mujoco.mj_comPos(model, data)
            pos[t], turn[t], sites[t], com[t] = data.xpos, data.xmat, data.site_xpos, middle
        return Places(
            origin=pos[:, self.base],
            turn=turn[:, self.base].reshape(-1, 3, 3),
            feet=sites[:, self.address.foot_site],
            knees=pos[:, self.knees],
            com=com,
            clearance=self._heights(pos, turn),
        )

    def pack(self, root_pos: Array, root_quat: Array, joint_pos: Array) -> Array:
        """Build qpos (nq,) from base position (3,), base quaternion (4,) and joints (J,) in RobotSpec order."""
        qpos = np.array(self.model.qpos0)
        qpos[:3], qpos[3:7] = root_pos, root_quat
        qpos[self.address.joint_qpos] = joint_pos
        return qpos

    def stand(self) -> Array:
        """The four-legged stand (nq,) at the origin, facing +X."""
        return self.pack(
            np.array([0.0, 0.0, self.robot.default_root_height]),
            np.array([1.0, 0.0, 0.0, 0.0]),
            self.robot.default_joint_pos,
        )


_MODELS: dict[tuple[str, int, PhysicsConfig], mujoco.MjModel] = {}


def _model(robot: RobotSpec, physics: PhysicsConfig = TRAINING) -> mujoco.MjModel:
    """Compile once per description file, purpose and process."""
    key = (str(robot.model_path), robot.model_path.stat().st_mtime_ns, physics)
    if key not in _MODELS:
        _MODELS[key] = build_model(robot, physics)
    return _MODELS[key]


def collision_model(robot: RobotSpec) -> mujoco.MjModel:
    """The robot's model with all its collision shapes, which hit the floor and each other."""
    return _model(robot, CHECKING)


def self_collisions(robot: RobotSpec, qpos: Array) -> list[tuple[int, str, str]]:
    """Find where the robot touches itself, with all its collision shapes.

    Args:
        robot: the robot.
        qpos: (T, nq) configurations.

    Returns:
        Frame and the names of both shapes, one entry for each touching pair, ascending in time.
    """
    model = collision_model(robot)
    data = mujoco.MjData(model)
    floor = model.geom("floor").id
    found = []
    for t, row in enumerate(qpos):
        data.qpos[:] = row
        mujoco.mj_kinematics(model, data)
        mujoco.mj_collision(model, data)
        for a, b in data.contact.geom[: data.ncon]:
            if floor not in (a, b):
                found.append((t, model.geom(a).name, model.geom(b).name))
    return found


def rotation_errors(wanted: Array, quat: Array) -> tuple[Array, Array]:
    """Rotation vectors (N, 3) from wanted orientations to a body's, wxyz, and their derivatives (N, 3, 3).

    The derivative is the inverse of the right Jacobian of SO(3): I + [a] / 2 + k [a]^2.
    """
    if len(quat) == 1:  # A single one is quicker without arrays.
        return _rotation_error(wanted[0].tolist(), quat[0].tolist())
    angle = quat_to_rotvec(quat_mul(quat_conj(wanted), quat))
    square = (angle * angle).sum(axis=1)
    size = np.sqrt(square)
    far = np.maximum(size, SMALL)
    k = np.where(size < SMALL, 1.0 / 12.0, 1.0 / far**2 - (1.0 + np.cos(far)) / (2.0 * far * np.sin(far)))
    derivative = k[:, None, None] * (angle[:, :, None] * angle[:, None])
    derivative += (1.0 - k * square)[:, None, None] * np.eye(3)
    x, y, z = 0.5 * angle.T
    for i, j, half in ((1, 0, z), (2, 1, x), (0, 2, y)):
        derivative[:, i, j] += half
        derivative[:, j, i] -= half
    return angle, derivative


def _rotation_error(wanted: list[float], quat: list[float]) -> tuple[Array, Array]:
    """The same for one, as arrays of one."""
    a, b, c, d = wanted
    e, f, g, h = quat
    w, x = a * e + b * f + c * g + d * h, a * f - b * e - c * h + d * g
    y, z = a * g + b * h - c * e - d * f, a * h - b * g + c * f - d * e
    if w < 0.0:
        w, x, y, z = -w, -x, -y, -z
    sine = math.sqrt(x * x + y * y + z * z)
    size = 2.0 * math.atan2(sine, w)
    scale = size / sine if sine > 1e-12 else 2.0
    x, y, z = scale * x, scale * y, scale * z
    k = 1.0 / 12.0 if size < SMALL else 1.0 / size**2 - (1.0 + math.cos(size)) / (2.0 * size * math.sin(size))
    return np.array([[x, y, z]]), np.array(
        [
            [
                [1.0 - k * (y * y + z * z), k * x * y - 0.5 * z, k * x * z + 0.5 * y],
                [k * x * y + 0.5 * z, 1.0 - k * (x * x + z * z), k * y * z - 0.5 * x],
                [k * x * z - 0.5 * y, k * y * z + 0.5 * x, 1.0 - k * (x * x + y * y)],
            ]
        ]
    )


def moves(model: mujoco.MjModel, body: int) -> Array:
    """(nv,) 1 for each degree of freedom that moves a body, else 0."""
    above = set()
    while body:
        above.add(body)
        body = int(model.body_parentid[body])
    return np.array([float(int(owner) in above) for owner in model.dof_bodyid])


def _clearance_points(model: mujoco.MjModel, base: int) -> list[ClearancePoint]:
    """Spheres and capsule ends of the shapes that may touch the floor."""
    points = []
    for geom in range(model.ngeom):
        body = int(model.geom_bodyid[geom])
        if model.body_rootid[body] != base or model.geom_group[geom] != COLLISION_GROUP:
            continue
        kind, size = model.geom_type[geom], model.geom_size[geom]
        if kind == mujoco.mjtGeom.mjGEOM_SPHERE:
            ends = [np.zeros(3)]
        elif kind == mujoco.mjtGeom.mjGEOM_CAPSULE:
            ends = [np.array([0.0, 0.0, size[1]]), np.array([0.0, 0.0, -size[1]])]
        else:
            continue
        turn = np.empty(9)
        mujoco.mju_quat2Mat(turn, model.geom_quat[geom])
        for end in ends:
            offset = model.geom_pos[geom] + turn.reshape(3, 3) @ end
            points.append(ClearancePoint(body, offset, float(size[0]), model.geom(geom).name))
    return points
