"""Writes pictures to mp4 files.

What enters: uint8 pictures and a frame rate. What leaves: an H.264 mp4 that browsers play, whole or not
at all.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lagoon.errors import BadInputError, LagoonError, require
from lagoon.paths import atomic_path

BLOCK = 16
"""Encoders work on squares of this many pixels; other sizes would be rescaled."""

_ADVICE = "Is the disk full? Free some space, or choose another folder, and run the same command again."


def write_video(target: Path, frames: Iterable[NDArray[np.uint8]], fps: float, quality: int = 27) -> int:
    """Encode pictures (H, W, 3), all of one size, and return how many there were.

    Args:
        target: path ending in .mp4.
        frames: the pictures, in order; may be a generator.
        fps: pictures per second [Hz].
        quality: H.264 constant rate factor, 0 lossless to 51 worst.

    Raises:
        BadInputError: no picture, or sides that are not multiples of 16.
        LagoonError: the encoder failed.
        MissingExtraError: imageio-ffmpeg is not installed.
    """
    ffmpeg = require("imageio_ffmpeg", "viewer")
    iterator = iter(frames)
    first = next(iterator, None)
    if first is None:
        raise BadInputError(f"There are no pictures for {target}. A video needs at least one.")
    height, width = first.shape[:2]
    if width % BLOCK or height % BLOCK:
        raise BadInputError(f"Pictures are {width}x{height}; a video needs sides that are multiples of {BLOCK}.")
    with atomic_path(target) as temporary:
        writer = ffmpeg.write_frames(
            str(temporary),
            (width, height),
            fps=fps,
            codec="libx264",
            quality=None,
            pix_fmt_out="yuv420p",
            macro_block_size=BLOCK,
            ffmpeg_log_level="quiet",
            output_params=["-crf", str(quality), "-preset", "veryfast", "-movflags", "+faststart"],
        )
        count = 0
        try:
            writer.send(None)
            for frame in _chain(first, iterator):
                writer.send(np.ascontiguousarray(frame))
                count += 1
        except OSError as error:
            reason = str(error).splitlines()[0]
            raise LagoonError(f"The video encoder stopped while writing {target}: {reason}. {_ADVICE}") from error
        finally:
            writer.close()
        _check(ffmpeg, temporary, count, target)
    return count


def _check(ffmpeg: Any, path: Path, count: int, target: Path) -> None:
    """Count the pictures in the file, since an encoder that runs out of disk at the very end says nothing."""
    try:
        found = ffmpeg.count_frames_and_secs(str(path))[0]
    except RuntimeError:
        found = 0
    if found != count:
        raise LagoonError(f"The video for {target} holds {found} of {count} pictures. {_ADVICE}")


def _chain(first: NDArray[np.uint8], rest: Iterable[NDArray[np.uint8]]) -> Iterable[NDArray[np.uint8]]:
    yield first
    yield from rest
