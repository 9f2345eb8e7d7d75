"""Trains a pair of networks that tell how well words and a motion fit.

Usage:
    python -m lagoon.text2motion.train_matching data=FOLDER out=FOLDER [seed=1] [steps=2500]

What enters: the data folder of the generator. What leaves: OUT/matcher.safetensors, to be put into a model's folder
or, with another seed, into assets/models/text2motion-judge, and a card. Started again with the same out=, it
resumes. Trained on the training clips only; the held-out ones give the numbers in the file's header.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import log_softmax

from lagoon.errors import BadInputError, LagoonError
from lagoon.paths import write_text
from lagoon.progress import Progress, silent
from lagoon.text2motion import augment, corpus, dataset, features, scores
from lagoon.text2motion.corpus import Example
from lagoon.text2motion.matching import FILE, Matcher, motion_batch, save_matcher
from lagoon.text2motion.matching_config import MatcherConfig, MatcherTrainConfig
from lagoon.text2motion.model_card import matcher_card
from lagoon.text2motion.optimise import Schedule, Training
from lagoon.text2motion.text_encoder import Encoding
from lagoon.text2motion.texts import text_batch
from lagoon.text2motion.train import encode_texts

STILLED = 0.25
"""Share of the batch that is shown once more with its swings smoothed out, as a motion that fits no text."""
STILL_WIDTH = 6.0
"""Width of the Gaussian in time that takes the swings out [frames of 50 ms]."""
EMA = 0.995
"""Decay per step of the averaged weights."""


def labels(examples: list[Example]) -> list[str]:
    """What each example shows; a mirrored left turn is a right turn."""
    half = len(examples) // 2
    return [e.verb if i < half else augment.mirror_text(e.verb) for i, e in enumerate(examples)]


def stilled(rows: np.ndarray) -> np.ndarray:
    """Features (T, 71) of the same motion without its swings: an arm held up instead of a wave."""
    from scipy.ndimage import gaussian_filter1d

    out = rows.copy()
    out[:, : features.CONTACTS.start] = gaussian_filter1d(
        rows[:, : features.CONTACTS.start], STILL_WIDTH, axis=0, mode="nearest"
    )
    return out


def contrast(motions: Tensor, texts: Tensor, same: Tensor, sharpness: Tensor) -> Tensor:
    """Symmetric cross entropy of N pairs; motions beyond the first N belong to no text.

    Args:
        motions: (N + M, D) unit vectors.
        texts: (N, D) unit vectors.
        same: (N, N) True where motion and text show the same, which is then no error.
        sharpness: logarithm of the inverse temperature.
    """
    count = len(texts)
    logits = texts @ motions.T * sharpness.clamp(max=4.0).exp()
    confused = same & ~torch.eye(count, dtype=torch.bool)
    logits = torch.cat([logits[:, :count].masked_fill(confused, -1e4), logits[:, count:]], dim=1)
    own = torch.arange(count)
    by_text = -log_softmax(logits, dim=1)[own, own]
    by_motion = -log_softmax(logits[:, :count], dim=0)[own, own]
    return 0.5 * (by_text.mean() + by_motion.mean())


def train_matching(config: MatcherTrainConfig, progress: Progress = silent) -> Path:
    """Run the whole training and return the file's path.

    Raises:
        BadInputError: the data folder lacks a set or too few clips are left.
    """
    torch.set_num_threads(config.threads)
    out = Path(config.out)
    clips, held_out = dataset.split(dataset.load(Path(config.data), config.sets))
    if len(clips) < 2:
        raise BadInputError(f"Only {len(clips)} usable clips are left in {config.data}; training needs at least 2.")
    examples = corpus.build(clips, config.joins, np.random.default_rng((config.seed, 14)))
    texts = sorted({text for example in examples for text in example.texts} | {t for c in held_out for t in c.captions})
    encodings = encode_texts(texts, out / "matcher.texts.safetensors", progress)
    network = _fit(examples, encodings, config, out, progress)
    details = {
        **{k: v for k, v in asdict(config).items() if k not in ("data", "out", "model", "sets")},
        "sets": list(config.sets),
        "examples": len(examples),
    }
    if held_out:
        details |= scores.of_real_clips(network, held_out, encodings)
    save_matcher(out / FILE, network, details)
    write_text(out / "MODEL_CARD.md", matcher_card(details))
    progress(1.0, f"written to {out / FILE}")
    return out / FILE


def _fit(
    examples: list[Example],
    encodings: Mapping[str, Encoding],
    config: MatcherTrainConfig,
    folder: Path,
    progress: Progress,
) -> Matcher:
    torch.manual_seed(config.seed + 7)
    network, average = Matcher(config.model), Matcher(config.model)
    average.load_state_dict(network.state_dict())
    progress(0.0, f"matching: reading {len(examples)} motions")
    rows = [features.encode(e.joint_pos_w).astype(np.float32) for e in examples]
    weights, names = corpus.weights(examples), np.array(labels(examples))
    optimizer = torch.optim.AdamW(network.parameters(), lr=config.lr, weight_decay=0.05)
    schedule = Schedule("matching", config.steps, config.lr, EMA, config.checkpoint_seconds)
    training = Training(network, average, optimizer, schedule, folder / "matcher.checkpoint.safetensors")

    def loss(step: int) -> Tensor:
        rng = np.random.default_rng((config.seed, 15, step))
        torch.manual_seed(int(rng.integers(2**31)))
        chosen = rng.choice(len(rows), config.batch, p=weights)
        shown = [_varied(rows[i], rng) for i in chosen]
        shown += [stilled(rows[i]) for i in chosen[: int(STILLED * config.batch)]]
        said = [str(rng.choice(examples[i].texts)) for i in chosen]
        motions = network.motion(*motion_batch(shown))
        texts = network.text(text_batch([encodings[text] for text in said]))
        same = names[chosen][:, None] == names[chosen][None]
        same |= np.array(said)[:, None] == np.array(said)[None]
        return contrast(motions, texts, torch.from_numpy(same), network.sharpness)

    training.run(loss, progress)
    return average.eval().requires_grad_(False)


def _varied(rows: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """The same motion, begun a little later, with a slight error: what is learned must not hang on either."""
    start = int(rng.integers(0, max(1, min(8, len(rows) // 8))))
    noise = rng.normal(0.0, 0.01, (1, rows.shape[1])) + rng.normal(0.0, 0.004, rows[start:].shape)
    out = rows[start:].copy()
    out[:, features.POSITIONS] += noise[:, features.POSITIONS].astype(np.float32)
    return out


def main(arguments: list[str]) -> int:
    """Run from KEY=VALUE arguments; returns the exit code."""
    from omegaconf import OmegaConf
    from omegaconf.errors import OmegaConfBaseException
    from rich.progress import BarColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    try:
        try:
            values = OmegaConf.to_container(OmegaConf.from_dotlist(arguments))
            assert isinstance(values, dict)
            sizes = MatcherConfig(**values.pop("model", {}))  # type: ignore[arg-type]
            config = MatcherTrainConfig(**values, model=sizes)  # type: ignore[arg-type]
        except (OmegaConfBaseException, TypeError, ValueError) as error:
            known = ", ".join(MatcherTrainConfig.__dataclass_fields__)
            raise BadInputError(f"{str(error).splitlines()[0]}. Known settings: {known}, as KEY=VALUE.") from error
        with Bar(TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn()) as bar:
            task = bar.add_task("starting", total=1.0)

            def show(fraction: float, message: str = "") -> None:
                bar.update(task, completed=fraction, description=message)

            path = train_matching(config, show)
        print(f"The network is in {path}.")
    except LagoonError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        print("Stopped. Run the same command again to resume from the last checkpoint.", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
