"""Clip of an animal or of another robot on four legs to QuadrupedMotion: the main path, top to bottom.

What enters: DeepMimic's txt of its dog, txt of motion_imitation and its kin (base pose and twelve angles a frame), and
ImportConfig. What leaves: hips, knees and feet over time, facing +X over the origin, and an ImportReport.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lagoon.errors import BadInputError
from lagoon.importers.config import ImportConfig
from lagoon.importers.deepmimic import odd_quaternions
from lagoon.importers.frames_json import QUADRUPED_WIDTHS, read_frames
from lagoon.importers.import_motion import ImportReport
from lagoon.importers.quadruped_bodies import DOG, DOG_WIDTH, dog_points
from lagoon.importers.quadruped_cycle import repeat_cycle
from lagoon.importers.quadruped_guess import candidates, fitting, order_of, points_of, sole
from lagoon.importers.raw import Decision, Fact
from lagoon.importers.repair import mend_spikes, without_gaps
from lagoon.importers.resample import resample
from lagoon.importers.text_file import check_size
from lagoon.importers.timing import cut, frame_rate, long_clip, rate_of, snapped
from lagoon.motion.axes import to_z_up
from lagoon.motion.quadruped_motion import QuadrupedMotion, trunk_frames
from lagoon.motion.rotations import quat_from_matrix, yaw_to_matrix
from lagoon.paths import sha256_of
from lagoon.progress import Progress, silent

Array = NDArray[np.float64]
FASTEST = 120.0
"""Clips with a higher rate [Hz] come down to half of it."""
PROBED = 2000
"""Frames by which body and order of the legs are judged."""
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
    pos, repeated = repeat_cycle(pos, leg, fps, whole, clip.turns, config)
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
    bodies = candidates(config)
    body = bodies[fitting(path, {name: points_of(some, b, b.legs) for name, b in bodies.items()}, config)]
    order = config.legs or body.legs
    legs = order_of(path, some, body, order, _rate(content, frames), config)
    points = points_of(numbers, body, order)
    why = f"{width} numbers a frame: {QUADRUPED_WIDTHS[width]}"
    kind = Decision("format", "txt of motion_imitation", why, "import.format=NAME")
    height = sole(points)
    why = (
        "import.body was given"
        if config.body != "auto"
        else f"{body.up} of its base points up, its feet are at {height:.2f} m"
    )
    whose = Decision("body", body.words, why, "import.body=a1")
    return Clip(points, body.rest_hips(), _rate(content, frames), *_cycle(content), (kind, whose, legs))


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


def _tilt(rest_hips: Array) -> Array:
    """Rotation (3, 3) by which the hips' own frame is tilted in a trunk at rest: a dog's shoulders are lower."""
    frame = trunk_frames(rest_hips[None])[0]
    return yaw_to_matrix(-float(np.arctan2(frame[1, 0], frame[0, 0]))) @ frame


def _place(pos: Array, turn: Array) -> tuple[Array, Array, list[Decision]]:
    """Turn to +X, move over the origin, put the lowest foot of the clip on the floor."""
    angle = float(np.arctan2(turn[0, 1, 0], turn[0, 0, 0]))
    back = yaw_to_matrix(-angle)
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
