"""What a generator is: the one interface between a command that passed the gate and the motion it asks for.

What enters: a Request. What leaves: a HumanMotion that was checked, or an error that names the class at fault.
lagoon's own generators and a user's class go through the same functions; see docs/text2motion.md.
"""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol, TypeVar

from lagoon.errors import BadInputError, LagoonError, MissingExtraError, RefusedCommandError
from lagoon.motion.human_motion import HumanMotion
from lagoon.motion.skeleton import HEIGHTS, JOINT_NAMES, body_height
from lagoon.progress import Progress, silent
from lagoon.text2motion.config import FPS, GenerateConfig
from lagoon.text2motion.gate import Reading
from lagoon.text2motion.registry import title
from lagoon.text2motion.selection import Appraise, Candidate

T = TypeVar("T")

FLOOR = 0.25
"""Largest distance [m] between the floor and the lowest joint of the whole motion."""

Keep = Callable[[str, Sequence[Candidate]], None]
"""Takes the words of a step and its candidates, best first."""


def forget(words: str, candidates: Sequence[Candidate]) -> None:
    """Keep that keeps nothing."""


@dataclass(frozen=True)
class Request:
    """What a generator is asked for."""

    command: str
    """The command as it was typed."""
    reading: Reading
    """The command as the gate read it: ``words`` without what is polite only, their encoding, the nearest known."""
    seconds: float
    """Wanted duration [s]."""
    seed: int
    """Seed of every random choice: the same seed shall give the same motion."""
    progress: Progress = silent
    """Told what is being done, as a share in [0, 1] and a few words."""
    appraise: Appraise | None = None
    """Cost of a motion on the robot, to choose by; None if the caller knows no robot."""
    keep: Keep = forget
    """Given the candidates of each step with their scores, best first; a generator without candidates needs it not."""


class Generator(Protocol):
    """Turns requests into motion.

    A class may say ``open_vocabulary = True``: it then also gets commands that the built-in model does not know;
    what is unsafe, impossible, a question or not English stays refused.
    """

    def __init__(self, config: GenerateConfig) -> None:
        """Load what is needed; ``config.model`` names the weights, in whatever way the class likes."""
        ...

    def generate(self, request: Request) -> HumanMotion:
        """Return 22 joints in the order of lagoon.motion.skeleton, 20 fps, metres, Z-up, floor at z = 0."""
        ...


def create(name: str, kind: type, config: GenerateConfig) -> Generator:
    """Make a generator.

    Args:
        name: what the user typed.
        kind: its class.
        config: handed to the class.

    Raises:
        LagoonError: the class raised something; the text names it.
    """
    return _call(name, kind, "could not be made", lambda: kind(config))


def run(name: str, generator: Generator, request: Request) -> HumanMotion:
    """Let a generator generate, and check what it returns.

    Raises:
        RefusedCommandError: the generator refuses the command.
        BadInputError: it raised something else, or returned what is no motion of a person; the text names its class.
    """
    kind = type(generator)
    motion = _call(name, kind, "failed", lambda: generator.generate(request))
    owner = title(name, kind)
    if not isinstance(motion, HumanMotion):
        raise BadInputError(
            f"{owner} returned {_describe(motion)}; expected a lagoon.motion.human_motion.HumanMotion. "
            "Return HumanMotion(fps=20, joint_names=JOINT_NAMES, joint_pos_w=positions)."
        )
    if motion.fps != FPS:
        raise BadInputError(
            f"{owner} returned a motion at {motion.fps:g} fps; expected {FPS:g}. Resample the positions before "
            "you make the HumanMotion."
        )
    if motion.joint_names != JOINT_NAMES:
        raise BadInputError(
            f"{owner} returned {len(motion.joint_names)} joints, {', '.join(motion.joint_names[:4])}...; expected the "
            f"{len(JOINT_NAMES)} of lagoon.motion.skeleton.JOINT_NAMES in that order. Reorder the positions."
        )
    _check_body(owner, motion)
    return replace(motion, text=request.command, source=motion.source | {"generator": name})


def _check_body(owner: str, motion: HumanMotion) -> None:
    """Catch centimetres, and a floor that is not at zero."""
    height = body_height(motion.joint_names, motion.joint_pos_w)
    if height is None or not HEIGHTS[0] <= height <= HEIGHTS[1]:
        raise BadInputError(
            f"{owner} returned a person who measures {height:.3g} m from foot to head along the bones; expected "
            f"{HEIGHTS[0]:g} to {HEIGHTS[1]:g} m. Give positions in metres."
        )
    lowest = float(motion.joint_pos_w[..., 2].min())
    if abs(lowest) > FLOOR:
        raise BadInputError(
            f"{owner} returned a motion whose lowest joint is at z = {lowest:.2f} m; expected the floor at z = 0 and "
            f"the lowest joint within {FLOOR:g} m of it. Give positions with Z up, moved so that the feet touch z = 0."
        )


def _call(name: str, kind: type, what: str, work: Callable[[], T]) -> T:
    """Run foreign code; whatever it raises is told as its own fault, with the line where it happened."""
    try:
        return work()
    except (RefusedCommandError, MissingExtraError):
        raise
    except (Exception, SystemExit) as error:
        if isinstance(error, LagoonError) and kind.__module__.startswith("lagoon."):
            raise
        cause = " ".join(f"{type(error).__name__}: {error}".split())
        raise BadInputError(
            f"{title(name, kind)} {what}: {cause} ({_place(error, kind)}). "
            "Its class has to be mended, or choose another one with generate.generator=NAME. "
            "LAGOON_DEBUG=1 shows the traceback."
        ) from error


def _place(error: BaseException, kind: type) -> str:
    """The innermost line of the class's own file that led to an error, which is what its author can mend."""
    lines = traceback.extract_tb(error.__traceback__)
    home = getattr(sys.modules.get(kind.__module__), "__file__", None)
    line = ([line for line in lines if line.filename == home] or list(lines))[-1]
    return f"{Path(line.filename).name}, line {line.lineno}"


def _describe(value: Any) -> str:
    """A wrong result in words."""
    if value is None:
        return "None"
    shape = getattr(value, "shape", None)
    return f"an object of type {type(value).__name__}" + (f" and shape {tuple(shape)}" if shape is not None else "")
