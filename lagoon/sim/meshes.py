"""What a robot really looks like: the maker's meshes, out of a checkout of MuJoCo Menagerie that the user has.

What enters: a RobotSpec and the folder that $LAGOON_MENAGERIE names. What leaves: shapes on the robot's own frames.
lagoon brings no meshes and needs none; physics never sees them.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import mujoco
import numpy as np
from numpy.typing import NDArray

from lagoon.errors import BadInputError
from lagoon.motion.rotations import quat_conj, quat_from_matrix, quat_mul, quat_rotate_inverse
from lagoon.robot import RobotSpec

Array = NDArray[np.float64]
VARIABLE = "LAGOON_MENAGERIE"
FILES = {
    "go2": "unitree_go2/go2.xml",
    "go1": "unitree_go1/go1.xml",
    "spot": "boston_dynamics_spot/spot.xml",
}
"""The Menagerie's file of each robot that lagoon brings; another robot's is NAME/NAME.xml, if it is there."""


@dataclass(frozen=True, eq=False)
class Mesh:
    """A triangle mesh; two are the same only if they are one object."""

    vertices: Array
    """(V, 3) [m]"""
    faces: NDArray[np.int32]
    """(F, 3) indices of vertices, counter-clockwise from outside."""


@dataclass(frozen=True)
class Placed:
    """A mesh on one of the robot's bodies."""

    body: str
    mesh: Mesh
    pos: Array
    """(3,) in the body's frame [m]."""
    quat: Array
    """(4,) wxyz, mesh to body."""
    rgba: tuple[float, float, float, float]


def file_of(robot: RobotSpec) -> Path | None:
    """The Menagerie's file of a robot; None where there is no checkout or it does not have this robot.

    Raises:
        BadInputError: the variable names no folder, or one that should have the robot and has not.
    """
    told = os.environ.get(VARIABLE)
    if not told:
        return None
    folder = Path(told).expanduser()
    if not folder.is_dir():
        raise BadInputError(
            f"${VARIABLE} is {told!r}, which is no folder. Set it to a checkout of mujoco_menagerie, or unset it."
        )
    path = folder / FILES.get(robot.name, f"{robot.name}/{robot.name}.xml")
    if path.is_file():
        return path
    if robot.name in FILES:
        raise BadInputError(
            f"${VARIABLE} is {told!r}, which has no {FILES[robot.name]}; expected a checkout of mujoco_menagerie. "
            "Check the path, or unset the variable."
        )
    return None


def meshes_of(robot: RobotSpec, model: mujoco.MjModel) -> list[Placed]:
    """The maker's meshes on the bodies of lagoon's own model; none where there is no checkout.

    Bodies are matched by the joints they carry, and meshes are placed by where both models are at zero angles, so the
    frames of the links may differ.

    Args:
        robot: the robot.
        model: compiled from its robot.xml.

    Raises:
        BadInputError: the checkout cannot be read, or is of a robot with other joints.
    """
    path = file_of(robot)
    if path is None:
        return []
    try:
        theirs = mujoco.MjModel.from_xml_path(str(path))
    except ValueError as error:
        cause = " ".join(str(error).split())
        raise BadInputError(
            f"MuJoCo cannot read {path} ({cause}). Update the checkout, or unset ${VARIABLE}."
        ) from error
    names = {theirs.joint(i).name for i in range(theirs.njnt)}
    missing = [joint for joint in robot.joint_names if joint not in names]
    if missing:
        raise BadInputError(f"{path} has no joint {missing[0]}, so it is not robot '{robot.name}'. Unset ${VARIABLE}.")
    partner = {int(theirs.joint(joint).bodyid[0]): int(model.joint(joint).bodyid[0]) for joint in robot.joint_names}
    hip = theirs.joint(robot.legs[0].hip_joint).bodyid[0]
    partner[int(theirs.body_parentid[hip])] = model.body(robot.base_body).id
    ours, other = _at_zero(model, model.body(robot.base_body).id), _at_zero(theirs, int(theirs.body_parentid[hip]))
    found = []
    known: dict[int, Mesh] = {}
    for geom in range(theirs.ngeom):
        if theirs.geom_type[geom] != mujoco.mjtGeom.mjGEOM_MESH or not _seen(theirs, geom):
            continue
        body = int(theirs.geom_bodyid[geom])
        while body not in partner and body > 0:
            body = int(theirs.body_parentid[body])  # A foot that is welded to its calf.
        if body not in partner:
            continue
        mine = partner[body]
        quat = quat_from_matrix(other.geom_xmat[geom].reshape(3, 3))
        frame = ours.xquat[mine]
        found.append(
            Placed(
                body=model.body(mine).name,
                mesh=known.setdefault(int(theirs.geom_dataid[geom]), _mesh(theirs, int(theirs.geom_dataid[geom]))),
                pos=quat_rotate_inverse(frame, other.geom_xpos[geom] - ours.xpos[mine]),
                quat=quat_mul(quat_conj(frame), quat),
                rgba=_colour(theirs, geom),
            )
        )
    return found


def _at_zero(model: mujoco.MjModel, base: int) -> mujoco.MjData:
    """The robot at zero angles, its base at the origin and level."""
    data = mujoco.MjData(model)
    data.qpos[:] = 0.0
    start = model.jnt_qposadr[model.body_jntadr[base]]
    if model.jnt_type[model.body_jntadr[base]] == mujoco.mjtJoint.mjJNT_FREE:
        data.qpos[start + 3] = 1.0
    mujoco.mj_kinematics(model, data)
    return data


def _seen(model: mujoco.MjModel, geom: int) -> bool:
    """Whether a mesh is for the eye: shapes that collide are drawn by nobody."""
    return not (model.geom_contype[geom] or model.geom_conaffinity[geom])


def _mesh(model: mujoco.MjModel, mesh: int) -> Mesh:
    first, count = int(model.mesh_vertadr[mesh]), int(model.mesh_vertnum[mesh])
    face, faces = int(model.mesh_faceadr[mesh]), int(model.mesh_facenum[mesh])
    return Mesh(
        np.array(model.mesh_vert[first : first + count], dtype=np.float64),
        np.array(model.mesh_face[face : face + faces], dtype=np.int32),
    )


def _colour(model: mujoco.MjModel, geom: int) -> tuple[float, float, float, float]:
    material = int(model.geom_matid[geom])
    rgba = model.geom_rgba[geom] if material < 0 else model.mat_rgba[material]
    return float(rgba[0]), float(rgba[1]), float(rgba[2]), float(rgba[3])
