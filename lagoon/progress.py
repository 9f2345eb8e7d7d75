"""How long work tells about itself, without knowing who listens.

What enters: a fraction done and a short message. What leaves: nothing; the CLI draws a bar from it.
"""

from __future__ import annotations

from typing import Protocol


class Progress(Protocol):
    """Called by long work now and then, from the thread that does the work."""

    def __call__(self, fraction: float, message: str = "") -> None:
        """Report progress.

        Args:
            fraction: done share in [0, 1].
            message: a few words for the line beside the bar.
        """
        ...


def silent(fraction: float, message: str = "") -> None:
    """Progress that nobody watches."""
