"""Reads results.npy of MDM (Tevet et al. 2023) and models that write the same: several motions at 20 fps, Y up.

What enters: an npy file with a pickled dictionary (motion, text, lengths). What leaves: a RawMotion of one of them.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from lagoon.errors import BadInputError, CorruptFileError
from lagoon.importers.array_file import objects_of
from lagoon.importers.config import ImportConfig
from lagoon.importers.humanml3d import joints_of
from lagoon.importers.pickled import numbers, read_pickle
from lagoon.importers.raw import RawMotion
from lagoon.motion.skeleton import JOINT_NAMES


def read(path: Path, config: ImportConfig) -> RawMotion:
    """Read the motion number ``config.clip``.

    Raises:
        BadInputError: no such motion, or joints that are not HumanML3D's.
        CorruptFileError: it is damaged, or holds more than arrays.
    """
    data, _ = objects_of(path)
    found = read_pickle(path, data)
    motion = numbers(found.get("motion")) if isinstance(found, dict) else None
    if motion is None or motion.ndim != 4:
        shape = "none" if motion is None else f"of shape {motion.shape}"
        raise BadInputError(
            f"{path.name}: motion is {shape}; expected (motions, 22, 3, frames) as in MDM's results.npy."
        )
    count, joints, axes, frames = motion.shape
    if axes != 3 or joints != len(JOINT_NAMES):
        raise BadInputError(
            f"{path.name}: motion has shape {motion.shape}; expected (motions, 22, 3, frames). Sample with the data "
            "set humanml, and without saving features."
        )
    if config.clip >= count:
        raise BadInputError(
            f"{path.name} holds {count} motions; import.clip={config.clip} is not one of 0 to {count - 1}."
        )
    length = frames
    lengths = numbers(found.get("lengths"))
    if lengths is not None and lengths.size == count:
        told = lengths.reshape(-1)[config.clip]
        if not 1 <= told <= frames:
            raise CorruptFileError(f"{path.name}: the motion's length is {told:g}; expected 1 to {frames} frames.")
        length = int(told)
    text = _text(found.get("text"), config.clip)
    kind = f"MDM results.npy, motion {config.clip} of {count}" + (f": {text!r}" if text else "")
    pos = np.ascontiguousarray(motion[config.clip].transpose(2, 0, 1)[:length])
    return joints_of(pos, kind)


def _text(texts: Any, clip: int) -> str:
    if isinstance(texts, (list, np.ndarray)) and clip < len(texts):
        return " ".join(str(texts[clip]).split())[:60]
    return ""
