"""Tells whether a robot folder is fit for use: names, geometry, limits, motors, and whether it stands.

What enters: a RobotSpec. What leaves: findings, each with its numbers.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import mujoco
import numpy as np

from lagoon.errors import BadInputError
from lagoon.robot import RobotSpec
from lagoon.sim.model import CHECKING, TRAINING, Addresses, PhysicsConfig, build_model

STAND_TIME = 2.0
"""How long the stand is held in simulation [s]."""
MOST_SINK, MOST_TILT, MOST_TORQUE = 0.04, 0.1, 0.7
"""Largest loss of height [m], tilt [rad], and share of a torque limit in that stand."""


@dataclass(frozen=True)
class Finding:
    """One question and its answer."""

    name: str
    ok: bool
    text: str
    """What was found, with numbers; what to change if it is not right."""


def check_robot(robot: RobotSpec) -> list[Finding]:
    """Ask everything; what cannot be asked because an earlier answer is no is left out."""
    found: list[Finding] = []
    try:
        model = mujoco.MjModel.from_xml_path(str(robot.model_path))
    except ValueError as error:
        return [Finding("robot.xml", False, f"MuJoCo cannot compile it: {error}")]
    found.append(Finding("robot.xml", True, f"compiles: {model.nbody - 1} bodies, {model.nu} actuators"))
    found += _names(robot, model)
    if not all(finding.ok for finding in found):
        return found
    try:
        Addresses.of(model, robot)
    except BadInputError as error:
        return [*found, Finding("feet", False, str(error))]
    found += [_limits(robot, model), _mass(robot, model), _geometry(robot, model), _symmetry(robot), _servos(robot)]
    found.append(_feet_on_floor(robot))
    if all(finding.ok for finding in found):
        found.append(_stands(robot))
    return found


def _names(robot: RobotSpec, model: mujoco.MjModel) -> Iterator[Finding]:
    hinges = {model.joint(i).name for i in range(model.njnt) if model.jnt_type[i] == mujoco.mjtJoint.mjJNT_HINGE}
    only_yaml, only_xml = sorted(set(robot.joint_names) - hinges), sorted(hinges - set(robot.joint_names))
    text = f"{len(hinges)} joints have the same names in both files"
    if only_yaml or only_xml:
        text = f"joints only in robot.yaml: {only_yaml or 'none'}, only in robot.xml: {only_xml or 'none'}"
    yield Finding("joint names", not (only_yaml or only_xml), text)
    actuators = [model.joint(model.actuator_trnid[i, 0]).name for i in range(model.nu)]
    same = actuators == list(robot.motor_names)
    yield Finding(
        "motor order",
        same,
        f"actuators follow 'motors': {', '.join(actuators[:3])}, ..."
        if same
        else f"actuators of robot.xml are {actuators}, 'motors' of robot.yaml are {list(robot.motor_names)}",
    )


def _limits(robot: RobotSpec, model: mujoco.MjModel) -> Finding:
    wrong = []
    for i, name in enumerate(robot.joint_names):
        low, high = model.joint(name).range
        if model.jnt_limited[model.joint(name).id] and not np.allclose(
            [low, high], [robot.joint_lower[i], robot.joint_upper[i]], atol=1e-6
        ):
            wrong.append(f"{name}: {low:g} to {high:g} in robot.xml")
        if not robot.joint_lower[i] < robot.default_joint_pos[i] < robot.joint_upper[i]:
            wrong.append(f"{name}: the default {robot.default_joint_pos[i]:g} is outside its limits")
    for key in ("joint_vel_limit", "torque_limit", "kp", "kd"):
        bad = [robot.joint_names[i] for i in np.flatnonzero(getattr(robot, key) <= 0)]
        wrong += [f"{key} must be positive: {', '.join(bad)}"] if bad else []
    return Finding(
        "limits",
        not wrong,
        "; ".join(wrong) or "the same in both files (or in robot.yaml alone), positive, and the stand is inside",
    )


def _mass(robot: RobotSpec, model: mujoco.MjModel) -> Finding:
    total = float(model.body_subtreemass[model.body(robot.base_body).id])
    light = [model.body(b).name for b in range(1, model.nbody) if model.body_mass[b] <= 0]
    ok = abs(total - robot.mass) < 1e-4 and not light
    text = f"{total:.4f} kg in robot.xml, {robot.mass:.4f} kg in robot.yaml"
    return Finding("mass", ok, text + (f"; without mass: {', '.join(light)}" if light else ""))


def _geometry(robot: RobotSpec, model: mujoco.MjModel) -> Finding:
    """Anchors, axes and feet of robot.xml at zero angles against the legs of robot.yaml."""
    data = mujoco.MjData(model)
    data.qpos[:] = 0.0
    data.qpos[3] = 1.0
    mujoco.mj_kinematics(model, data)
    base = data.xpos[model.body(robot.base_body).id]
    wrong = []
    for leg in robot.legs:
        place = np.zeros(3)
        for joint, offset, axis in zip(
            leg.joints,
            (leg.hip_pos_b, leg.thigh_offset, leg.calf_offset),
            ((1, 0, 0), (0, 1, 0), (0, 1, 0)),
            strict=True,
        ):
            place = place + offset
            j = model.joint(joint).id
            if not np.allclose(data.xanchor[j] - base, place, atol=1e-5):
                wrong.append(f"{joint} lies at {np.round(data.xanchor[j] - base, 4).tolist()}, not {place.tolist()}")
            if not np.allclose(data.xaxis[j], axis, atol=1e-4):
                wrong.append(f"{joint} turns about {np.round(data.xaxis[j], 3).tolist()}, not {list(axis)}")
        foot = data.site(leg.foot).xpos - base
        if not np.allclose(foot, place + leg.foot_offset, atol=1e-5):
            wrong.append(f"foot {leg.foot} lies at {np.round(foot, 4).tolist()}")
    return Finding("geometry", not wrong, "; ".join(wrong) or "joints, axes and feet are where robot.yaml says")


def _symmetry(robot: RobotSpec) -> Finding:
    wrong = []
    mirror = np.array([1.0, -1.0, 1.0])
    for left, right in (("FL", "FR"), ("RL", "RR")):
        a, b = robot.leg(left), robot.leg(right)
        wrong += [
            f"{key} of {left} is {list(getattr(a, key))}, of {right} {list(getattr(b, key))}"
            for key in ("hip_pos_b", "thigh_offset", "calf_offset", "foot_offset")
            if not np.allclose(getattr(a, key), mirror * getattr(b, key), atol=2e-3)
        ]
        if not np.allclose(
            robot.default_joint_pos[robot.joint_ids(a.joints)] * [-1, 1, 1],
            robot.default_joint_pos[robot.joint_ids(b.joints)],
            atol=1e-3,
        ):
            wrong.append(f"the stand of {left} is not the mirror image of {right}'s")
    return Finding("left and right", not wrong, "; ".join(wrong) or "mirror images of each other")


def _servos(robot: RobotSpec) -> Finding:
    """A small step of one target must move that joint, the right way."""
    model = build_model(robot)
    at = Addresses.of(model, robot)
    wrong = []
    for j, name in enumerate(robot.joint_names):
        data = mujoco.MjData(model)
        data.qpos[2] = 5.0
        data.qpos[at.joint_qpos] = robot.default_joint_pos
        data.ctrl[at.actuator] = robot.default_joint_pos
        data.ctrl[at.actuator[j]] += 0.05
        for _ in range(5):
            mujoco.mj_step(model, data)
        moved = data.qpos[at.joint_qpos] - robot.default_joint_pos
        if moved[j] <= 0 or np.argmax(np.abs(moved)) != j:
            wrong.append(name)
    return Finding(
        "servos", not wrong, f"wrong for: {', '.join(wrong)}" if wrong else "each target moves its own joint"
    )


def _in_stand(robot: RobotSpec, physics: PhysicsConfig) -> tuple[mujoco.MjModel, mujoco.MjData, Addresses]:
    """The model with the robot in its stand, servos holding it."""
    model = build_model(robot, physics)
    data, at = mujoco.MjData(model), Addresses.of(model, robot)
    data.qpos[:7] = [0, 0, robot.default_root_height, 1, 0, 0, 0]
    data.qpos[at.joint_qpos] = robot.default_joint_pos
    data.ctrl[at.actuator] = robot.default_joint_pos
    mujoco.mj_forward(model, data)
    return model, data, at


def _feet_on_floor(robot: RobotSpec) -> Finding:
    _, data, at = _in_stand(robot, TRAINING)
    gaps = data.site_xpos[at.foot_site, 2] - robot.foot_radius
    ok = bool((np.abs(gaps) < 2e-3).all())
    text = f"soles of the stand are {gaps.min() * 1e3:.1f} to {gaps.max() * 1e3:.1f} mm above the floor"
    if not ok:
        text += f"; default_root_height should be {robot.default_root_height - gaps.min():.4f}"
    return Finding("feet on the floor", ok, text)


def _stands(robot: RobotSpec) -> Finding:
    model, data, at = _in_stand(robot, CHECKING)
    for _ in range(round(STAND_TIME / model.opt.timestep)):
        mujoco.mj_step(model, data)
    sink = robot.default_root_height - float(data.qpos[2])
    tilt = float(np.arccos(np.clip(1.0 - 2.0 * (data.qpos[4] ** 2 + data.qpos[5] ** 2), -1.0, 1.0)))
    use = float((np.abs(data.actuator_force[at.actuator]) / robot.torque_limit).max())
    ok = abs(sink) < MOST_SINK and tilt < MOST_TILT and use < MOST_TORQUE
    text = (
        f"after {STAND_TIME:g} s {sink * 100:.1f} cm lower, tilted {tilt:.3f} rad, {use:.0%} of a torque limit in use"
    )
    if not ok:
        text += (
            f" (at most {MOST_SINK * 100:g} cm, {MOST_TILT:g} rad and {MOST_TORQUE:.0%}): "
            "raise kp, straighten the stand, or look at masses and torque limits"
        )
    return Finding("stands", ok, text)
