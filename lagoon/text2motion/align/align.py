"""Fine-tunes the generator with PPO: the stage function of alignment.

What enters: AlignConfig, a folder, a seed; what makes a function that knows the robot. What leaves: a model folder for
``generate.model=FOLDER``, beside the checkpoints and curves of the run. The weights it began with stay as they are.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np

from lagoon.engine.checkpoint import load_checkpoint
from lagoon.engine.tokens.run import run
from lagoon.paths import write_bytes, write_text
from lagoon.progress import Progress, silent
from lagoon.text2motion import matching
from lagoon.text2motion.align.config import AlignConfig
from lagoon.text2motion.align.reward import TERMS
from lagoon.text2motion.align.task import AlignTask, Appraiser, read_task
from lagoon.text2motion.model import load_model, model_path, save_model

SHOWN = 5
"""Most updates at either end of a run whose rewards are averaged to say what it brought."""


@dataclass(frozen=True)
class Aligned:
    """A finished run."""

    model: Path
    """Folder of the model."""
    before: dict[str, float]
    """Mean reward of the first updates, and its terms."""
    after: dict[str, float]
    """The same of the last updates."""


def align(
    config: AlignConfig,
    folder: Path,
    seed: int = 0,
    appraiser: Appraiser | None = None,
    progress: Progress | None = None,
) -> Aligned:
    """Fine-tune until the budget is used; go on where the folder left off.

    Args:
        config: commands, weights, settings.
        folder: gets ``train/`` (checkpoints, metrics) and ``model/``.
        seed: of everything that is drawn.
        appraiser: makes the function that knows the robot, in each process that judges; None leaves the robot out.
        progress: told how far it is.

    Raises:
        RefusedCommandError: the gate refuses a command.
        BadInputError: a command has several parts; the folder is of another run.
        KeyboardInterrupt: after Ctrl-C, once a checkpoint is saved.
    """
    task = read_task(config, appraiser)
    path = run(task, config.ppo, folder / "train", seed, None, progress or silent)
    rows = [json.loads(line) for line in (folder / "train" / "metrics.jsonl").read_text(encoding="utf-8").splitlines()]
    few = min(SHOWN, max(1, len(rows) // 3))
    aligned = Aligned(folder / "model", _mean(rows[:few]), _mean(rows[-few:]))
    _write(task, aligned, path, seed, len(rows))
    return aligned


def _mean(rows: Sequence[dict[str, float]]) -> dict[str, float]:
    names = {"reward": "train/reward"} | {term: f"reward/{term}" for term in TERMS}
    return {name: round(float(np.mean([row[key] for row in rows])), 4) for name, key in names.items()}


def _write(task: AlignTask, aligned: Aligned, checkpoint: Path, seed: int, updates: int) -> None:
    """Write the model folder: fine-tuned weights, all else as in the one it began with, and where it comes from."""
    base, policy = load_model(task.config.model), task.model()
    policy.load_state_dict(load_checkpoint(checkpoint).group("policy"))
    about = {
        "model": base.name,
        "weights_sha256": base.sha256,
        "commands": list(task.prompts),
        "seed": seed,
        "updates": updates,
        "sequences": updates * task.config.ppo.batch,
        "reward_first_updates": aligned.before,
        "reward_last_updates": aligned.after,
        "settings": {k: v for k, v in task.facts().items() if k not in ("commands", "weights_sha256", "judge")},
        "ppo": asdict(task.config.ppo),
    }
    model = replace(base, transformer=policy.transformer, details=base.details | {"aligned": about})
    source = model_path(task.config.model)
    for name in (matching.FILE, "MODEL_CARD.md"):
        if (source / name).is_file():
            write_bytes(aligned.model / name, (source / name).read_bytes())
    note = (
        f"These weights were fine-tuned from {base.name} on {', '.join(map(repr, task.prompts))}; model.yaml, "
        "aligned, says how. What follows describes the weights before that.\n\n"
    )
    card = aligned.model / "MODEL_CARD.md"
    write_text(card, note + (card.read_text(encoding="utf-8") if card.is_file() else ""))
    save_model(aligned.model, model)
