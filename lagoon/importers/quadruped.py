"""Clip of an animal or of another robot on four legs to QuadrupedMotion: the main path, top to bottom.

What enters: DeepMimic's txt of its dog, txt of motion_imitation and its kin (base pose and twelve angles a frame), and
ImportConfig. What leaves: hips, knees and feet over time, facing +X over the origin, and an ImportReport.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lagoon.errors import BadInputError, unknown_name
from lagoon.importers.config import ImportConfig
from lagoon.importers.deepmimic import odd_quaternions
from lagoon.importers.frames_json import QUADRUPED_WIDTHS, read_frames
from lagoon.importers.import_motion import ImportReport
from lagoon.importers.quadruped_bodies import BODIES, BUS_ORDER, DOG, DOG_WIDTH, RobotBody, body_of, dog_points
from lagoon.importers.raw import Decision, Fact
from lagoon.importers.repair import mend_spikes, without_gaps
from lagoon.importers.resample import resample
from lagoon.importers.text_file import check_size
from lagoon.importers.timing import cut, frame_rate, long_clip, rate_of, snapped
from lagoon.motion.axes import to_z_up
from lagoon.motion.quadruped_motion import LEGS, QuadrupedMotion, trunk_frames
from lagoon.motion.rotations import quat_from_matrix
from lagoon.paths import sha256_of
from lagoon.progress import Progress, silent
from lagoon.robot import known_robots, load_robot

Array = NDArray[np.float64]
ORDERS = (BUS_ORDER, LEGS, ("RR", "RL", "FR", "FL"), ("RL", "RR", "FL", "FR"))
"""Orders of the legs that are found in the wild, and front and rear taken for each other."""
FASTEST = 120.0
"""Clips with a higher rate [Hz] come down to half of it."""
FLOAT = 0.12
"""Greatest height of the lowest feet above the floor [m] with which a clip still fits the body."""
SLIDE, BETTER = 0.4, 0.5
"""Feet on the floor that slide faster than this [m/s], and slide less than this share as much in another order of the
legs, belong to that order."""
CYCLE = 0.12
"""Largest distance of a point from where the cycle began, as a share of the leg, with which a clip can be repeated."""
PROBED = 2000
"""Frames by which body and order of the legs are judged."""
ENOUGH = 3.0
"""A cycle is repeated until it lasts as long [s]."""
FOR_PEOPLE = ("unit", "height", "up", "facing", "order", "map", "mirror", "skeleton", "body_model", "clip")
"""Settings that mean nothing here."""


@dataclass(frozen=True)
class Clip:
    """What a reader found."""

    points: Array
    """(T, 12, 3) in the file's world with Z up [m]; may hold values that are not finite."""
    rest_hips: Array
    """(4, 3) hips of the trunk at rest, level, Z up."""
    fps: Fact | None
    cycle: bool
    """The file says that the clip is a cycle."""
    turns: bool
    """Each cycle begins with the heading with which the last one ended."""
    decisions: tuple[Decision, ...]
    notes: tuple[str, ...] = ()


def import_quadruped(
    path: Path, config: ImportConfig, text: str = "", progress: Progress | None = None
) -> tuple[QuadrupedMotion, ImportReport]:
    """Read a clip of an animal or of another robot.

    Args:
        path: the file.
        config: replaces guesses.
        text: caption of the motion.
        progress: told what is being done.

    Returns:
        The motion at the file's own rate, and what was decided.

    Raises:
        BadInputError: the file cannot be used, or a guess is too unsure; the text says what to type.
        CorruptFileError: the file is damaged; the line or the frame is named.
    """
    tell = progress or silent
    check_size(path)
    _refuse_settings_for_people(config)
    tell(0.0, f"reading {path.name}")
    with np.errstate(over="ignore", invalid="ignore"):
        clip = _read(path, config)
    fps, rate = frame_rate(clip.fps, config, path.name)
    part = cut(len(clip.points), fps, config, path.name)
    pos, first, repairs = without_gaps(clip.points[part], fps, config.repair, path.name, part.start)
    if len(pos) < 2:
        raise BadInputError(f"{path.name}: {len(pos)} good frame is left; a motion needs at least 2.")
    leg, trunk = _size(pos)
    if not 1e-3 < leg < 1e3:
        raise BadInputError(f"{path.name}: the legs are {leg:.3g} m long; expected an animal. Export the file again.")
    if len(pos) > 3:
        pos = mend_spikes(pos, leg + trunk, fps, config.repair, path.name, first, repairs)
    whole = clip.cycle and part == slice(0, len(clip.points))
    pos, repeated = _repeat(pos, leg, fps, whole, clip.turns, config)
    if fps > FASTEST:
        pos, fps = resample(pos, fps, fps / 2.0), fps / 2.0
    turn = trunk_frames(pos.reshape(len(pos), 4, 3, 3)[:, :, 0]) @ _tilt(clip.rest_hips).T
    pos, turn, placing = _place(pos, turn)
    decisions = (*clip.decisions[:1], rate, *clip.decisions[1:], repeated, *placing)
    motion = QuadrupedMotion(
        fps=fps,
        joint_pos_w=pos,
        trunk_quat_w=quat_from_matrix(turn),
        text=text,
        source={
            "file": path.name,
            "file_sha256": sha256_of(path),
            **{decision.what.replace(" ", "_"): decision.value for decision in decisions},
        },
    )
    tell(1.0, "imported")
    return motion, ImportReport(decisions, (*clip.notes, *repairs, *long_clip(motion.duration)))


def _refuse_settings_for_people(config: ImportConfig) -> None:
    usual = ImportConfig()
    given = [
        f.name for f in fields(config) if f.name in FOR_PEOPLE and getattr(config, f.name) != getattr(usual, f.name)
    ]
    if given:
        raise BadInputError(
            f"import.{given[0]} means nothing for a clip of a quadruped, whose file format gives it. Leave it out; "
            "import.body=, import.legs=, import.fps=, import.repeat=, import.start= and import.end= are read."
        )


def _read(path: Path, config: ImportConfig) -> Clip:
    advice = "Clips of a person: type import.format=deepmimic; other layouts cannot be read."
    content, frames = read_frames(path, QUADRUPED_WIDTHS, advice)
    width = frames.shape[1]
    if width == DOG_WIDTH:
        if config.body not in ("auto", "dog"):
            raise BadInputError(
                f"{path.name} has {DOG_WIDTH} numbers a frame, as DeepMimic's dog has; import.body={config.body} has "
                "not. Leave import.body out."
            )
        points, rest = dog_points(frames)
        kind = Decision("format", "DeepMimic txt of the dog", f"its {width} numbers a frame", "import.format=NAME")
        legs = Decision("legs", "by name", "left and right of the character dog3d")
        notes = tuple(odd_quaternions(DOG, frames))
        return Clip(to_z_up(points), to_z_up(rest), _rate(content, frames), *_cycle(content), (kind, legs), notes)
    numbers = frames[:, 1:20] if width == 20 else frames[:, :19]
    some = numbers[:PROBED]
    bodies = _candidates(config)
    body = bodies[_fitting(path, {name: _points(some, b, b.legs) for name, b in bodies.items()}, config)]
    order = config.legs or body.legs
    legs = _order(path, some, body, order, _rate(content, frames), config)
    points = _points(numbers, body, order)
    why = f"{width} numbers a frame: {QUADRUPED_WIDTHS[width]}"
    kind = Decision("format", "txt of motion_imitation", why, "import.format=NAME")
    height = _sole(points)
    why = (
        "import.body was given"
        if config.body != "auto"
        else f"{body.up} of its base points up, its feet are at {height:.2f} m"
    )
    whose = Decision("body", body.words, why, "import.body=a1")
    return Clip(points, body.rest_hips(), _rate(content, frames), *_cycle(content), (kind, whose, legs))


def _candidates(config: ImportConfig) -> dict[str, RobotBody]:
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


def _points(numbers: Array, body: RobotBody, legs: tuple[str, ...]) -> Array:
    return body.points_w(numbers[:, :3], numbers[:, 3:7], numbers[:, 7:19], legs)


def _sole(points: Array) -> float:
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


def _fitting(path: Path, found: dict[str, Array], config: ImportConfig) -> str:
    """The body with which the animal stands on the floor."""
    if not any(np.isfinite(points).all(axis=(1, 2)).any() for points in found.values()):
        return next(iter(found))  # The frames are named as bad later.
    soles = {name: _sole(points) for name, points in found.items()}
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


def _order(
    path: Path, numbers: Array, body: RobotBody, order: tuple[str, ...], fps: Fact | None, config: ImportConfig
) -> Decision:
    """Check the order of the legs: feet on the floor hardly slide in the right one.

    Raises:
        BadInputError: they slide, and hardly do in another order.
    """
    rate = config.fps or (float(fps.value) if fps is not None else 30.0)
    slides = {legs: _slide(_points(numbers, body, legs), rate) for legs in dict.fromkeys((order, *ORDERS))}
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


def _slide(points: Array, fps: float) -> float:
    """Median speed of the lowest foot over the floor [m/s]."""
    feet = points.reshape(len(points), 4, 3, 3)[:, :, 2]
    feet = feet[np.isfinite(feet).all(axis=(1, 2))]
    if len(feet) < 2:
        return 0.0
    lowest = (feet[1:, :, 2] + feet[:-1, :, 2]).argmin(axis=1)
    speed = np.linalg.norm(np.diff(feet[..., :2], axis=0), axis=-1)
    return float(np.median(speed[np.arange(len(lowest)), lowest]) * fps)


def _rate(content: dict[str, Any], frames: Array) -> Fact | None:
    """Frame rate [Hz] by the file; the dog's frames, and those of 20 numbers, begin with their duration."""
    told = content.get("FrameDuration")
    duration = float(told) if isinstance(told, (int, float)) and not isinstance(told, bool) else 0.0
    if np.isfinite(duration) and duration > 1e-6:
        return snapped(1.0 / duration, f"FrameDuration {duration:g} s")
    if frames.shape[1] not in (20, DOG_WIDTH):
        return None
    return rate_of(frames[:, 0], "the first number of each frame")[0]


def _cycle(content: dict[str, Any]) -> tuple[bool, bool]:
    """Whether a clip is a cycle, and whether the heading goes on from one to the next."""
    wraps = str(content.get("LoopMode", content.get("Loop", ""))).lower() == "wrap"
    return wraps, content.get("EnableCycleOffsetRotation", True) is not False


def _size(pos: Array) -> tuple[float, float]:
    """Mean length of the legs along their bones, and of the trunk [m]."""
    legs = pos.reshape(len(pos), 4, 3, 3)
    hips = legs[:, :, 0]
    trunk = np.linalg.norm(hips[:, 0] + hips[:, 1] - hips[:, 2] - hips[:, 3], axis=-1) / 2.0
    bones = np.linalg.norm(np.diff(legs, axis=2), axis=-1).sum(axis=-1)
    return float(np.median(bones)), float(np.median(trunk))


def _repeat(
    pos: Array, leg: float, fps: float, cycle: bool, turns: bool, config: ImportConfig
) -> tuple[Array, Decision]:
    """Do a cycle several times in a row, each time from where the last one ended."""
    change = "import.repeat=4"
    seconds = (len(pos) - 1) / fps
    turn, shift = _from_first_to_last(pos, turns)
    gap = float(np.linalg.norm(pos[-1] - (pos[0] @ turn.T + shift), axis=-1).max())
    times = config.repeat
    if times is None:
        if not cycle:
            return pos, Decision("cycle", "once", "the file does not say that it is a cycle", change)
        if seconds >= ENOUGH:
            return pos, Decision("cycle", "once", f"a cycle of {seconds:.1f} s is long enough", change)
        if gap > CYCLE * leg:
            why = f"the file says that it is a cycle, but its ends are {100 * gap:.0f} cm apart"
            return pos, Decision("cycle", "once", why, change)
        times = int(np.ceil(ENOUGH / seconds))
    pieces = [pos]
    for _ in range(times - 1):
        pieces.append(pieces[-1] @ turn.T + shift)
    # The last frame of a piece and the first of the next are the same moment; what they differ by is shared out.
    ramp = np.linspace(0.0, 1.0, len(pos))[:, None, None]
    for i, (before, after) in enumerate(pairwise(pieces)):
        pieces[i] = before + 0.5 * np.clip(2.0 * ramp - 1.0, 0.0, 1.0) * (after[0] - before[-1])
        pieces[i + 1] = after + 0.5 * np.clip(1.0 - 2.0 * ramp, 0.0, 1.0) * (before[-1] - after[0])
    joined = np.concatenate([pieces[0], *(piece[1:] for piece in pieces[1:])])
    why = "import.repeat was given" if config.repeat is not None else "the file says that it is a cycle"
    return joined, Decision("cycle", f"{times} times", f"{why} of {seconds:.2f} s", change)


def _from_first_to_last(pos: Array, turns: bool) -> tuple[Array, Array]:
    """Turn about the vertical (if any) and shift over the floor that take the first frame's trunk to the last one's."""
    ends = pos[[0, -1]].reshape(2, 4, 3, 3)[:, :, 0]
    yaw = [float(np.arctan2(ahead[1], ahead[0])) for ahead in trunk_frames(ends)[:, :, 0]]
    turn = _about_vertical(yaw[1] - yaw[0] if turns else 0.0)
    middle = ends.mean(axis=1)
    shift = middle[1] - turn @ middle[0]
    shift[2] = 0.0
    return turn, shift


def _tilt(rest_hips: Array) -> Array:
    """Rotation (3, 3) by which the hips' own frame is tilted in a trunk at rest: a dog's shoulders are lower."""
    frame = trunk_frames(rest_hips[None])[0]
    return _about_vertical(-float(np.arctan2(frame[1, 0], frame[0, 0]))) @ frame


def _about_vertical(angle: float) -> Array:
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])


def _place(pos: Array, turn: Array) -> tuple[Array, Array, list[Decision]]:
    """Turn to +X, move over the origin, put the lowest foot of the clip on the floor."""
    angle = float(np.arctan2(turn[0, 1, 0], turn[0, 0, 0]))
    back = _about_vertical(-angle)
    pos, turn = pos @ back.T, back @ turn
    legs = pos.reshape(len(pos), 4, 3, 3)
    low = float(np.percentile(legs[:, :, 2, 2].min(axis=1), 5))
    middle = legs[0, :, 0].mean(axis=0)
    pos = pos - np.array([middle[0], middle[1], low])
    return (
        pos,
        turn,
        [
            Decision("facing", "+X", f"the trunk in the first frame; turned by {-np.degrees(angle):.0f} degrees"),
            Decision("floor", f"{low:+.3f} m", "height of the lowest feet, moved to zero"),
        ],
    )
