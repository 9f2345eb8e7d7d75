"""The report of a suite as one HTML page that needs no network.

What enters: summaries, what each training took, videos by path. What leaves: the text of the page.
"""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence

from lagoon.deploy.suite import METRICS, NOMINAL, OTHER, RANDOMIZED, Result, Summary

STYLE = """
body { font: 15px/1.45 system-ui, sans-serif; margin: 2rem auto; max-width: 1200px; padding: 0 1rem; color: #1d2530; }
table { border-collapse: collapse; width: 100%; margin: 1rem 0 2rem; }
th, td { text-align: left; padding: .35rem .6rem; border-bottom: 1px solid #d8dee6; vertical-align: top; }
td.n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.pass { color: #0a6b3d; } .fail { color: #a3271f; } small { color: #5b6776; }
video { width: 320px; max-width: 100%; margin: 0 .5rem .5rem 0; background: #eef1f5; }
@media (prefers-color-scheme: dark) { body { background: #14181d; color: #dfe5ec; }
 th, td { border-color: #333c47; } .pass { color: #5fd39a; } .fail { color: #ff8a80; } small { color: #98a4b3; }
 video { background: #20262d; } }
"""


def page(
    summaries: Sequence[Summary],
    rows: Sequence[Result],
    missing: Sequence[str],
    training: Mapping[tuple[str, int], str],
    videos: Mapping[tuple[str, int], str],
) -> str:
    """Write the page.

    Args:
        summaries: by command and condition.
        rows: single results, for what is said about falls.
        missing: what was asked for and has no policy, in words.
        training: steps and time of each (command, seed), in words.
        videos: path of each (command, seed)'s video, relative to the page.
    """
    commands = list(dict.fromkeys(item.command for item in summaries))
    found = {(item.command, item.condition): item for item in summaries}
    text = html.escape
    kinds = (NOMINAL, RANDOMIZED, OTHER)
    parts = [
        "<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport content='width=device-width'>",
        f"<title>Skills on trial</title><style>{STYLE}</style><h1>Skills on trial</h1>",
        "<p>Share of the trials that go from the four-legged stand to the four-legged stand without a fall: mean over "
        "training seeds, with its 95 % interval over seeds (Student's t) where there are two or more. The exported "
        "policy runs without noise of its own.</p><table><tr><th>command",
        *(f"<th>{text(kind)}" for kind in kinds),
        "<th>seeds that pass<th>training</tr>",
    ]
    for command in commands:
        cells = [_share(found.get((command, kind))) for kind in kinds]
        last = found.get((command, OTHER)) or found[command, next(k for k in kinds if (command, k) in found)]
        took = "<br>".join(text(words) for (name, _), words in sorted(training.items()) if name == command)
        style = "pass" if last.passed == len(last.seeds) else "fail"
        parts.append(
            f"<tr><td>{text(command)}{''.join(cells)}<td class='n {style}'>{last.passed} of {len(last.seeds)}"
            f"<td><small>{took}</small></tr>"
        )
    parts.append(f"</table><h2>Numbers, {text(OTHER)}</h2><table><tr><th>command")
    parts += [f"<th>{name}" for name in METRICS]
    for command in commands:
        if (item := found.get((command, OTHER))) is not None:
            numbers = (item.numbers[name] for name in METRICS)
            parts.append(f"</tr><tr><td>{text(command)}" + "".join(f"<td class=n>{_number(n)}" for n in numbers))
    parts.append("</tr></table><h2>What fails, and where</h2><ul>")
    parts += [f"<li>{text(line)}" for line in missing]
    parts += [
        f"<li>{text(row.command)}, seed {row.seed}, {text(row.condition)}: {text(' '.join(row.verdict))}"
        for row in rows
        if not row.passed
    ]
    parts.append("</ul><h2>Videos</h2>")
    for (command, seed), path in sorted(videos.items()):
        caption = f"<figcaption><small>{text(command)}, seed {seed}</small></figcaption>"
        video = f"<video controls preload=none src='{text(path, quote=True)}'></video>"
        parts.append(f"<figure style='display:inline-block;margin:0'>{video}{caption}</figure>")
    return "".join(parts) + "</html>\n"


def _share(item: Summary | None) -> str:
    if item is None:
        return "<td class=n>not run"
    interval = "" if item.interval is None else f" <small>{_percent(item.interval[0])} to {_percent(item.interval[1])}"
    return f"<td class=n>{_percent(item.survival)}{interval}{'</small>' if interval else ''}"


def _percent(value: float) -> str:
    return f"{100.0 * value:.1f} %"


def _number(value: float | None) -> str:
    return "none" if value is None else f"{value:.3g}"
