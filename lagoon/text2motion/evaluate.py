"""How good the generator is: predicates, feet, variety and speed over several seeds; the field's scores.

Usage:
    python -m lagoon.text2motion.evaluate [model=default] [seeds=10] [data=FOLDER] [commands=FILE] [out=evaluation.json]

What enters: a model; for the field's scores a data folder, whose held-out clips are asked for; optionally a table
of commands. What leaves: a table per command and numbers over all, also written into the model card beside the
weights with card=true.
"""

from __future__ import annotations

import csv
import json
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from lagoon.errors import BadInputError, LagoonError, RefusedCommandError
from lagoon.paths import write_text
from lagoon.progress import Progress, silent
from lagoon.text2motion import composite_scores, plausibility, predicates
from lagoon.text2motion.config import GenerateConfig
from lagoon.text2motion.generate import generate
from lagoon.text2motion.held_out import (
    compare,
    generator,
    load_split,
    nearest_caption,
    retrieval,
    speaker,
    without_words,
)
from lagoon.text2motion.matching import load_judge
from lagoon.text2motion.model import load_model, model_path
from lagoon.text2motion.model_card import composite_lines, held_out_lines, model_card, typed_lines

DEFAULT_SETS = ("permissive", "authored")
"""Data sets of the default weights, whose held-out clips are asked for."""

COMMANDS: tuple[tuple[str, str], ...] = (
    ("wave hello", "wave"),
    ("clap your hands", "clap"),
    ("bow", "bow"),
    ("cartwheel", "cartwheel"),
    ("kick the ball", "kick"),
    ("walk forward", "walk"),
    ("jump", "jump"),
    ("dance", "dance"),
    ("sit down", "sit"),
    ("do three squats", "three squats"),
    ("greet the neighbours with your hand", "wave"),
    ("applaud the singer", "clap"),
    ("bend forward politely", "bow"),
    ("squat", "squat"),
    ("hop on the spot", "hop"),
    ("throw a punch", "punch"),
    ("stand on your hands", "handstand"),
    ("do a backflip", "backflip"),
    ("walk backwards", "walk backwards"),
    ("run", "run"),
    ("turn left", "turn left"),
    ("turn right", "turn right"),
    ("spin in a circle", "spin"),
    ("lie down", "lie"),
    ("play dead", "fall"),
    ("get up from the floor", "rise"),
    ("do some push-ups", "push-ups"),
    ("march in place", "march"),
    ("stretch your arms", "stretch"),
    ("shake hands", "handshake"),
    ("nod your head", "nod"),
    ("crawl on the floor", "crawl"),
    ("roll over", "roll"),
)
"""Commands of the fixed evaluation, each with the predicate it must satisfy."""


@dataclass(frozen=True)
class EvaluateConfig:
    """What is evaluated and how thoroughly."""

    model: str = "default"
    """Model to evaluate."""
    seeds: int = 10
    """Motions per command."""
    data: str = ""
    """Folder with NAME.npz and NAME.jsonl; its held-out clips give the field's scores. Empty leaves them out."""
    split_seeds: int = 5
    """Motions per held-out clip."""
    commands: str = ""
    """Table of more commands to ask: columns split, label, command; rows of the split 'dev' are read."""
    command_seeds: int = 5
    """Motions per command of that table."""
    out: str = ""
    """JSON file to write; empty writes none."""
    card: bool = False
    """Rewrite the model card beside the weights with the results."""


def evaluate(config: EvaluateConfig, progress: Progress = silent) -> dict:
    """Generate every command with every seed and ask its predicate.

    Returns:
        ``seeds``, ``commands`` (one row each) and ``overall``; ``typed`` (rows) if a table of commands is given;
        ``held_out`` and ``composites`` if a data folder is given.

    Raises:
        BadInputError: fewer than two seeds, a table or folder that cannot be used.
    """
    for name in ("seeds", "split_seeds", "command_seeds"):
        if getattr(config, name) < 2:
            raise BadInputError(
                f"EvaluateConfig.{name} is {getattr(config, name)}; expected 2 or more, to measure variety."
            )
    typed = read_commands(Path(config.commands)) if config.commands else ()
    split = load_split(Path(config.data), DEFAULT_SETS) if config.data else None
    rows = _ask(COMMANDS, config.seeds, config.model, progress)
    result = {"model": load_model(config.model).sha256, "seeds": config.seeds, "commands": rows}
    result["overall"] = _overall(rows, config.seeds)
    if typed:
        result["typed"] = _ask(typed, config.command_seeds, config.model, progress, force=False)
        result["typed_seeds"] = config.command_seeds
    if split is not None:
        settings = GenerateConfig(model=config.model)
        model, find = load_model(config.model), retrieval(split.train)
        systems = {
            "generator": generator(settings),
            "nearest caption": nearest_caption(find),
            "generator without words": without_words(model, settings),
        }
        judge = load_judge()
        found = compare(split, systems, judge.network, config.split_seeds, progress)
        result["held_out"] = {
            "clips": len(split.held_out),
            "seeds": config.split_seeds,
            "judge": judge.details,
            "systems": found,
        }
        speakers = {"generator": speaker(settings), "nearest caption": find}
        result["composites"] = {
            "seeds": config.split_seeds,
            "systems": composite_scores.compare(speakers, config.split_seeds, progress),
        }
    return result


def _ask(
    commands: Sequence[tuple[str, str]], seeds: int, model: str, progress: Progress, force: bool = True
) -> list[dict]:
    """One row per command: how many of its motions satisfy its predicate, and what they are like.

    Without ``force`` a command that the gate refuses counts as one that never passes.
    """
    settings, rows = GenerateConfig(model=model, force=force), []
    for index, (command, name) in enumerate(commands):
        motions, times = [], []
        try:
            for seed in range(seeds):
                started = time.perf_counter()
                motions.append(generate(command, settings, seed))
                times.append(time.perf_counter() - started)
        except RefusedCommandError as error:
            rows.append({"command": command, "predicate": name, "passes": 0, "refused": str(error)})
            progress((index + 1) / len(commands), f"{command}: refused")
            continue
        measured = [plausibility.measure(m.joint_pos_w) for m in motions]
        questions = [predicates.of_verb(option) for option in name.split("|")]
        asked = [question for question in questions if question is not None]
        rows.append(
            {
                "command": command,
                "predicate": name,
                "passes": sum(any(question(m.joint_pos_w) for question in asked) for m in motions),
                "planted": sum(m.source.get("feet_planted") == "true" for m in motions),
                "foot_slide": float(np.mean([p.foot_slide for p in measured])),
                "jitter": float(np.mean([p.jitter for p in measured])),
                "penetration": float(np.max([p.penetration for p in measured])),
                "diversity": _diversity([m.joint_pos_w for m in motions]),
                "seconds": motions[0].duration,
                "time": float(np.median(times)),
            }
        )
        progress((index + 1) / len(commands), f"{command}: {rows[-1]['passes']}/{seeds}")
    return rows


def _overall(rows: list[dict], seeds: int) -> dict:
    """Numbers over all rows."""
    return {
        "share_of_motions_that_pass": round(sum(r["passes"] for r in rows) / (len(rows) * seeds), 3),
        "commands_that_pass_in_80_percent": f"{sum(r['passes'] >= 0.8 * seeds for r in rows)} of {len(rows)}",
        "median_seconds_to_generate_on_one_thread": round(float(np.median([r["time"] for r in rows])), 2),
        "mean_foot_slide_m_per_s": round(float(np.mean([r["foot_slide"] for r in rows])), 3),
        "deepest_penetration_m": round(max(r["penetration"] for r in rows), 4),
        "mean_distance_between_seeds_m": round(float(np.mean([r["diversity"] for r in rows])), 3),
    }


def read_commands(path: Path) -> tuple[tuple[str, str], ...]:
    """Commands and predicates of a table; several labels are separated by | and any of them will do.

    Raises:
        BadInputError: the file is missing, or a label has no predicate; all of those are named.
    """
    if not path.is_file():
        raise BadInputError(f"There is no table of commands at {path}. Give one with commands=FILE.")
    with path.open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE) if row and row[0] == "dev"]
    found = tuple((row[2], row[1]) for row in rows if len(row) == 3)
    unknown = [label for _, label in found if not any(predicates.of_verb(option) for option in label.split("|"))]
    if unknown or not found:
        what = f"has labels without a predicate: {', '.join(sorted(set(unknown)))}" if unknown else "has no row 'dev'"
        raise BadInputError(
            f"The table {path} {what}. Expected lines 'dev<TAB>label<TAB>command' with labels among "
            f"{', '.join(sorted(predicates.PREDICATES))}."
        )
    return found


def _diversity(motions: list[np.ndarray]) -> float:
    """Mean distance of the joints, pelvis excluded, between the motions of two seeds [m]."""
    frames = min(len(m) for m in motions)
    local = np.stack([m[:frames, 1:] - m[:frames, :1] for m in motions])
    pairs = [np.linalg.norm(a - b, axis=-1).mean() for i, a in enumerate(local) for b in local[:i]]
    return float(np.mean(pairs))


def _print_progress(fraction: float, message: str = "") -> None:
    """One line per command."""
    print(f"{100 * fraction:3.0f} %  {message}", flush=True)


def main(arguments: list[str]) -> int:
    """Run from KEY=VALUE arguments; returns the exit code."""
    from omegaconf import OmegaConf
    from omegaconf.errors import OmegaConfBaseException

    try:
        try:
            values = OmegaConf.merge(OmegaConf.structured(EvaluateConfig), OmegaConf.from_dotlist(arguments))
        except OmegaConfBaseException as error:
            known = ", ".join(EvaluateConfig.__dataclass_fields__)
            raise BadInputError(f"{str(error).splitlines()[0]}. Known settings: {known}, as KEY=VALUE.") from error
        config = OmegaConf.to_object(values)
        assert isinstance(config, EvaluateConfig)
        result = evaluate(config, _print_progress)
        print(json.dumps(result["overall"], indent=2))
        for line in held_out_lines(result) + composite_lines(result) + typed_lines(result):
            print(line)
        if config.out:
            write_text(Path(config.out), json.dumps(result, indent=2))
        if config.card:
            details = load_model(config.model).details
            write_text(model_path(config.model) / "MODEL_CARD.md", model_card(details, result))
    except LagoonError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
