"""Model fields that differ between robots only where somebody asks for it.

What enters: body parameters as arrays and a model. What leaves: values of MuJoCo's fields for each robot.
"""

from __future__ import annotations

from collections.abc import Collection

import mujoco
import numpy as np
from numpy.typing import NDArray

from lagoon.sim.model import Addresses

Array = NDArray[np.float64]


def rarely_varied(
    p: dict[str, Array], model: mujoco.MjModel, at: Addresses, known: Collection[str]
) -> dict[str, Array]:
    """Return values (K, ...) by the name of the model field, for the fields that these robots need.

    Args:
        p: BodyParameters of K robots as float64 arrays, by name.
        model: the nominal robot.
        at: where its joints are.
        known: fields to return even where nothing differs, since they held something else before.
    """
    count = len(p["friction"])
    found: dict[str, Array] = {}

    def field(name: str, nominal: Array, varied: bool) -> Array | None:
        if varied or name in known:
            found[name] = np.repeat(np.asarray(nominal)[None], count, axis=0)
        return found.get(name)

    if (loss := field("dof_frictionloss", model.dof_frictionloss, bool(p["joint_friction"].any()))) is not None:
        loss[:, at.joint_dof] += p["joint_friction"]
    if (damping := field("dof_damping", model.dof_damping, bool(p["joint_damping"].any()))) is not None:
        damping[:, at.joint_dof] += p["joint_damping"]
    if (armature := field("dof_armature", model.dof_armature, bool((p["armature_scale"] != 1.0).any()))) is not None:
        armature[:, at.joint_dof] *= p["armature_scale"]
    if (solref := field("geom_solref", model.geom_solref, bool(p["restitution"].any()))) is not None:
        bounces = p["restitution"] > 0.0
        solref[bounces, :, 1] = damping_ratio(p["restitution"][bounces])[:, None]
    if (gravity := field("opt.gravity", model.opt.gravity, bool(p["slope"].any()))) is not None:
        lean = p["slope"]
        up = np.sqrt(np.maximum(1.0 - (lean**2).sum(axis=1, keepdims=True), 0.0))
        gravity[:] = -np.linalg.norm(model.opt.gravity) * np.concatenate([lean, up], axis=1)
    return found


def damping_ratio(restitution: Array) -> Array:
    """Damping ratio of a contact from which a mass leaves with this share of its speed, in (0, 1).

    Source: half a period of a damped oscillator, e = exp(-pi z / sqrt(1 - z^2)), solved for z. MuJoCo's contacts are
    such oscillators (its documentation, "Solver parameters"); with steps near their time constant it is a guide.
    """
    log = np.log(np.clip(restitution, 1e-6, 1.0 - 1e-6))
    return -log / np.sqrt(np.pi**2 + log**2)
