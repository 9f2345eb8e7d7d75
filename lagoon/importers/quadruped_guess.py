"""Whose clip of a quadruped is it, and in which order are the legs?

What enters: base poses and joint angles of another robot. What leaves: the body with which it stands on the floor, and
the order of the legs with which its feet do not slide.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from lagoon.errors import BadInputError, unknown_name
from lagoon.importers.config import ImportConfig
from lagoon.importers.quadruped_bodies import BODIES, BUS_ORDER, DOG_WIDTH, RobotBody, body_of
from lagoon.importers.raw import Decision, Fact
from lagoon.motion.quadruped_motion import LEGS
from lagoon.robot import known_robots, load_robot

Array = NDArray[np.float64]
ORDERS = (BUS_ORDER, LEGS, ("RR", "RL", "FR", "FL"), ("RL", "RR", "FL", "FR"))
"""Orders of the legs that are found in the wild, and front and rear taken for each other."""
FLOAT = 0.12
"""Greatest height of the lowest feet above the floor [m] with which a clip still fits the body."""
SLIDE, BETTER = 0.4, 0.5
"""Feet on the floor that slide faster than this [m/s], and slide less than this share as much in another order of the
legs, belong to that order."""


def candidates(config: ImportConfig) -> dict[str, RobotBody]:
    """Bodies that come into question, by name."""
    if config.body == "auto":
        return BODIES
    if config.body in BODIES:
        return {config.body: BODIES[config.body]}
    if config.body == "dog":
        raise BadInputError(
            f"import.body=dog is DeepMimic's, with {DOG_WIDTH} numbers a frame; this clip has a robot's base and "
            "twelve joints. Leave import.body out, or name the robot."
        )
    if config.body in known_robots():
        return {config.body: body_of(load_robot(config.body))}
    raise unknown_name("Body", config.body, [*BODIES, *known_robots()], "Type import.body=NAME.")


def points_of(numbers: Array, body: RobotBody, legs: tuple[str, ...]) -> Array:
    """(T, 12, 3) hips, knees and feet [m] of (T, 19) numbers a frame: base pose, angles in this order of the legs."""
    return body.points_w(numbers[:, :3], numbers[:, 3:7], numbers[:, 7:19], legs)


def fitting(path: Path, found: dict[str, Array], config: ImportConfig) -> str:
    """The body with which the animal stands on the floor."""
    if not any(np.isfinite(points).all(axis=(1, 2)).any() for points in found.values()):
        return next(iter(found))  # The frames are named as bad later.
    soles = {name: sole(points) for name, points in found.items()}
    standing = {name: sole for name, sole in soles.items() if _upright(found[name]) > 0.5}
    fitting = [name for name, sole in standing.items() if -0.05 <= sole <= FLOAT]
    if fitting:
        return min(fitting, key=lambda name: abs(soles[name] - 0.02))
    if not standing:
        fact = f"the trunk is over the feet neither as {' nor as '.join(found)}"
    elif config.body != "auto":
        fact = f"with import.body={config.body} the feet are at {soles[config.body]:.2f} m"
    else:
        fact = "the feet are at " + ", ".join(f"{sole:.2f} m as {name}" for name, sole in standing.items())
    raise BadInputError(
        f"{path.name}: {fact}; expected a body that stands, and the floor at 0. The clip is of another robot, or its "
        "quaternions or angles have another order, unit or zero. Type import.body=NAME for a robot of: lagoon robot "
        "list"
    )


def order_of(
    path: Path, numbers: Array, body: RobotBody, order: tuple[str, ...], fps: Fact | None, config: ImportConfig
) -> Decision:
    """Check the order of the legs: feet on the floor hardly slide in the right one.

    Raises:
        BadInputError: they slide, and hardly do in another order.
    """
    rate = config.fps or (float(fps.value) if fps is not None else 30.0)
    slides = {legs: _slide(points_of(numbers, body, legs), rate) for legs in dict.fromkeys((order, *ORDERS))}
    mine, best = slides[order], min(slides, key=lambda legs: slides[legs])
    change = "import.legs=[FL,FR,RL,RR]"
    if not config.legs and mine > SLIDE and slides[best] < BETTER * mine:
        raise BadInputError(
            f"{path.name}: with the legs in the order {', '.join(order)} the feet slide over the floor at {mine:.1f} "
            f"m/s, as {', '.join(best)} at {slides[best]:.1f}. Type import.legs=[{','.join(best)}], or "
            f"import.legs=[{','.join(order)}] to keep them."
        )
    why = "import.legs was given" if config.legs else f"{body.words}'s own order"
    return Decision("legs", ", ".join(order), f"{why}; feet on the floor slide at {mine:.2f} m/s", change)


def sole(points: Array) -> float:
    """Height at which the lowest foot is when it is on the floor [m]; not finite if there is none."""
    feet = points.reshape(len(points), 4, 3, 3)[:, :, 2, 2].min(axis=1)
    feet = feet[np.isfinite(feet)]
    return float(np.percentile(feet, 10)) if len(feet) else np.inf


def _upright(points: Array) -> float:
    """Share of the frames in which the trunk is over the feet."""
    legs = points.reshape(len(points), 4, 3, 3)
    height = legs[:, :, 0, 2].mean(axis=1) - legs[:, :, 2, 2].mean(axis=1)
    length = np.linalg.norm(np.diff(legs, axis=2), axis=-1).sum(axis=-1).mean(axis=1)
    good = np.isfinite(height) & np.isfinite(length)
    return float((height[good] > 0.25 * length[good]).mean()) if good.any() else 0.0


def _slide(points: Array, fps: float) -> float:
    """Median speed of the lowest foot over the floor [m/s]."""
    feet = points.reshape(len(points), 4, 3, 3)[:, :, 2]
    feet = feet[np.isfinite(feet).all(axis=(1, 2))]
    if len(feet) < 2:
        return 0.0
    lowest = (feet[1:, :, 2] + feet[:-1, :, 2]).argmin(axis=1)
    speed = np.linalg.norm(np.diff(feet[..., :2], axis=0), axis=-1)
    return float(np.median(speed[np.arange(len(lowest)), lowest]) * fps)
