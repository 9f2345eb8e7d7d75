"""Writes pictures to mp4 files.

What enters: uint8 pictures and a frame rate. What leaves: an H.264 mp4 that browsers play, whole or not
at all.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from lagoon.errors import BadInputError, LagoonError, require
from lagoon.paths import atomic_path

BLOCK = 16
"""Encoders work on squares of this many pixels; other sizes would be rescaled."""


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
            ffmpeg_log_level="error",
            output_params=["-crf", str(quality), "-preset", "veryfast", "-movflags", "+faststart"],
        )
        count = 0
        try:
            writer.send(None)
            for frame in _chain(first, iterator):
                writer.send(np.ascontiguousarray(frame))
                count += 1
        except OSError as error:
            raise LagoonError(
                f"The video encoder stopped while writing {target}: {error}. Is the disk full?"
            ) from error
        finally:
            writer.close()
    return count


def _chain(first: NDArray[np.uint8], rest: Iterable[NDArray[np.uint8]]) -> Iterable[NDArray[np.uint8]]:
    yield first
    yield from rest
