"""How long a unit of the file is, by the height of the skeleton.

What enters: the paths of 22 joints in the file's unit. What leaves: metres in one unit, with the reason.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lagoon.errors import BadInputError
from lagoon.importers.config import UNITS, ImportConfig
from lagoon.importers.raw import Decision, Fact
from lagoon.motion.bones import bone_lengths
from lagoon.motion.skeleton import JOINT_NAMES

Array = NDArray[np.float64]
SHORTEST, TALLEST = 1.15, 2.3
"""Heights of people [m]. No two units of UNITS put the same skeleton into this range."""
STATURE = 1.33
"""Height of a person over legs (hip to ankle) plus trunk (pelvis to neck), along the bones: 1.72 / 1.29 for a mean
adult (Winter 2009, segment lengths), within some percent for the skeletons of motion capture."""
CHANGE = "import.unit=cm or import.height=1.7"


def height_of(pos: Array) -> float:
    """Height of the person standing straight, in the unit of ``pos`` (T, 22, 3), from median bone lengths."""
    bones = dict(zip(JOINT_NAMES[1:], np.median(bone_lengths(pos), axis=0), strict=True))
    legs = sum(bones[f"{side}_{part}"] for side in ("left", "right") for part in ("knee", "ankle")) / 2.0
    trunk = sum(bones[part] for part in ("spine1", "spine2", "spine3", "neck"))
    return float(STATURE * (legs + trunk))


def decide(pos: Array, told: Fact | None, config: ImportConfig, file: str) -> tuple[float, Decision]:
    """Return metres in one unit of the file, and why.

    Args:
        pos: (T, 22, 3) in the file's unit.
        told: metres in one unit as the file or its format has it.
        config: may give the unit or the height.
        file: for messages.

    Raises:
        BadInputError: the skeleton fits no unit, or has no size at all.
    """
    height = height_of(pos)
    if not 1e-9 < height < 1e9:
        raise BadInputError(
            f"{file}: the skeleton is {height:.3g} units tall; expected a person. All joints lie on one spot, or the "
            "numbers are damaged; export the file again."
        )
    if config.height is not None:
        factor = config.height / height
        return factor, Decision("unit", f"{factor:.5g} m", "import.height was given", "import.height=1.7")
    given = config.metres()
    if given is not None:
        return given, Decision("unit", _named(given), f"import.unit was given; height {height * given:.2f} m", CHANGE)
    if told is not None and SHORTEST <= height * float(told.value) <= TALLEST:
        factor = float(told.value)
        return factor, Decision("unit", _named(factor), f"{told.why}; height {height * factor:.2f} m", CHANGE)
    fitting = [name for name, metres in UNITS.items() if SHORTEST <= height * metres <= TALLEST]
    if len(fitting) == 1:
        factor = UNITS[fitting[0]]
        why = f"the skeleton is {height:.4g} units tall, {height * factor:.2f} m"
        return factor, Decision("unit", _named(factor), why, CHANGE)
    as_units = ", ".join(f"{height * metres:.2f} m as {name}" for name, metres in UNITS.items())
    raise BadInputError(
        f"{file}: the skeleton is {height:.4g} units tall, which fits a person in no unit ({as_units}). Type "
        "import.height=1.7 to scale it to a person's height, or import.unit=NUMBER, the metres in one unit."
    )


def _named(metres: float) -> str:
    name = next((name for name, value in UNITS.items() if abs(value - metres) < 1e-6 * value), "")
    return name or f"{metres:.5g} m"
