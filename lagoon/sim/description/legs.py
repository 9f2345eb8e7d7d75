"""Finds the four legs in a compiled model by what they are, not by what they are called.

What enters: an mjModel and its pose at zero angles. What leaves: four chains, FL, FR, RL, RR.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import mujoco
import numpy as np
from numpy.typing import NDArray

from lagoon.errors import BadInputError

Array = NDArray[np.float64]
NAMES = ("FL", "FR", "RL", "RR")


@dataclass(frozen=True)
class Chain:
    """One leg of three hinges, from the body outward; world coordinates at zero angles."""

    name: str
    """FL, FR, RL or RR."""
    joints: tuple[int, int, int]
    """Joint ids."""
    bodies: tuple[int, int, int]
    """Body ids, one a joint."""
    foot: Array
    """(3,) centre of the foot [m]."""
    foot_radius: float | None
    """[m]; None if the foot is no sphere."""


def find_legs(model: mujoco.MjModel, data: mujoco.MjData, base: int, path: Path) -> tuple[Chain, ...]:
    """Find the legs below the body ``base``.

    Raises:
        BadInputError: there are not four chains of three hinges, at four corners, or there are further joints.
    """
    hinges = [j for j in range(model.njnt) if model.jnt_type[j] != mujoco.mjtJoint.mjJNT_FREE]
    by_body = {int(model.jnt_bodyid[j]): j for j in hinges}
    ends = [body for body in by_body if not any(_descends(model, other, body) for other in by_body if other != body)]
    chains, other = [], []
    for end in ends:
        bodies = _jointed_above(model, end, by_body)
        hinged = all(model.jnt_type[by_body[b]] == mujoco.mjtJoint.mjJNT_HINGE for b in bodies)
        (chains if len(bodies) == 3 and hinged else other).append(bodies)
    extra = sorted({model.joint(by_body[b]).name for bodies in other for b in bodies})
    if len(chains) != 4 or extra:
        raise BadInputError(
            f"{path}: expected four legs of three hinges each and nothing else that moves; found {len(chains)} such "
            f"chains" + (f", and further joints: {', '.join(extra)}" if extra else "") + ". "
            "Joints of an arm, a head or wheels can be held still with lock=[NAME,NAME]."
        )
    places = np.array([data.xanchor[by_body[bodies[0]]] - data.xpos[base] for bodies in chains])
    names = [("F" if x > 0 else "R") + ("L" if y > 0 else "R") for x, y, _ in places]
    if sorted(names) != sorted(NAMES):
        corners = ", ".join(f"({x:.2f}, {y:.2f})" for x, y, _ in places)
        raise BadInputError(
            f"{path}: the four hips lie at {corners} m from the base's origin; expected one in each corner, "
            "with X forward and Y to the left. Turn the base frame of the file first."
        )
    found = {name: _chain(model, data, name, bodies, by_body) for name, bodies in zip(names, chains, strict=True)}
    return tuple(found[name] for name in NAMES)


def _descends(model: mujoco.MjModel, body: int, ancestor: int) -> bool:
    while body > 0:
        body = int(model.body_parentid[body])
        if body == ancestor:
            return True
    return False


def _jointed_above(model: mujoco.MjModel, body: int, by_body: dict[int, int]) -> list[int]:
    """Bodies with joints from the trunk to ``body``, outward."""
    found = []
    while body > 0:
        if body in by_body:
            found.append(body)
        body = int(model.body_parentid[body])
    return found[::-1]


def _chain(model: mujoco.MjModel, data: mujoco.MjData, name: str, bodies: list[int], by_body: dict[int, int]) -> Chain:
    foot, radius = _foot(model, data, bodies[-1], data.xanchor[by_body[bodies[-1]]])
    hip, thigh, calf = (by_body[body] for body in bodies)
    return Chain(name, (hip, thigh, calf), (bodies[0], bodies[1], bodies[2]), foot, radius)


def _foot(model: mujoco.MjModel, data: mujoco.MjData, calf: int, knee: Array) -> tuple[Array, float | None]:
    """The sphere farthest from the knee; without spheres the farthest site or fixed body."""
    own = [body for body in range(model.nbody) if body == calf or _descends(model, body, calf)]
    spheres = [
        (data.geom_xpos[g], float(model.geom_size[g, 0]))
        for g in range(model.ngeom)
        if int(model.geom_bodyid[g]) in own and model.geom_type[g] == mujoco.mjtGeom.mjGEOM_SPHERE
    ]
    distance = lambda place: float(np.linalg.norm(place - knee))  # noqa: E731
    if spheres:
        place, radius = max(spheres, key=lambda item: distance(item[0]))
        return place.copy(), radius
    sites = [data.site_xpos[s] for s in range(model.nsite) if int(model.site_bodyid[s]) in own]
    fixed = [data.xpos[body] for body in own if body != calf]
    shapes = [_far_end(model, data, g, knee) for g in range(model.ngeom) if int(model.geom_bodyid[g]) in own]
    for places in (sites, fixed, shapes):
        far = [place for place in places if distance(place) > 0.02]
        if far:
            return max(far, key=distance).copy(), None
    raise BadInputError(
        f"The foot below body '{model.body(calf).name}' cannot be found: it has no sphere, site, fixed link or shape. "
        "Add a sphere geom where the foot touches the floor."
    )


def _far_end(model: mujoco.MjModel, data: mujoco.MjData, geom: int, knee: Array) -> Array:
    """The end of a capsule, cylinder or box that is farther from the knee."""
    axis = data.geom_xmat[geom].reshape(3, 3)
    size = model.geom_size[geom]
    capsule = int(model.geom_type[geom]) in (int(mujoco.mjtGeom.mjGEOM_CAPSULE), int(mujoco.mjtGeom.mjGEOM_CYLINDER))
    k = 2 if capsule else int(np.argmax(size))
    half = size[1] if capsule else size[k]
    ends = [data.geom_xpos[geom] + s * half * axis[:, k] for s in (-1.0, 1.0)]
    return max(ends, key=lambda place: float(np.linalg.norm(place - knee)))
