"""Curves and bars made of characters.

What enters: numbers and a width. What leaves: text of that width.
"""

from __future__ import annotations

from collections.abc import Sequence

BLOCKS = "▁▂▃▄▅▆▇█"
_ASCII_BLOCKS = "_.-=+*%#"
_EIGHTHS = " ▏▎▍▌▋▊▉"


def sparkline(values: Sequence[float | None], width: int, ascii_only: bool = False) -> str:
    """Draw values as a curve one line high, from their least to their greatest.

    Args:
        values: oldest first; None leaves a gap.
        width: characters; more values than that are averaged in equal groups, fewer take one character each.
        ascii_only: for terminals without block characters.

    Returns:
        At most ``width`` characters.
    """
    blocks = _ASCII_BLOCKS if ascii_only else BLOCKS
    means = [_mean(group) for group in _groups(values, width)]
    known = [mean for mean in means if mean is not None]
    if not known:
        return ""
    low, high = min(known), max(known)
    # What hardly varies is drawn flat in the middle: rounding noise is no trend.
    if high - low <= 1e-9 * max(abs(high), abs(low)):
        return "".join(" " if mean is None else blocks[3] for mean in means)
    scale = (len(blocks) - 1) / (high - low)
    return "".join(" " if mean is None else blocks[round((mean - low) * scale)] for mean in means)


def _groups(values: Sequence[float | None], width: int) -> list[Sequence[float | None]]:
    count = min(width, len(values))
    edges = [round(i * len(values) / count) for i in range(count + 1)] if count > 0 else [0]
    return [values[edges[i] : edges[i + 1]] for i in range(len(edges) - 1)]


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def bar(share: float, width: int, ascii_only: bool = False) -> str:
    """Draw a share in [0, 1] as a bar of at most ``width`` characters, to an eighth of one."""
    eighths = round(8 * width * min(max(share, 0.0), 1.0))
    if ascii_only:
        return "#" * round(eighths / 8)
    return "█" * (eighths // 8) + _EIGHTHS[eighths % 8].strip()
