"""Settings of the preview and of the browser viewer."""

from __future__ import annotations

from dataclasses import dataclass

from lagoon.errors import BadSettingError


@dataclass(frozen=True)
class PreviewConfig:
    """How preview.mp4, preview.png and preview.html are made."""

    fps: float = 25.0
    """Pictures per second of the video, and moments per second of the page [Hz]."""
    column_width: int = 320
    """Width of each of the three columns of the video [pixel]; a multiple of 16."""
    column_height: int = 352
    """Height of a column [pixel]; with the bars of 40 and 24 a multiple of 16."""
    supersample: int = 2
    """Each pixel is the mean of this many squared; 1 is faster and jagged."""
    quality: int = 27
    """H.264 constant rate factor, 0 lossless to 51 worst."""
    poster_frames: int = 8
    """Pictures side by side in preview.png."""
    video: bool = True
    """False writes the page alone."""

    def __post_init__(self) -> None:
        """Refuse what cannot be encoded.

        Raises:
            BadInputError: a value is out of range.
        """
        if not 1.0 <= self.fps <= 60.0:
            raise BadSettingError.of(self, "fps", "1 to 60 Hz")
        for name in ("column_width", "column_height"):
            if getattr(self, name) % 16 or getattr(self, name) < 160:
                raise BadSettingError.of(self, name, "a multiple of 16, at least 160")
        if not 1 <= self.supersample <= 4:
            raise BadSettingError.of(self, "supersample", "1 to 4")
        if not 0 <= self.quality <= 51:
            raise BadSettingError.of(self, "quality", "0 to 51")
        if not 1 <= self.poster_frames <= 24:
            raise BadSettingError.of(self, "poster_frames", "1 to 24")


@dataclass(frozen=True)
class PlayConfig:
    """How the browser viewer behaves."""

    host: str = "127.0.0.1"
    """Address to listen on; 0.0.0.0 lets other machines in."""
    port: int = 8080
    """Port to listen on."""
    fps: float = 30.0
    """Updates per second sent to the browser [Hz]."""
    loop: bool = True
    """Start again after the end and after a fall."""
    pause_at_end: float = 1.5
    """Seconds between the end, or a fall, and the new start."""
    human_scale: float = 0.5
    """Size of the person in the viewer; 1 is life size, and dwarfs the robot."""
    spacing: float = 0.9
    """Distance between the three figures [m]."""

    def __post_init__(self) -> None:
        """Refuse what cannot be shown.

        Raises:
            BadInputError: a value is out of range.
        """
        if not self.host.strip():
            raise BadSettingError.of(self, "host", "an address such as 127.0.0.1, or 0.0.0.0 for all")
        if not 1 <= self.port <= 65535:
            raise BadSettingError.of(self, "port", "1 to 65535, for example 8080")
        if not 1.0 <= self.fps <= 120.0:
            raise BadSettingError.of(self, "fps", "1 to 120 Hz")
        if not 0.1 <= self.human_scale <= 2.0:
            raise BadSettingError.of(self, "human_scale", "0.1 to 2")
        if self.pause_at_end < 0:
            raise BadSettingError.of(self, "pause_at_end", "0 or more")
        if self.spacing <= 0:
            raise BadSettingError.of(self, "spacing", "more than 0")
