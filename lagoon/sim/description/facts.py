"""What lagoon needs to know of a quadruped, in lagoon's own terms.

What enters: what source.py read. What leaves: plain dataclasses; link frames sit at the joints and are parallel to the
base at zero angles, axes point along +X and +Y.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Joint:
    """One leg joint; angles are lagoon's, about +X (hip) or +Y (thigh, calf)."""

    name: str
    sign: int
    """Angle in the file = sign * angle here; -1 where the file's axis points the other way."""
    lower: float | None
    """[rad]; None where the file gives no limit."""
    upper: float | None
    torque: float | None
    """[Nm]; None where the file gives none, or a placeholder."""
    velocity: float | None
    """[rad/s]"""
    damping: float
    """[Nm s/rad]"""
    armature: float
    """[kg m^2]"""
    kp: float | None
    """[Nm/rad], from a position actuator."""


@dataclass(frozen=True)
class Inertia:
    """Mass and inertia of a link in its own frame, which is parallel to the base at zero angles."""

    mass: float
    """[kg]"""
    pos: Array
    """(3,) centre of mass [m]."""
    quat: Array
    """(4,) wxyz, principal axes to link frame."""
    diagonal: Array
    """(3,) [kg m^2]"""


@dataclass(frozen=True)
class SourceLeg:
    """One leg, from the body outward."""

    name: str
    """FL, FR, RL or RR."""
    joints: tuple[Joint, Joint, Joint]
    links: tuple[Inertia, Inertia, Inertia]
    """Hip, thigh and calf, the foot included."""
    hip_pos_b: Array
    """(3,) [m]"""
    thigh_offset: Array
    """(3,) thigh joint in the hip frame [m]."""
    calf_offset: Array
    """(3,) calf joint in the thigh frame [m]."""
    foot_offset: Array
    """(3,) foot centre in the calf frame [m]."""
    foot_radius: float | None
    """[m]; None where the file has no sphere there."""


@dataclass(frozen=True)
class Source:
    """A quadruped as its file describes it."""

    path: Path
    base_body: str
    base: Inertia
    legs: tuple[SourceLeg, ...]
    """FL, FR, RL, RR."""
    motors: tuple[str, ...]
    """Joint names in the order of the file's actuators; joint order where it has none."""
    notes: tuple[str, ...] = field(default=())
    """What was decided on the way, in words."""
