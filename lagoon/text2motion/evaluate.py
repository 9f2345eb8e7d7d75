"""How good the generator is: predicates, feet, variety and speed over several seeds.

Usage:
    python -m lagoon.text2motion.evaluate [model=default] [seeds=10] [out=evaluation.json]

What enters: a model. What leaves: a table per command and numbers over all, also written into the model
card beside the weights with card=true.
"""

from __future__ import annotations

import json
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from lagoon.errors import BadInputError, LagoonError
from lagoon.paths import write_text
from lagoon.progress import Progress, silent
from lagoon.text2motion import plausibility
from lagoon.text2motion.config import GenerateConfig
from lagoon.text2motion.generate import generate
from lagoon.text2motion.model import load_model, model_path
from lagoon.text2motion.model_card import model_card
from lagoon.text2motion.predicates import PREDICATES

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
    out: str = ""
    """JSON file to write; empty writes none."""
    card: bool = False
    """Rewrite the model card beside the weights with the results."""


def evaluate(config: EvaluateConfig, progress: Progress = silent) -> dict:
    """Generate every command with every seed and ask its predicate.

    Returns:
        ``seeds``, ``commands`` (one row each) and ``overall``.
    """
    if config.seeds < 2:
        raise BadInputError(f"EvaluateConfig.seeds is {config.seeds}; expected 2 or more, to measure variety.")
    settings, rows, times = GenerateConfig(model=config.model, force=True), [], []
    for index, (command, name) in enumerate(COMMANDS):
        motions = []
        for seed in range(config.seeds):
            started = time.perf_counter()
            motions.append(generate(command, settings, seed))
            times.append(time.perf_counter() - started)
        measured = [plausibility.measure(m.joint_pos_w) for m in motions]
        rows.append(
            {
                "command": command,
                "predicate": name,
                "passes": sum(PREDICATES[name](m.joint_pos_w) for m in motions),
                "planted": sum(m.source["feet_planted"] == "true" for m in motions),
                "foot_slide": float(np.mean([p.foot_slide for p in measured])),
                "jitter": float(np.mean([p.jitter for p in measured])),
                "penetration": float(np.max([p.penetration for p in measured])),
                "diversity": _diversity([m.joint_pos_w for m in motions]),
                "seconds": motions[0].duration,
            }
        )
        progress((index + 1) / len(COMMANDS), f"{command}: {rows[-1]['passes']}/{config.seeds}")
    total = len(COMMANDS) * config.seeds
    overall = {
        "share_of_motions_that_pass": round(sum(r["passes"] for r in rows) / total, 3),
        "commands_that_pass_in_80_percent": f"{sum(r['passes'] >= 0.8 * config.seeds for r in rows)} of {len(rows)}",
        "median_seconds_to_generate_on_one_thread": round(float(np.median(times)), 2),
        "mean_foot_slide_m_per_s": round(float(np.mean([r["foot_slide"] for r in rows])), 3),
        "deepest_penetration_m": round(max(r["penetration"] for r in rows), 4),
        "mean_distance_between_seeds_m": round(float(np.mean([r["diversity"] for r in rows])), 3),
    }
    return {"seeds": config.seeds, "commands": rows, "overall": overall}


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
            known = "model, seeds, out, card"
            raise BadInputError(f"{str(error).splitlines()[0]}. Known settings: {known}, as KEY=VALUE.") from error
        config = OmegaConf.to_object(values)
        assert isinstance(config, EvaluateConfig)
        result = evaluate(config, _print_progress)
        print(json.dumps(result["overall"], indent=2))
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
