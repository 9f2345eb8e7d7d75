"""Fits an SMPL body to a HumanMotion.

What enters: a HumanMotion of 22 joints and a body model. What leaves: body shape, pose and translation, with how far
the joints of that body are from those of the motion.

First the shape is chosen so that bones are as long as the motion's, then each bone is turned to where the motion's
points (pose.py, exact up to bone lengths), and a few damped Gauss-Newton steps share out what differing lengths leave
over. What positions do not show stays open: the twist of limbs about themselves, and hands, head and feet stand
straight.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import least_squares

from lagoon.body import pose
from lagoon.body.smpl_model import SmplModel
from lagoon.errors import BadInputError
from lagoon.motion.bones import bone_lengths
from lagoon.motion.human_motion import HumanMotion
from lagoon.motion.rotations import quat_from_matrix, quat_from_rotvec, quat_mul, quat_to_rotvec
from lagoon.motion.skeleton import JOINT_NAMES, PARENTS
from lagoon.paths import atomic_path

Array = NDArray[np.float64]

SHAPE_COST = 1e-3
"""Metres of bone length that one unit of a shape component costs; keeps bodies ordinary."""
DAMPING = 1e-3
"""Weight [m^2] that keeps a refinement step from turning what positions do not show."""
AMASS_JOINTS = 52
"""Joints of an AMASS file: SMPL-H's body and hands."""
_N = len(JOINT_NAMES)


@dataclass(frozen=True)
class SmplMotion:
    """A motion of an SMPL body; the root's pose is relative to the world, Z-up."""

    fps: float
    """Frame rate [Hz]."""
    model: str
    """Name of the body model."""
    betas: Array
    """(b,) body shape."""
    rotations: Array
    """(T, 22, 3, 3) of each joint relative to its parent."""
    translation: Array
    """(T, 3) [m]; the pelvis is at this plus where it is at rest."""
    mean_error: float
    """Mean distance of the body's joints from the motion's [m]."""
    max_error: float
    """Largest distance [m]."""

    @property
    def poses(self) -> Array:
        """(T, 22, 3) rotation vectors [rad]."""
        return quat_to_rotvec(quat_from_matrix(self.rotations))

    def vertices(self, model: SmplModel) -> Array:
        """Vertices (T, V, 3) [m] for display; triangles are ``model.faces``."""
        full = np.tile(np.eye(3), (len(self.rotations), len(model.parents), 1, 1))
        full[:, :_N] = self.rotations
        return model.vertices(self.betas, full, self.translation)


def fit(motion: HumanMotion, model: SmplModel, refine: int = 5) -> SmplMotion:
    """Fit a body.

    Args:
        motion: 22 joints, any frame rate.
        model: the body.
        refine: Gauss-Newton steps after the direct solution; 0 for none.

    Raises:
        BadInputError: the motion has other joints.
    """
    if motion.joint_names != JOINT_NAMES:
        raise BadInputError(
            f"The motion has {len(motion.joint_names)} joints; SMPL is fitted to the {_N} of lagoon's skeleton. "
            "Import or generate the motion again."
        )
    wanted = motion.joint_pos_w
    betas = fit_shape(wanted, model)
    rest = model.joints(betas)[:_N]
    root, turned = wanted[:, 0].copy(), pose.orientations(rest, wanted)
    for _ in range(refine):
        root, turned = _step(rest, root, turned, wanted)
    error = np.linalg.norm(pose.place(rest, root, turned) - wanted, axis=-1)
    rotations = pose.local(turned)
    return SmplMotion(motion.fps, model.name, betas, rotations, root - rest[0], float(error.mean()), float(error.max()))


def fit_shape(joint_pos_w: Array, model: SmplModel) -> Array:
    """Shape (b,) whose bones are as long as those of a motion (T, 22, 3)."""
    parents = list(PARENTS[1:])
    wanted = bone_lengths(joint_pos_w).mean(axis=0)
    base = (model.regressor @ model.v_template)[:_N]
    change = np.einsum("kv,vib->kib", model.regressor[:_N], model.shapedirs)

    def residual(betas: Array) -> Array:
        joints = base + change @ betas
        lengths = np.linalg.norm(joints[1:] - joints[parents], axis=-1)
        return np.concatenate([lengths - wanted, SHAPE_COST * betas])

    return np.asarray(least_squares(residual, np.zeros(change.shape[-1])).x, float)


def save_amass(target: Path, fitted: SmplMotion, text: str = "") -> None:
    """Write an npz file in the layout of AMASS: poses (T, 156), trans, betas, mocap_framerate, gender.

    Source: Mahmood et al. 2019, "AMASS: Archive of Motion Capture as Surface Shapes".
    """
    poses = np.zeros((len(fitted.rotations), AMASS_JOINTS, 3))
    poses[:, :_N] = fitted.poses
    betas = np.zeros(16)
    betas[: len(fitted.betas)] = fitted.betas
    words = fitted.model.lower().split("_")
    gender = next((g for g in ("female", "male") if g in words or (g[0] in words)), "neutral")
    with atomic_path(target) as temporary, temporary.open("wb") as file:
        np.savez_compressed(
            file,
            allow_pickle=False,
            poses=poses.reshape(len(poses), -1),
            trans=fitted.translation,
            betas=betas,
            mocap_framerate=np.array(fitted.fps),
            gender=np.array(gender),
            text=np.array(text),
        )


def _step(rest: Array, root: Array, turned: Array, wanted: Array) -> tuple[Array, Array]:
    """One damped Gauss-Newton step on the root's position and on a small rotation of every joint, in world axes."""
    placed = pose.place(rest, root, turned)
    frames = len(placed)
    jacobian = np.zeros((frames, _N, 3, _N + 1, 3))
    jacobian[:, :, :, _N] = np.eye(3)
    for joint in range(_N):
        ancestor = PARENTS[joint]
        while ancestor >= 0:
            # Turning an ancestor by w moves this joint by w x arm.
            x, y, z = np.moveaxis(placed[:, joint] - placed[:, ancestor], -1, 0)
            zero = np.zeros(frames)
            rows = [[zero, z, -y], [-z, zero, x], [y, -x, zero]]
            jacobian[:, joint, :, ancestor] = np.moveaxis(np.array(rows), -1, 0)
            ancestor = PARENTS[ancestor]
    flat = jacobian.reshape(frames, 3 * _N, -1)
    residual = (wanted - placed).reshape(frames, -1, 1)
    transposed = np.swapaxes(flat, -1, -2)
    step = np.linalg.solve(transposed @ flat + DAMPING * np.eye(flat.shape[-1]), transposed @ residual)
    step = step.reshape(frames, _N + 1, 3)
    small = step[:, :_N].copy()
    # Steps are on top of one another: a joint turns by its own step and those of all before it.
    for joint in range(1, _N):
        small[:, joint] += small[:, PARENTS[joint]]
    return root + step[:, _N], quat_mul(quat_from_rotvec(np.asarray(small, float)), turned)
