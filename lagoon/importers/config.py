"""Settings of the import of motion files, as plain data. Imports nothing heavy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from lagoon.errors import BadInputError

FPS = 20.0
"""Frame rate of what comes out [Hz]: that of the text model, so that all later settings mean the same."""
SLOWEST, FASTEST = 5.0, 1000.0
"""Frame rates that are believed [Hz]."""
LONGEST = 3600.0
"""Longest clip that is taken [s]."""
UNITS = {"m": 1.0, "cm": 0.01, "mm": 0.001, "inch": 0.0254, "ft": 0.3048}
"""Metres in one unit."""

Axis = Literal["auto", "x", "y", "z", "-x", "-y", "-z"]


@dataclass(frozen=True)
class ImportConfig:
    """How a motion file is read; every guess can be replaced here."""

    format: Literal[
        "auto", "bvh", "amc", "smpl", "aist", "humanml3d", "mdm", "deepmimic", "npz", "csv", "quadruped"
    ] = "auto"
    """Kind of the file; auto looks at its content."""
    unit: str = "auto"
    """Unit of lengths in the file: m, cm, mm, inch, ft, or metres in one unit as a number; auto goes by the height of
    the skeleton."""
    height: float | None = None
    """Height of the person [m] to scale to, whatever the unit; null keeps the size that the unit gives."""
    up: Axis = "auto"
    """Axis of the file that points up; auto goes by the format and by how the person stands."""
    facing: Axis = "auto"
    """Axis of the file that becomes forward; auto turns the person to face forward in the first frame."""
    fps: float | None = None
    """Frame rate of the file [Hz]; null takes what the file says or what its format prescribes."""
    order: str = "auto"
    """Order in which rotations about axes are multiplied in BVH, such as ZXY; auto takes the order of the channels."""
    map: str | None = None
    """YAML file with lines 'left_hip: NAME_IN_THE_FILE'; replaces the guess for the joints it names."""
    mirror: Literal["refuse", "names", "axes", "keep"] = "refuse"
    """What to do when left and right do not fit the body: swap the names, mirror the axes, or keep them as they are."""
    skeleton: str | None = None
    """ASF file that an AMC file moves; null looks for one beside it."""
    body_model: str | None = None
    """SMPL, SMPL-H or SMPL-X model (npz) for joint positions of that very person; null uses a mean skeleton."""
    body: str = "auto"
    """Quadrupeds: whose legs the clip moves: dog, laikago, laikago_motors, a1, or a robot of lagoon robot list; auto
    goes by the numbers of a frame, the axis that points up and the height of the feet."""
    legs: tuple[str, ...] = ()
    """Quadrupeds: order of the legs in a frame, such as [FL,FR,RL,RR]; empty takes the body's own."""
    repeat: int | None = None
    """Quadrupeds: how often the clip is done in a row; null repeats a clip whose file says that it is a cycle."""
    clip: int = 0
    """Which motion to take of a file that holds several, from 0."""
    start: float = 0.0
    """Cut off what comes before this time [s]."""
    end: float | None = None
    """Cut off what comes after this time [s]."""
    repair: bool = True
    """False refuses a file with bad frames instead of mending it."""

    def __post_init__(self) -> None:
        """Check ranges.

        Raises:
            BadInputError: a value is out of range.
        """
        self.metres()
        if self.height is not None and not 0.3 <= self.height <= 3.0:
            raise BadInputError(f"import.height is {self.height:g}; expected 0.3 to 3 m. Type import.height=1.7.")
        if self.fps is not None and not SLOWEST <= self.fps <= FASTEST:
            raise BadInputError(
                f"import.fps is {self.fps:g}; expected {SLOWEST:g} to {FASTEST:g} Hz. Type import.fps=30."
            )
        if self.order != "auto" and sorted(self.order.upper()) != ["X", "Y", "Z"]:
            raise BadInputError(f"import.order is '{self.order}'; expected auto or X, Y, Z in some order, such as ZXY.")
        if self.legs and sorted(self.legs) != ["FL", "FR", "RL", "RR"]:
            raise BadInputError(
                f"import.legs is [{','.join(self.legs)}]; expected FL, FR, RL and RR in some order. Type "
                "import.legs=[FR,FL,RR,RL]."
            )
        if self.repeat is not None and not 1 <= self.repeat <= 100:
            raise BadInputError(f"import.repeat is {self.repeat}; expected 1 to 100. Type import.repeat=4.")
        if self.clip < 0:
            raise BadInputError(f"import.clip is {self.clip}; expected 0 or more. Type import.clip=0.")
        if self.start < 0.0 or (self.end is not None and self.end <= self.start):
            raise BadInputError(
                f"import.start is {self.start:g} and import.end {self.end}; expected 0 or more, and a later time [s]."
            )

    def metres(self) -> float | None:
        """Metres in one unit of the file; None when it shall be guessed.

        Raises:
            BadInputError: neither a known unit nor a positive number.
        """
        if self.unit == "auto":
            return None
        try:
            value = UNITS[self.unit] if self.unit in UNITS else float(self.unit)
        except ValueError:
            value = 0.0
        if not 1e-6 <= value <= 1e3:
            raise BadInputError(
                f"import.unit is '{self.unit}'; expected auto, {', '.join(UNITS)}, or metres in one unit as a number "
                "from 1e-6 to 1000. Type import.unit=cm."
            )
        return value
