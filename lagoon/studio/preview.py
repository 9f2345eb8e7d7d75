"""Writes preview.mp4, preview.png and preview.html: what was asked, planned, and done.

What enters: up to three motions and some words. What leaves: three files. Where the machine cannot
draw, the page alone is written, and the result says why.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lagoon.errors import MissingExtraError, require
from lagoon.motion.human_motion import HumanMotion
from lagoon.motion.quadruped_motion import QuadrupedMotion
from lagoon.motion.robot_motion import RobotMotion
from lagoon.paths import atomic_path, write_text
from lagoon.progress import Progress, silent
from lagoon.robot import RobotSpec
from lagoon.sim.opengl import NoOpenGLError
from lagoon.sim.render import Camera, Drawn, Renderer, follow
from lagoon.sim.video import write_video
from lagoon.studio.config import PreviewConfig
from lagoon.studio.preview_html import make_page
from lagoon.studio.show import Show, ShowText, Track, make_show

Picture = NDArray[np.uint8]
TOP, BOTTOM = 40, 24
"""Heights of the bars above and below the columns [pixel]."""
INK, PALE, PAPER, ACCENT = (31, 37, 46), (112, 121, 134), (255, 255, 255), (26, 166, 158)
GOOD, BAD = (22, 140, 90), (200, 60, 50)
SHADES = ((214, 222, 231), (160, 205, 203))
"""Colours of the stretches of the time bar: the others, and the motion itself."""


@dataclass(frozen=True)
class PreviewResult:
    """What was written."""

    page: Path
    """preview.html"""
    video: Path | None
    """preview.mp4, where the machine can draw."""
    poster: Path | None
    """preview.png, a strip of pictures, where the machine can draw."""
    message: str
    """Why there is no video; empty when there is one."""
    seconds: float
    """Wall time that it took [s]."""


def write_preview(
    folder: Path,
    human: HumanMotion | QuadrupedMotion | None,
    reference: RobotMotion | None,
    executed: RobotMotion | None,
    robot: RobotSpec,
    title: str | ShowText = "",
    progress: Progress | None = None,
    config: PreviewConfig | None = None,
) -> PreviewResult:
    """Write the previews of a skill; whatever is absent is left out.

    Args:
        folder: where to write.
        human: what the person does.
        reference: what the robot should do.
        executed: what the policy did in one run, from the reference's first frame.
        robot: which robot.
        title: the command, or a ShowText with the command, the verdict and numbers.
        progress: told the fraction done.
        config: sizes and rates.

    Raises:
        BadInputError: all three motions are absent, or one is for another robot.
        LagoonError: the folder cannot be written.
    """
    began, config, progress = time.perf_counter(), config or PreviewConfig(), progress or silent
    words = ShowText(command=title) if isinstance(title, str) else title
    show = make_show(human, reference, executed, robot, config.fps)
    page = folder / "preview.html"
    write_text(page, make_page(show, words))
    progress(0.05, "preview.html written")
    video: Path | None = folder / "preview.mp4"
    poster: Path | None = folder / "preview.png"
    message = ""
    if not config.video:
        video, poster, message = None, None, "The video is turned off (preview.video=false)."
    else:
        try:
            _draw(show, words, config, folder, progress)
        except (NoOpenGLError, MissingExtraError) as error:
            video, poster, message = None, None, str(error)
    progress(1.0, "preview done")
    return PreviewResult(page, video, poster, message, time.perf_counter() - began)


def _draw(show: Show, words: ShowText, config: PreviewConfig, folder: Path, progress: Progress) -> None:
    with Renderer(config.column_width, config.column_height, config.supersample) as renderer:
        aspect = config.column_width / config.column_height
        cameras = {
            track.name: follow(track.poses, track.figure, show.fps, aspect, track.ghost) for track in show.tracks
        }
        star = show.tracks[-1]
        strip = _strip(renderer, star, cameras[star.name], config.poster_frames)
        with atomic_path(folder / "preview.png") as temporary:
            _pillow("Image").fromarray(strip).save(temporary)
        frames = video_frames(renderer, show, words, cameras, progress)
        write_video(folder / "preview.mp4", frames, show.fps, config.quality)


def video_frames(
    renderer: Renderer,
    show: Show,
    words: ShowText,
    cameras: dict[str, list[Camera]],
    progress: Progress = silent,
) -> Iterator[Picture]:
    """Yield the T pictures of a show: a column for each track, a title above, a time bar below."""
    frame = _Frame(show, words, renderer.width, renderer.height)
    last: dict[str, tuple[bytes, Picture]] = {}
    for moment in range(show.count):
        columns = []
        for track in show.tracks:
            # A figure that holds still is not drawn again.
            camera = cameras[track.name][moment]
            key = track.poses.pos[moment].tobytes() + np.array([*camera.target_w]).tobytes()
            if track.ghost is not None:
                key += track.ghost.pos[moment].tobytes()
            if track.name not in last or last[track.name][0] != key:
                last[track.name] = (key, renderer.draw(_drawn(track, moment), camera))
            columns.append(last[track.name][1])
        yield frame.compose(columns, moment)
        if moment % 10 == 0:
            progress(0.05 + 0.94 * (moment + 1) / show.count, f"preview.mp4: picture {moment + 1} of {show.count}")


def _drawn(track: Track, moment: int, ghost: bool = True) -> list[Drawn]:
    figures = [Drawn(track.looks or track.figure, track.poses.pos[moment], track.poses.quat[moment])]
    if ghost and track.ghost is not None:
        figures.append(Drawn(track.figure, track.ghost.pos[moment], track.ghost.quat[moment], ghost=True))
    return figures


def _strip(renderer: Renderer, track: Track, cameras: list[Camera], count: int) -> Picture:
    """Pictures of one track, evenly spaced in time, side by side."""
    moments = np.linspace(0, track.poses.count - 1, count).round().astype(int)
    return np.concatenate([renderer.draw(_drawn(track, i, ghost=False), cameras[i]) for i in moments], axis=1)


def _pillow(module: str) -> Any:
    return require(f"PIL.{module}", "viewer")


class _Frame:
    """Lays columns, labels and the time bar out; what never changes is drawn once."""

    def __init__(self, show: Show, words: ShowText, width: int, height: int) -> None:
        self.show, self.width, self.height = show, width, height
        self.image, self.draw = _pillow("Image"), _pillow("ImageDraw")
        font = _pillow("ImageFont").load_default
        self.small, self.medium = font(13), font(17)
        self.total = width * len(show.tracks)
        self.still = self._still(words)

    def _still(self, words: ShowText) -> Any:
        picture = self.image.new("RGB", (self.total, self.height + TOP + BOTTOM), PAPER)
        pen = self.draw.Draw(picture)
        right = self.total - 12
        if words.verdict:
            color = GOOD if words.verdict.upper() == "PASS" else BAD
            size = pen.textlength(words.verdict, font=self.medium)
            pen.rounded_rectangle((right - size - 18, 8, right, TOP - 8), 6, fill=color)
            pen.text((right - size / 2 - 9, TOP / 2), words.verdict, PAPER, font=self.medium, anchor="mm")
            right -= int(size) + 30
        pen.text((12, TOP / 2), _fit(pen, words.command, self.medium, right - 12), INK, font=self.medium, anchor="lm")
        top = TOP + self.height
        starts = [*(start for _, start in self.show.segments), self.show.duration]
        for i, (name, start) in enumerate(self.show.segments):
            left, end = self._x(start), self._x(starts[i + 1])
            pen.rectangle((left, top, max(left, end - 2), top + BOTTOM), fill=SHADES[name == "motion"])
            label = name.replace("_", " ")
            if pen.textlength(label, font=self.small) < end - left - 8:
                pen.text(((left + end) / 2, top + BOTTOM / 2), label, INK, font=self.small, anchor="mm")
        return picture

    def _x(self, seconds: float) -> int:
        return round(self.total * min(seconds / self.show.duration, 1.0))

    def compose(self, columns: list[Picture], moment: int) -> Picture:
        seconds = moment / self.show.fps
        picture = self.still.copy()
        pen = self.draw.Draw(picture)
        for i, (track, column) in enumerate(zip(self.show.tracks, columns, strict=True)):
            left = i * self.width
            picture.paste(self.image.fromarray(column), (left, TOP))
            pen.text((left + 12, TOP + 10), track.label, INK, font=self.medium)
            note, color = self._note(track, seconds)
            pen.text((left + 12, TOP + 32), note, color, font=self.small)
            if i:
                pen.line((left, TOP, left, TOP + self.height), fill=PAPER, width=3)
        x, top = self._x(seconds), TOP + self.height
        pen.rectangle((x - 1, top, x + 1, top + BOTTOM), fill=ACCENT)
        clock = f"{seconds:4.1f} / {self.show.duration:.1f} s"
        pen.text((self.total - 12, TOP + 10), clock, PALE, font=self.small, anchor="ra")
        return np.asarray(picture)

    def _note(self, track: Track, seconds: float) -> tuple[str, tuple[int, int, int]]:
        if track.name == "policy" and self.show.fell_at is not None and seconds >= self.show.fell_at:
            return f"fell at {self.show.fell_at:.1f} s", BAD
        if track.name == "policy" and track.ghost is not None:
            return "green: the reference", PALE
        return (self.show.segment_at(seconds) if track.name == "reference" else ""), PALE


def _fit(pen: Any, text: str, font: Any, width: float) -> str:
    """Shorten a text to a width [pixel]; characters that the built-in font lacks become a dot."""
    plain = "".join(c if " " <= c <= "~" or "\u00c0" <= c <= "\u017f" else "\u00b7" for c in " ".join(text.split()))
    if pen.textlength(plain, font=font) <= width:
        return plain
    while plain and pen.textlength(plain + "...", font=font) > width:
        plain = plain[:-1]
    return plain.rstrip() + "..."
