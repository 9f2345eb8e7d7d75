"""Writes a robot folder, robot.yaml and robot.xml, from a Source.

What enters: what a file says about a robot. What leaves: two texts in lagoon's layout, made of primitive shapes.
Every number says where it comes from; what the file does not tell is written as null, and refused until filled in.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from xml.sax.saxutils import escape, quoteattr

import numpy as np

from lagoon.errors import BadInputError
from lagoon.paths import write_text
from lagoon.sim.description.facts import Inertia, Joint, Source, SourceLeg
from lagoon.sim.description.shapes import LEG, SHAPES
from lagoon.sim.description.stand import LegStand, leg_stand

GO2 = {"mass": 15.2, "reach": 0.426, "kp": 80.0, "kd": 2.0}
"""Gains that are known to work, for scaling: torque grows with weight times leg length."""
FOOT_RADIUS = 0.02
"""Put in where the file has no sphere at a foot [m]."""
SOFT = 0.5
"""Joint damping above which the file's damping is taken for the controller's [Nm s/rad]."""


def write_draft(source: Source, folder: Path, licence: str = "") -> list[str]:
    """Write the two files; existing ones are never overwritten.

    Args:
        source: from read_source.
        folder: the new robot's folder; its name becomes the robot's.
        licence: one line about where the numbers come from and under which licence.

    Returns:
        What is left to do, in words.

    Raises:
        BadInputError: the folder has a robot already, or the legs cannot stand.
    """
    for name in ("robot.yaml", "robot.xml"):
        if (folder / name).exists():
            raise BadInputError(f"{folder / name} exists and is not overwritten. Move it away, or choose another name.")
    yaml_text, todo = draft_yaml(source, licence)
    write_text(folder / "robot.xml", draft_xml(source, folder.name, licence))
    write_text(folder / "robot.yaml", yaml_text)
    return todo


def draft_yaml(source: Source, licence: str = "") -> tuple[str, list[str]]:
    """Return robot.yaml and what is left to fill in."""
    todo: list[str] = []
    stands = _stands(source)
    radius, known = next(((leg.foot_radius, True) for leg in source.legs if leg.foot_radius), (FOOT_RADIUS, False))
    if not known:
        todo.append(f"foot_radius: no sphere at the feet in the file; {FOOT_RADIUS:g} m was put in.")
    root = radius + max(stands[leg.name].height - leg.thigh_offset[2] - leg.hip_pos_b[2] for leg in source.legs)
    mass = source.base.mass + sum(link.mass for leg in source.legs for link in leg.links)
    reach = np.mean([np.linalg.norm(leg.calf_offset) + np.linalg.norm(leg.foot_offset) for leg in source.legs])
    stiff = float(mass * reach) / (GO2["mass"] * GO2["reach"])
    lines = [
        f"# Facts about a robot; joint order of this file is lagoon's joint order. Drafted from {source.path.name}.",
        f"# Sources: [1] that file{f' ({licence})' if licence else ''}; [2] proposed by lagoon: look at it.",
        "schema_version: 1",
        f"base_body: {source.base_body}",
        f"mass: {mass:.6f}  # [1] sum of the link masses [kg]",
        "control_dt: 0.02  # [2] 50 Hz [s]",
        f"default_root_height: {root:.4f}  # [2] base height of the stand below, feet on the floor [m]",
        f"foot_radius: {radius:g}  # [{1 if known else 2}] [m]",
        "# lower, upper [rad], torque [Nm]: [1]. velocity [rad/s]: [1] if the file is a URDF, else fill it in.",
        "# default [rad]: [2] a stand with the feet below the thigh joints. kp [Nm/rad], kd [Nm s/rad]: [1] where the",
        "# file has position actuators, else [2] the Go2's gains times weight and leg length.",
        "joints:",
    ]
    for leg in source.legs:
        stand = stands[leg.name]
        for joint, default in zip(leg.joints, (0.0, stand.thigh, stand.calf), strict=True):
            lines.append(f"  {joint.name}: {{{_joint(joint, default, stiff, todo)}}}")
    lines += ["# [1] joint names in the order of the motor bus and of the actuators in robot.xml", "motors:"]
    lines += [f"  - {name}" for name in source.motors]
    lines += ["# [1] geometry in the base frame at zero angles [m]", "legs:"]
    for leg in source.legs:
        names = ", ".join(joint.name for joint in leg.joints)
        lines.append(
            f"  {leg.name}: {{joints: [{names}], foot: {leg.name}, hip_pos_b: {_list(leg.hip_pos_b)}, "
            f"thigh_offset: {_list(leg.thigh_offset)}, calf_offset: {_list(leg.calf_offset)}, "
            f"foot_offset: {_list(leg.foot_offset)}}}"
        )
    return "\n".join(lines) + "\n", todo


def draft_xml(source: Source, name: str, licence: str = "") -> str:
    """Return robot.xml: inertias and joints of the source, shapes of lagoon's own."""
    legs = {leg.name: leg for leg in source.legs}
    half_x = float(np.mean([abs(leg.hip_pos_b[0]) for leg in source.legs]))
    half_y = float(np.mean([abs(leg.hip_pos_b[1]) for leg in source.legs]))
    height = float(np.linalg.norm(source.legs[0].calf_offset)) * 0.27
    head = " ".join(f"Drafted from {source.path.name}. {licence}".split()).replace("--", "-")
    body = "\n".join(_leg(leg) for leg in (legs[n] for n in ("FL", "FR", "RL", "RR")))
    motors = "\n".join(f"    <motor name={quoteattr(j)} joint={quoteattr(j)}/>" for j in source.motors)
    return SHAPES.format(
        name=quoteattr(name),
        head=escape(head),
        base=quoteattr(source.base_body),
        start=f"{2.5 * np.linalg.norm(source.legs[0].calf_offset):.3f}",
        inertial=_inertial(source.base),
        trunk=f"{half_x:.4g} {half_y:.4g} {height:.4g}",
        bar=f"{height * 0.95:.4g}",
        bar_x=f"{half_x - height * 0.2:.4g}",
        bar_y=f"{half_y * 0.65:.4g}",
        head_x=f"{half_x * 1.45:.4g}",
        head_from=f"{half_x:.4g}",
        head_r=f"{height * 0.85:.4g}",
        legs=body,
        motors=motors,
    )


def _stands(source: Source) -> dict[str, LegStand]:
    """The stand of each leg; left and right stand alike.

    Raises:
        BadInputError: a leg cannot stand.
    """
    legs = {leg.name: leg for leg in source.legs}
    found = {name: leg_stand(leg, legs[name[0] + ("R" if name[1] == "L" else "L")]) for name, leg in legs.items()}
    if lame := [name for name, stand in found.items() if stand is None]:
        raise BadInputError(
            f"Legs {', '.join(lame)} of {source.path} cannot put their foot below the thigh joint within their limits, "
            "so no stand can be proposed. Check the joint limits and the zero pose of the file."
        )
    return {name: stand for name, stand in found.items() if stand is not None}


def _joint(joint: Joint, default: float, stiff: float, todo: list[str]) -> str:
    todo += [
        f"joints.{joint.name}.{key}: the file does not tell it; fill it in, with its source."
        for key in ("lower", "upper", "velocity", "torque")
        if getattr(joint, key) is None
    ]
    number = lambda value: "null" if value is None else f"{value:g}"  # noqa: E731
    kp = joint.kp if joint.kp is not None else round(GO2["kp"] * stiff, 1)
    kd = joint.damping if joint.damping > SOFT else round(kp * GO2["kd"] / GO2["kp"], 2)
    text = (
        f"lower: {number(joint.lower)}, upper: {number(joint.upper)}, velocity: {number(joint.velocity)}, "
        f"torque: {number(joint.torque)}, default: {default:.3f}, kp: {kp:g}, kd: {kd:g}"
    )
    return text + (", motor_sign: -1" if joint.sign < 0 else "")


def _leg(leg: SourceLeg) -> str:
    """One leg's bodies, indented as in robot.xml."""
    side = 1.0 if leg.name[1] == "L" else -1.0
    length = float(np.linalg.norm(leg.calf_offset))
    radius = leg.foot_radius or FOOT_RADIUS
    thick, thin = 0.117 * length, 0.06 * length
    where = 0.63 * leg.thigh_offset
    end = 1.0 - 0.8 * radius / float(np.linalg.norm(leg.foot_offset))
    return LEG.format(
        n=leg.name,
        hip=_v(leg.hip_pos_b),
        hip_inertial=_inertial(leg.links[0]),
        hip_joint=_hinge(leg.joints[0], "1 0 0"),
        drum=f"{0.215 * length:.4g} {0.14 * length:.4g}",
        drum_at=_v(where),
        drum_full=f"{0.215 * length:.4g} {0.09 * length:.4g}",
        drum_full_at=_v(where + np.array([0.0, side * 0.09 * length, 0.0])),
        thigh=_v(leg.thigh_offset),
        thigh_inertial=_inertial(leg.links[1]),
        thigh_joint=_hinge(leg.joints[1], "0 1 0"),
        thick=f"{thick:.4g}",
        thick_seen=f"{1.04 * thick:.4g}",
        colour="thigh_front" if leg.name[0] == "F" else "thigh_rear",
        calf=_v(leg.calf_offset),
        calf_inertial=_inertial(leg.links[2]),
        calf_joint=_hinge(leg.joints[2], "0 1 0"),
        thin=f"{thin:.4g}",
        thin_seen=f"{1.1 * thin:.4g}",
        shin_seen=f"{_v(leg.foot_offset * 0.05)} {_v(leg.foot_offset * end)}",
        shin=f"{_v(leg.foot_offset * 0.1)} {_v(leg.foot_offset * 0.8)}",
        radius=f"{radius:.4g}",
        foot=_v(leg.foot_offset),
    )


def _hinge(joint: Joint, axis: str) -> str:
    """A joint; damping that belongs to the file's controller is left to lagoon's.

    Limits that the file does not tell stand in robot.yaml alone, once they are filled in there.
    """
    damping = joint.damping if joint.damping <= SOFT else 0.1
    known = joint.lower is not None and joint.upper is not None
    limits = f' range="{joint.lower:.8g} {joint.upper:.8g}"' if known else ""
    return (
        f'<joint name={quoteattr(joint.name)} axis="{axis}"{limits} damping="{damping:g}" '
        f'armature="{joint.armature:g}"/>'
    )


def _inertial(link: Inertia) -> str:
    return (
        f'<inertial pos="{_v(link.pos)}" quat="{_v(link.quat, 8)}" mass="{link.mass:.8g}" '
        f'diaginertia="{_v(link.diagonal, 8)}"/>'
    )


def _v(values: Iterable[float], digits: int = 7) -> str:
    return " ".join(f"{0.0 if abs(x) < 1e-9 else x:.{digits}g}" for x in values)


def _list(values: Iterable[float]) -> str:
    return f"[{', '.join(_v(values).split())}]"
