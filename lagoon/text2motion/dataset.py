"""Captioned clips from a data folder, checked for licence and quality.

What enters: NAME.npz and NAME.jsonl of a data folder, y-up. What leaves: Clip objects, Z-up and X-forward,
with lagoon's joint names. The only place where the folder's axes and names are converted.
"""

from __future__ import annotations

import hashlib
import json
import re
import zipfile
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from lagoon.errors import BadInputError, CorruptFileError
from lagoon.motion import bones
from lagoon.motion.axes import to_z_up
from lagoon.motion.skeleton import JOINT_NAMES
from lagoon.text2motion import features
from lagoon.text2motion.config import DATA_SETS, FPS

MAX_JITTER = 0.0032
"""Largest jitter [m] of a clip that is kept, see jitter(): about five times the median of the data."""
MAX_SLIDE = 0.6
"""Largest slide [m/s] of a clip that is kept, see slide()."""
MAX_SINK = 0.08
"""Deepest a joint may lie below the floor [m] in the worst frame of a clip that is kept."""
FEWEST_CLEAN = 3
"""A verb with fewer clean clips than this keeps its uneven ones."""
MAX_WINDOWS = 4
"""Most windows kept of one long recording; all of them carry the recording's one caption."""
HELD_OUT_SHARE = 0.08
"""Share of recordings kept back for evaluation, among verbs with at least MIN_RECORDINGS of them."""
MIN_RECORDINGS = 6
"""Verbs with fewer recordings are trained on whole; the held-out numbers say nothing about them."""


_MISSPELT = {"peron": "person", "lateralyl": "laterally", "athlet": "athlete"}
"""Slips in the captions of the data sets; a refusal shows captions to the user as known commands."""


def spelled(caption: str) -> str:
    """A caption with its known slips corrected."""
    return re.sub(r"[a-z]+", lambda word: _MISSPELT.get(word[0], word[0]), caption)


@dataclass(frozen=True)
class Clip:
    """One captioned motion of the data set."""

    id: str
    """Unique name; windows of one recording share what stands before '#'."""
    verb: str
    """Short imperative that names the kind of motion: the first caption."""
    captions: tuple[str, ...]
    """Texts that describe it."""
    joint_pos_w: NDArray[np.float64]
    """(T, 22, 3) joint positions in world [m], Z-up, facing +X over the origin at frame 0."""
    source: str
    """Name of the collection it comes from."""
    license: str
    """Licence of that collection."""

    @property
    def recording(self) -> str:
        """Name of the recording that this clip is a window of, or the clip itself."""
        return self.id.split("#")[0]

    @property
    def seconds(self) -> float:
        """Duration [s]."""
        return (len(self.joint_pos_w) - 1) / FPS


def lagoon_name(name: str) -> str:
    """Joint name of the folder ('l_hip') in lagoon's skeleton ('left_hip')."""
    for short, full in (("l_", "left_"), ("r_", "right_")):
        if name.startswith(short):
            return full + name.removeprefix(short)
    return name


def read_set(folder: Path, name: str) -> list[Clip]:
    """Read one set of the data folder.

    Raises:
        BadInputError: the folder lacks the set, or its joints or frame rate are others than expected.
        CorruptFileError: a file cannot be read or the two files do not fit each other.
    """
    arrays_path, captions_path = folder / f"{name}.npz", folder / f"{name}.jsonl"
    missing = [path.name for path in (arrays_path, captions_path) if not path.is_file()]
    if missing:
        raise BadInputError(
            f"The data folder {folder} lacks {', '.join(missing)}. Expected NAME.npz and NAME.jsonl for NAME among "
            f"{', '.join(DATA_SETS)}. Give the folder with data=FOLDER."
        )
    try:
        with np.load(arrays_path, allow_pickle=False) as archive:
            arrays = {key: archive[key] for key in archive.files}
        lines = [json.loads(line) for line in captions_path.read_text(encoding="utf-8").splitlines() if line.strip()]
        joints = [lagoon_name(str(joint)) for joint in arrays["joint_names"]]
        starts, lengths, fps = arrays["start"], arrays["length"], float(arrays["fps"])
        root, local = arrays["root"], arrays["local"]
    except (ValueError, OSError, KeyError, zipfile.BadZipFile, json.JSONDecodeError) as error:
        raise CorruptFileError(f"The set '{name}' in {folder} cannot be read ({error}). Copy it again.") from error
    if len(lines) != len(starts):
        raise CorruptFileError(f"{captions_path} has {len(lines)} lines for {len(starts)} clips. Copy the set again.")
    if sorted(joints) != sorted(JOINT_NAMES) or fps != FPS:
        raise BadInputError(
            f"{arrays_path} holds joints {', '.join(joints)} at {fps:g} fps; expected those of lagoon.motion.skeleton "
            f"at {FPS:g} fps. Convert the set first."
        )
    order = [joints.index(joint) for joint in JOINT_NAMES]
    clips = []
    for line, start, length in zip(lines, starts, lengths, strict=True):
        captions = tuple(spelled(str(caption)) for caption in line["captions"])
        pelvis = to_z_up(root[start : start + length])
        pos = np.concatenate([pelvis[:, None], pelvis[:, None] + to_z_up(local[start : start + length])], axis=1)
        clips.append(
            Clip(
                id=str(line["id"]),
                verb=captions[0],
                captions=captions,
                joint_pos_w=features.canonical(pos[:, order]),
                source=str(line["source"]),
                license=str(line["license"]),
            )
        )
    return clips


def jitter(joint_pos_w: NDArray[np.float64]) -> float:
    """How much a motion trembles [m]: amplitude of what alternates from frame to frame.

    The fourth difference in time of the joint positions relative to the pelvis, divided by 16: a unit
    gain at 10 Hz (every other frame), 1/16 at 3.3 Hz, and next to nothing at the speeds people move
    with. Root mean square over the frames, divided by one plus the joint's mean speed in m/s, mean over
    the joints.
    """
    if len(joint_pos_w) < 8:
        return 0.0
    local = joint_pos_w[:, 1:] - joint_pos_w[:, :1]
    alternating = np.diff(local, 4, axis=0) / 16.0
    speed = np.linalg.norm(np.diff(joint_pos_w[:, 1:], axis=0), axis=-1).mean(0) * FPS
    return float((np.sqrt((alternating**2).sum(-1).mean(0)) / (1.0 + speed)).mean())


def slide(joint_pos_w: NDArray[np.float64]) -> float:
    """How fast the standing foot slides [m/s].

    Over the frames with a foot or ankle joint at its standing height (within 2 cm), the horizontal speed
    of the slowest of those joints; mean over those frames. Zero if no foot ever stands.
    """
    feet = joint_pos_w[:, features.FEET]
    speed = np.linalg.norm(np.gradient(feet[..., :2], axis=0), axis=-1) * FPS
    low = feet[..., 2] < np.array(features.CONTACT_HEIGHT) - 0.03
    slowest = np.where(low, speed, np.inf).min(axis=1)
    return float(slowest[low.any(axis=1)].mean()) if low.any() else 0.0


def is_clean(clip: Clip) -> bool:
    """Whether a clip trembles, slides and sinks little enough to learn from."""
    pos = clip.joint_pos_w
    return jitter(pos) <= MAX_JITTER and slide(pos) <= MAX_SLIDE and float(pos[..., 2].min()) >= -MAX_SINK


def cap_windows(clips: list[Clip], most: int = MAX_WINDOWS) -> list[Clip]:
    """Keep at most so many windows of one recording, spread evenly over it."""
    by_recording: dict[str, list[Clip]] = {}
    for clip in clips:
        by_recording.setdefault(clip.recording, []).append(clip)
    kept = []
    for windows in by_recording.values():
        picks = np.unique(np.round(np.linspace(0, len(windows) - 1, min(most, len(windows)))).astype(int))
        kept.extend(windows[i] for i in picks)
    return kept


def split(clips: list[Clip]) -> tuple[list[Clip], list[Clip]]:
    """Training and held-out clips, by recording, the same on every machine.

    A recording is held out when the hash of its name says so and its verb has enough others.
    """
    recordings: dict[str, set[str]] = {}
    for clip in clips:
        recordings.setdefault(clip.verb, set()).add(clip.recording)
    held_out = {
        clip.recording
        for clip in clips
        if len(recordings[clip.verb]) >= MIN_RECORDINGS
        and int(hashlib.sha256(clip.recording.encode()).hexdigest()[:8], 16) / 2**32 < HELD_OUT_SHARE
    }
    train = [clip for clip in clips if clip.recording not in held_out]
    return train, [clip for clip in clips if clip.recording in held_out]


def clean(clips: list[Clip], fewest: int = FEWEST_CLEAN) -> list[Clip]:
    """Drop the clips that are not clean, but never leave a verb without motion.

    A verb with fewer than ``fewest`` clean clips keeps all of its own: an uneven example teaches more than none.
    """
    flags = [is_clean(clip) for clip in clips]
    counts: dict[str, int] = {}
    for clip, flag in zip(clips, flags, strict=True):
        counts[clip.verb] = counts.get(clip.verb, 0) + flag
    return [clip for clip, flag in zip(clips, flags, strict=True) if flag or counts[clip.verb] < fewest]


def load(folder: Path, sets: tuple[str, ...]) -> list[Clip]:
    """All clean clips of the named sets, with near-duplicate windows capped."""
    return cap_windows(clean([clip for name in sets for clip in read_set(folder, name)]))


def bone_lengths(clips: list[Clip]) -> NDArray[np.float64]:
    """(21,) lengths [m] of the bones from joint 1..21 to their parents: medians over the clips."""
    samples = np.concatenate([clip.joint_pos_w[:: max(1, len(clip.joint_pos_w) // 4)] for clip in clips])
    return np.median(bones.bone_lengths(samples), axis=0)


def with_motion(clip: Clip, suffix: str, joint_pos_w: NDArray[np.float64], captions: tuple[str, ...]) -> Clip:
    """A clip made from another: new motion and texts, same verb, source and licence."""
    return replace(clip, id=f"{clip.id}+{suffix}", joint_pos_w=joint_pos_w, captions=captions)
