"""Builds preview.html: one file, no network, an orbit view of every figure and plots beside it.

What enters: a Show and words. What leaves: the text of a page. Poses are embedded as 16-bit integers in
base64; every word from outside is escaped, and a content security policy forbids the page to load
anything.
"""

from __future__ import annotations

import base64
import html
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lagoon.sim.figures import Figure, Poses
from lagoon.sim.render import GHOST, TO_LIGHT, follow
from lagoon.studio.show import Show, ShowText, Track

_PAGE = Path(__file__).resolve().parent / "page"
_STEPS = 32767
"""Largest 16-bit integer: the resolution of embedded numbers is range / 32767, below 0.2 mm for 5 m."""


def make_page(show: Show, words: ShowText) -> str:
    """Return the text of preview.html."""
    # Only markers of the template itself are replaced: it is split at them before anything is put in.
    parts = {
        "STYLE": _asset("preview.css"),
        "SCRIPT": "\n".join(_asset(name) for name in ("scene.js", "plots.js", "preview.js")),
        "DATA": _script_json(_payload(show) | _demands(show, words)),
        "TITLE": html.escape(_short(words.command) or "preview"),
        "COMMAND": html.escape(words.command) or "preview",
        "VERDICT": _verdict(words),
        "NUMBERS": _numbers(words),
    }
    pieces = _asset("preview.html").split("@@")
    return "".join(parts[piece] if i % 2 else piece for i, piece in enumerate(pieces))


def _asset(name: str) -> str:
    return (_PAGE / name).read_text(encoding="utf-8")


def _short(text: str, limit: int = 80) -> str:
    text = " ".join(text.split())
    return text if len(text) <= limit else text[: limit - 1] + "\u2026"


def _verdict(words: ShowText) -> str:
    if not words.verdict and not words.note:
        return ""
    kind = "good" if words.verdict.upper() == "PASS" else "bad"
    badge = f'<span class="badge {kind}">{html.escape(words.verdict)}</span>' if words.verdict else ""
    return f"{badge}<span>{html.escape(words.note)}</span>"


def _numbers(words: ShowText) -> str:
    rows = (
        f"<div><dt>{html.escape(str(name))}</dt><dd>{html.escape(str(value))}</dd></div>"
        for name, value in (*words.numbers.items(), *words.fix.items())
    )
    return "".join(rows)


def _script_json(value: Any) -> str:
    """JSON that may stand inside a script element: no <, > or & can end it or open a comment."""
    text = json.dumps(value, ensure_ascii=True, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _payload(show: Show) -> dict[str, Any]:
    figures: list[dict[str, Any]] = []
    for track in show.tracks:
        first = next((i for i, other in enumerate(show.tracks) if other.figure is track.figure), 0)
        entry = _track(show, track)
        # The two robots share their shapes.
        entry["figure"] = first if show.tracks[first] is not track else _figure(track.figure)
        figures.append(entry)
    curves = show.curves
    return {
        "fps": show.fps,
        "count": show.count,
        "segments": [[name.replace("_", " "), round(start, 3)] for name, start in show.segments],
        "tracks": figures,
        "light": TO_LIGHT.tolist(),
        "ghost": [round(255 * v) for v in GHOST[:3]],
        "feet": list(show.foot_names),
        "fellAt": show.fell_at,
        "curves": {
            "heightReference": _curve(curves.height_reference),
            "heightPolicy": _curve(curves.height_policy),
            "jointError": _curve(curves.joint_error),
            "contactReference": _bits(curves.contact_reference),
            "contactPolicy": _bits(curves.contact_policy),
        },
    }


def _demands(show: Show, words: ShowText) -> dict[str, Any]:
    """Curves on the show's clock, and reasons, the strings as data: the page sets them as text."""
    reasons = [[round(start, 3), round(end, 3), text] for start, end, text in words.reasons]
    before = _stretched(words.before, show.count) if words.fix else {}
    return {"demands": _stretched(words.demands, show.count), "before": before, "reasons": reasons}


def _stretched(curves: Mapping[str, Sequence[float]], count: int) -> dict[str, list[float]]:
    """Each curve at ``count`` moments, from its first to its last value."""
    moments = np.linspace(0.0, 1.0, count)
    return {
        name: [round(float(v), 3) for v in np.interp(moments, np.linspace(0.0, 1.0, len(values)), values)]
        for name, values in curves.items()
        if len(values) > 1
    }


def _track(show: Show, track: Track) -> dict[str, Any]:
    cameras = follow(track.poses, track.figure, show.fps, ghost=track.ghost)
    return {
        "name": track.name,
        "label": track.label,
        "poses": _poses(track.poses),
        "ghostShift": None if track.ghost is None else _packed(track.ghost.pos[:, 0] - track.poses.pos[:, 0]),
        "target": _packed(np.array([camera.target_w for camera in cameras])),
        "distance": round(cameras[0].distance, 4),
    }


def _figure(figure: Figure) -> list[dict[str, Any]]:
    return [
        {
            "kind": shape.kind,
            "size": [round(v, 5) for v in shape.size],
            "frame": shape.frame,
            "pos": [round(v, 5) for v in shape.pos],
            "quat": [round(v, 5) for v in shape.quat],
            "rgb": [round(255 * v) for v in shape.rgba[:3]],
        }
        for shape in figure.shapes
    ]


def _poses(poses: Poses) -> dict[str, Any]:
    return {"frames": poses.pos.shape[1], "pos": _packed(poses.pos), "quat": _packed(poses.quat)}


def _packed(array: NDArray[np.float64]) -> dict[str, Any]:
    """Numbers as little-endian int16 in base64, with the scale and offset to get them back."""
    low, high = float(array.min()), float(array.max())
    middle, scale = (low + high) / 2, max((high - low) / 2, 1e-9) / _STEPS
    whole = np.round((array - middle) / scale).astype("<i2")
    return {"offset": middle, "scale": scale, "data": base64.b64encode(whole.tobytes()).decode("ascii")}


def _curve(values: NDArray[np.float64] | None) -> list[float | None] | None:
    if values is None:
        return None
    return [round(float(v), 4) if np.isfinite(v) else None for v in values]


def _bits(contact: NDArray[np.bool_] | None) -> list[str] | None:
    """One string of 0 and 1 for each foot."""
    if contact is None:
        return None
    return ["".join("1" if on else "0" for on in foot) for foot in contact.T]
