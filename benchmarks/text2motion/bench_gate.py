"""How often the gate lets through what it should not, and refuses what it should not.

Usage:
    python benchmarks/text2motion/bench_gate.py [FILE ...] [--json benchmarks/text2motion/gate.json]

FILE is tab-separated with a header line: a group, a label and a command. A label is a reason of refusal, or the
verb that the command means; several are joined by "|". Without FILE, the six sets beside this script. commands.tsv
is split by a hash of the command: thresholds and word lists were chosen on the calibrate half, the held-out half was
only measured. later.tsv, last.tsv, final.tsv, fresh.tsv and unseen.tsv were each written with the gate as it then was,
measured, and only then used to improve it; the JSON file keeps those first numbers under "first".
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import json
import time
from collections import Counter
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import get_args

import numpy as np
import torch

from lagoon.errors import Refusal, RefusedCommandError
from lagoon.text2motion import gate
from lagoon.text2motion.bank import CommandBank
from lagoon.text2motion.config import GenerateConfig
from lagoon.text2motion.model import load_model
from lagoon.text2motion.text_encoder import TextEncoder, default_encoder

HERE = Path(__file__).resolve().parent
SETS = ("commands", "later", "last", "final", "fresh", "unseen")
REASONS = frozenset(get_args(Refusal))


@dataclass(frozen=True)
class Row:
    """One labelled command."""

    group: str
    labels: frozenset[str]
    command: str

    @property
    def refuse(self) -> bool:
        return bool(self.labels & REASONS)


@dataclass(frozen=True)
class Result:
    """What the gate did with a row."""

    row: Row
    reason: str
    """Empty if it was accepted."""
    verb: str
    """Verb of the nearest known command; empty if it was refused."""
    seconds: float


def rows_of(path: Path) -> list[Row]:
    with path.open(encoding="utf-8", newline="") as file:
        lines = list(csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE))[1:]
    return [Row(g, frozenset(label.split("|")), c.replace("\\t", "\t")) for g, label, c in lines]


def half(command: str) -> str:
    """The half a command belongs to, by its own hash: neither order nor additions move it."""
    return "held-out" if hashlib.sha256(command.encode()).digest()[0] % 2 else "calibrate"


def ask(row: Row, bank: CommandBank, encoder: TextEncoder, threshold: float) -> Result:
    start = time.process_time()
    try:
        reading = gate.read(row.command, bank, encoder, threshold)
        reason, verb = "", reading.nearest[0].verb
    except RefusedCommandError as error:
        reason, verb = error.reason, ""
    return Result(row, reason, verb, time.process_time() - start)


def right_verb(result: Result) -> bool:
    """Whether the nearest verb is one of the labels, or begins with one ("sit" is met by "sit down")."""
    verb = result.verb.replace("karate kata", "karate")
    names = [label.replace("_", " ") for label in result.row.labels]
    return any(verb == name or verb.startswith(name.removesuffix("s")) for name in names)


def summary(results: list[Result]) -> dict:
    """Counts of one set: wrong of all, per group and per reason."""
    wanted = [r for r in results if not r.row.refuse]
    unwanted = [r for r in results if r.row.refuse]
    first = {r.row.command: sorted(r.row.labels & REASONS)[0] for r in unwanted}
    accepted = [r for r in wanted if not r.reason]
    return {
        "commands": len(results),
        "refused_wrongly": {
            group: [sum(bool(r.reason) for r in wanted if r.row.group == group), count]
            for group, count in sorted(Counter(r.row.group for r in wanted).items())
        },
        "accepted_wrongly": {
            reason: [sum(not r.reason for r in unwanted if first[r.row.command] == reason), count]
            for reason, count in sorted(Counter(first.values()).items())
        },
        "right_reason": [sum(r.reason in r.row.labels for r in unwanted), len(unwanted)],
        "right_verb": [sum(map(right_verb, accepted)), len(accepted)],
        "errors": [
            {"command": r.row.command, "label": "|".join(sorted(r.row.labels)), "got": r.reason or r.verb}
            for r in results
            if (bool(r.reason) != r.row.refuse) or (r.reason and r.reason not in r.row.labels)
        ],
    }


def own_time(commands: list[str], bank: CommandBank, encoder: TextEncoder) -> dict[str, float]:
    """CPU time of the gate's words beside the encoder [ms], once everything is loaded."""
    taken = []
    for command in commands:
        start = time.process_time()
        gate.understand(command, bank, encoder)
        taken.append(1e3 * (time.process_time() - start))
    return {"median_ms": float(np.median(taken)), "p99_ms": float(np.percentile(taken, 99)), "max_ms": max(taken)}


def total(pairs: dict[str, list[int]]) -> list[int]:
    return [sum(p[0] for p in pairs.values()), sum(p[1] for p in pairs.values())]


def share(pair: list[int]) -> str:
    return f"{pair[0]} of {pair[1]}"


def table(sets: dict[str, dict]) -> str:
    """The sets side by side."""
    groups = sorted({g for s in sets.values() for g in s["refused_wrongly"]})
    reasons = sorted({g for s in sets.values() for g in s["accepted_wrongly"]})
    lines = ["| |" + "|".join(f" {name} " for name in sets) + "|", "|---|" + "---|" * len(sets)]

    def line(name: str, cells: list[str]) -> None:
        lines.append(f"| {name} | " + " | ".join(cells) + " |")

    line("**refused wrongly**", [f"**{share(total(s['refused_wrongly']))}**" for s in sets.values()])
    for group in groups:
        line(group, [share(s["refused_wrongly"].get(group, [0, 0])) for s in sets.values()])
    line("**accepted wrongly**", [f"**{share(total(s['accepted_wrongly']))}**" for s in sets.values()])
    for reason in reasons:
        line(reason, [share(s["accepted_wrongly"].get(reason, [0, 0])) for s in sets.values()])
    line("refused for the labelled reason", [share(s["right_reason"]) for s in sets.values()])
    line("nearest known verb is the labelled one", [share(s["right_verb"]) for s in sets.values()])
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--json", type=Path, help="write the numbers here")
    parser.add_argument("--errors", nargs="*", default=[], help="print the errors of these sets")
    parser.add_argument("--only", nargs="*", default=[], help="measure these sets only")
    options = parser.parse_args()
    torch.set_num_threads(1)
    sets: dict[str, list[Row]] = {}
    for path in options.files or [HERE / f"{name}.tsv" for name in SETS]:
        for row in rows_of(path) if path.exists() else []:
            name = half(row.command) if path.name == "commands.tsv" and path.resolve().parent == HERE else path.stem
            sets.setdefault(name, []).append(row)
    sets = {name: rows for name, rows in sorted(sets.items()) if not options.only or name in options.only}
    bank, encoder, threshold = load_model("default").bank, default_encoder(), GenerateConfig().threshold
    found = {name: summary([ask(row, bank, encoder, threshold) for row in rows]) for name, rows in sets.items()}
    print(table(found))
    timing = own_time([row.command for rows in sets.values() for row in rows], bank, encoder)
    print(
        "\nthe gate's own CPU time per command, beside the encoder: "
        + ", ".join(f"{k} {v:.1f}" for k, v in timing.items())
    )
    for name in options.errors:
        for error in found.get(name, {"errors": []})["errors"]:
            print(f"{name}\t{error['label']}\t{error['got']}\t{error['command']!r}")
    if options.json:
        old = json.loads(options.json.read_text(encoding="utf-8")) if options.json.exists() else {}
        first = old.get("first", {})
        for name, counts in found.items():
            first.setdefault(name, {key: total(counts[key]) for key in ("refused_wrongly", "accepted_wrongly")})
        facts = {
            "date": date.today().isoformat(),
            "threshold": threshold,
            "own_time": {key: round(value, 2) for key, value in timing.items()},
            "first": first,
            "sets": found,
        }
        options.json.write_text(json.dumps(facts, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
