"""Reads a quadruped out of any MJCF or URDF file.

What enters: a path. What leaves: Source, the facts that lagoon needs, in lagoon's own terms (facts.py). Whatever
does not fit is refused by name.
"""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from pathlib import Path

import mujoco
import numpy as np
from numpy.typing import NDArray

from lagoon.errors import BadInputError
from lagoon.sim.description.facts import Inertia, Joint, Source, SourceLeg
from lagoon.sim.description.legs import Chain, find_legs

Array = NDArray[np.float64]
UNBALANCED = "A + B >= C"
"""In MuJoCo's words when an inertia is no solid body's; makers' files have such."""


def read_source(path: Path, locked: tuple[str, ...] = ()) -> Source:
    """Read a robot.

    Args:
        path: MJCF or URDF; meshes that are missing are left out, since lagoon draws with its own shapes.
        locked: joints to hold at zero, for example those of an arm on the robot's back.

    Raises:
        BadInputError: the file cannot be read, is no quadruped with three joints a leg, or has further joints that are
            not in ``locked``.
    """
    notes: list[str] = []
    spec, limits = _parse(path)
    _weld(spec, locked, path)
    model = _compile(spec, path, notes)
    data = mujoco.MjData(model)
    base = _base(model, path)
    data.qpos[:] = 0.0
    start = model.jnt_qposadr[model.body_jntadr[base]]
    data.qpos[start + 3] = 1.0
    mujoco.mj_forward(model, data)
    chains = find_legs(model, data, base, path)
    legs = tuple(_leg(model, data, base, chain, limits, path, notes) for chain in chains)
    named = [joint.name for leg in legs for joint in leg.joints]
    motors = [model.joint(int(model.actuator_trnid[i, 0])).name for i in range(model.nu)]
    if sorted(motors) != sorted(named):
        if motors:
            notes.append(f"The actuators of the file drive {len(motors)} joints, not the {len(named)} of the legs.")
        notes.append("Motor order: none in the file, so it is the order of the joints.")
        motors = named
    return Source(
        path=path,
        base_body=model.body(base).name or "base",
        base=_inertia(model, data, base, data.xpos[base]),
        legs=legs,
        motors=tuple(motors),
        notes=tuple(notes),
    )


def _parse(path: Path) -> tuple[mujoco.MjSpec, dict[str, tuple[float | None, float | None]]]:
    """The file, and torque and velocity of each joint of a URDF, which MuJoCo's reader drops in part."""
    if not path.is_file():
        raise BadInputError(f"There is no file {path}. Give the path of an MJCF (.xml) or URDF (.urdf) file.")
    try:
        root = ElementTree.parse(path).getroot()
    except ElementTree.ParseError as error:
        raise BadInputError(f"{path} is not XML: {error}. Expected an MJCF or a URDF file.") from error
    if root.tag not in ("mujoco", "robot"):
        raise BadInputError(f"{path} begins with <{root.tag}>; expected <mujoco> (MJCF) or <robot> (URDF).")
    try:
        spec = mujoco.MjSpec.from_file(str(path))
    except ValueError as error:
        raise BadInputError(
            f"MuJoCo cannot read {path}: {_plain(error)}. Mend the file, or convert it to MJCF."
        ) from error
    if root.tag == "mujoco":
        return spec, {}
    spec.compiler.fusestatic = True
    return spec, {joint.get("name", ""): _of_limit(joint.find("limit")) for joint in root.iter("joint")}


def _weld(spec: mujoco.MjSpec, locked: tuple[str, ...], path: Path) -> None:
    """Remove joints that are to stay at zero, and what refers to them."""
    names = [joint.name for joint in spec.joints]
    for name in locked:
        if name not in names:
            raise BadInputError(f"lock names joint '{name}', which {path} does not have. It has: {', '.join(names)}.")
    for actuator in list(spec.actuators):
        if actuator.target in locked:
            spec.delete(actuator)
    for joint in list(spec.joints):
        if joint.name in locked:
            spec.delete(joint)
    for key in list(spec.keys):
        spec.delete(key)  # A pose of all joints no longer fits, and none is needed.


def _compile(spec: mujoco.MjSpec, path: Path, notes: list[str]) -> mujoco.MjModel:
    """Compile; with uneven inertias made even, and without meshes if they are missing.

    A robot that is fixed to the world gets its free joint.
    """
    roots = [body for body in spec.worldbody.bodies if body.find_all("joint")]
    if len(roots) != 1:
        raise BadInputError(f"{path} has {len(roots)} moving trees; expected one robot.")
    if not any(joint.type == mujoco.mjtJoint.mjJNT_FREE for joint in roots[0].joints):
        roots[0].add_freejoint()
    meshes = [geom for geom in spec.geoms if geom.type == mujoco.mjtGeom.mjGEOM_MESH]
    try:
        return spec.compile()
    except ValueError as error:
        fault = error
    if UNBALANCED in str(fault):
        bodies = _balance(spec)
        if bodies:
            notes.append(
                f"Inertias of {', '.join(bodies)} are no solid body's (A + B < C); they were made even, as MuJoCo's "
                "balanceinertia does. Look for better numbers."
            )
            return _compile(spec, path, notes)
    if meshes:
        for item in [*meshes, *spec.meshes]:
            spec.delete(item)
        notes.append(f"{len(meshes)} mesh shapes were left out, since their files are missing or unreadable.")
        return _compile(spec, path, notes)
    raise BadInputError(
        f"MuJoCo cannot compile {path}: {_plain(fault)}. If a body's mass or inertia is to come from its mesh, put the "
        "mesh files where the file expects them; otherwise write it into the file."
    ) from fault


def _balance(spec: mujoco.MjSpec) -> list[str]:
    """Make the inertias even that break the triangle inequality; returns the names of their bodies."""
    found = []
    for body in spec.bodies:
        moments = np.linalg.eigvalsh(_full(body)) if np.isfinite(body.fullinertia).all() else np.sort(body.inertia)
        if body.explicitinertial and moments[0] + moments[1] < moments[2] and moments[2] > 0.0:
            body.fullinertia[:] = np.nan
            body.inertia = np.full(3, moments.mean())
            found.append(body.name)
    return found


def _full(body: mujoco.MjsBody) -> Array:
    """(3, 3) inertia out of MuJoCo's xx, yy, zz, xy, xz, yz [kg m^2]."""
    xx, yy, zz, xy, xz, yz = body.fullinertia
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


def _plain(error: Exception) -> str:
    """MuJoCo's words on one line, without what is not printable."""
    return " ".join("".join(c if c.isprintable() and c != "\ufffd" else " " for c in str(error)).split()).rstrip(".")


def _of_limit(limit: ElementTree.Element | None) -> tuple[float | None, float | None]:
    """Torque and velocity of a URDF's limit."""
    return (None, None) if limit is None else (_real(limit.get("effort")), _real(limit.get("velocity")))


def _real(text: str | float | None) -> float | None:
    """A limit that means something: positive, and below the round thousands that stand for "unknown"."""
    value = float(text) if text is not None else 0.0
    return value if 0.0 < value < 999.0 else None


def _base(model: mujoco.MjModel, path: Path) -> int:
    free = [int(model.jnt_bodyid[j]) for j in range(model.njnt) if model.jnt_type[j] == mujoco.mjtJoint.mjJNT_FREE]
    if len(free) != 1:
        raise BadInputError(f"{path} has {len(free)} free joints; expected one, at the robot's base.")
    return free[0]


def _inertia(model: mujoco.MjModel, data: mujoco.MjData, body: int, origin: Array) -> Inertia:
    """A body's inertia in a frame at ``origin`` (world) that is parallel to the base at zero angles."""
    return Inertia(
        mass=float(model.body_mass[body]),
        pos=data.xipos[body] - origin,
        quat=_quat(data.ximat[body]),
        diagonal=model.body_inertia[body].copy(),
    )


def _quat(matrix: Array) -> Array:
    quat = np.zeros(4)
    mujoco.mju_mat2Quat(quat, matrix.ravel())
    return quat


def _leg(
    model: mujoco.MjModel,
    data: mujoco.MjData,
    base: int,
    chain: Chain,
    limits: dict[str, tuple[float | None, float | None]],
    path: Path,
    notes: list[str],
) -> SourceLeg:
    anchors = [data.xanchor[joint] for joint in chain.joints]
    joints = []
    for joint, wanted in zip(chain.joints, ("X", "Y", "Y"), strict=True):
        joints.append(_joint(model, data, joint, wanted, limits, path, notes))
    return SourceLeg(
        name=chain.name,
        joints=(joints[0], joints[1], joints[2]),
        links=(
            _inertia(model, data, chain.bodies[0], anchors[0]),
            _inertia(model, data, chain.bodies[1], anchors[1]),
            _inertia(model, data, chain.bodies[2], anchors[2]),
        ),
        hip_pos_b=anchors[0] - data.xpos[base],
        thigh_offset=anchors[1] - anchors[0],
        calf_offset=anchors[2] - anchors[1],
        foot_offset=chain.foot - anchors[2],
        foot_radius=chain.foot_radius,
    )


def _joint(
    model: mujoco.MjModel,
    data: mujoco.MjData,
    joint: int,
    wanted: str,
    limits: dict[str, tuple[float | None, float | None]],
    path: Path,
    notes: list[str],
) -> Joint:
    name = model.joint(joint).name
    along = float(data.xaxis[joint]["XY".index(wanted)])
    if abs(along) < 0.999:
        raise BadInputError(
            f"Joint '{name}' of {path} turns about {np.round(data.xaxis[joint], 3).tolist()} at zero angles; "
            f"lagoon's legs turn about X at the hip and about Y at thigh and calf, here {wanted}. "
            "Robots with other legs cannot be used."
        )
    sign = 1 if along > 0 else -1
    if sign < 0:
        notes.append(f"Joint '{name}' turns about -{wanted}; here it turns about +{wanted}, with its limits swapped.")
    lower = upper = None
    if model.jnt_limited[joint]:
        low, high = model.jnt_range[joint]
        lower, upper = (float(low), float(high)) if sign > 0 else (-float(high), -float(low))
    dof = int(model.jnt_dofadr[joint])
    torque, velocity = limits.get(name, (None, None))
    kp = None
    if model.jnt_actfrclimited[joint]:
        torque = torque or _real(float(model.jnt_actfrcrange[joint, 1]))
    for i in range(model.nu):
        if int(model.actuator_trnid[i, 0]) == joint:
            gear = abs(float(model.actuator_gear[i, 0]))
            if model.actuator_forcelimited[i]:
                torque = torque or _real(float(model.actuator_forcerange[i, 1]) * gear)
            elif model.actuator_ctrllimited[i] and model.actuator_biastype[i] == mujoco.mjtBias.mjBIAS_NONE:
                torque = torque or _real(float(model.actuator_ctrlrange[i, 1] * model.actuator_gainprm[i, 0]) * gear)
            if model.actuator_biastype[i] == mujoco.mjtBias.mjBIAS_AFFINE:
                kp = float(model.actuator_gainprm[i, 0])
    return Joint(
        name=name,
        sign=sign,
        lower=lower,
        upper=upper,
        torque=torque,
        velocity=velocity,
        damping=float(np.ravel(model.dof_damping[dof])[0]),
        armature=float(model.dof_armature[dof]),
        kp=kp,
    )
