"""Writes candidates.html: the motions that were sampled for a command, side by side on one clock.

What enters: human motions with a label and numbers each. What leaves: one page that needs no network, made with
the means of preview.html.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from lagoon.errors import BadInputError
from lagoon.motion.human_motion import HumanMotion
from lagoon.paths import write_text
from lagoon.sim.figures import human_figure
from lagoon.studio.preview_html import make_page
from lagoon.studio.show import MOTION, Curves, Show, ShowText, Track

FPS = 20.0
"""Moments per second of the page [Hz]."""


@dataclass(frozen=True)
class Entry:
    """One motion of the page."""

    label: str
    """A few words above it."""
    numbers: str
    """Its scores, in one line."""
    motion: HumanMotion


def write_candidate_page(target: Path, title: str, entries: Sequence[Entry]) -> Path:
    """Write the page; shorter motions hold their last pose.

    Args:
        target: file to write.
        title: the command; never trusted, always escaped.
        entries: at least one motion.

    Raises:
        BadInputError: there is no motion.
        LagoonError: the file cannot be written.
    """
    if not entries:
        raise BadInputError("There are no candidates to show. Generate the motion again with --again.")
    count = max(2, int(max(entry.motion.duration for entry in entries) * FPS + 1e-6) + 1)
    tracks = []
    for number, entry in enumerate(entries):
        figure, poses = human_figure(entry.motion)
        moments = np.arange(count) / FPS * entry.motion.fps
        tracks.append(Track(f"candidate{number}", entry.label, figure, poses.sample(moments)))
    empty = Curves(None, None, None, None, None)
    show = Show(FPS, count, ((MOTION, 0.0),), tuple(tracks), empty, (), None)
    words = ShowText(title, "", f"{len(entries)} candidates, best first", {e.label: e.numbers for e in entries})
    write_text(target, make_page(show, words))
    return target
