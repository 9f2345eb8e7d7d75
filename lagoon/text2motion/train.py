"""Trains the text-to-motion model from a data folder.

Usage:
    python -m lagoon.text2motion.train data=FOLDER out=FOLDER [seed=1] [transformer_steps=8000]

What enters: a folder with NAME.npz and NAME.jsonl, TrainConfig. What leaves: OUT/model, ready for
`generate.model=OUT/model`, and OUT/metrics.jsonl. Started again with the same out=, it resumes.
"""

from __future__ import annotations

import json
import sys
import time
from dataclasses import asdict
from pathlib import Path

import hydra
import numpy as np
import torch
from omegaconf import DictConfig, OmegaConf

from lagoon.errors import BadInputError, LagoonError, require
from lagoon.paths import append_line, data_dir, write_bytes, write_text
from lagoon.progress import Progress, silent
from lagoon.text2motion import corpus, dataset
from lagoon.text2motion.bank import build_bank
from lagoon.text2motion.config import ModelConfig, TrainConfig
from lagoon.text2motion.model import Model, save_model
from lagoon.text2motion.model_card import model_card
from lagoon.text2motion.text_encoder import Encoding, default_encoder
from lagoon.text2motion.train_tokenizer import reconstruction_error, train_tokenizer
from lagoon.text2motion.train_transformer import likelihood, tokenize, train_transformer


def encode_texts(texts: list[str], cache: Path, progress: Progress) -> dict[str, Encoding]:
    """Encode texts once; the cache holds them in half precision, keyed by the texts themselves.

    Texts that the cache lacks are encoded and added, so that other composites do not mean to encode all again.
    """
    found = _cached(cache)
    missing = [text for text in texts if text not in found]
    if missing:
        progress(0.0, f"encoding {len(missing)} texts")
        found |= dict(zip(missing, default_encoder().encode(missing), strict=True))
        kept = list(found.values())
        content = require("safetensors.numpy", "text2motion").save(
            {
                "states": np.concatenate([e.states for e in kept]).astype(np.float16),
                "ends": np.cumsum([len(e.states) for e in kept]),
                "sentences": np.stack([e.sentence for e in kept]),
            },
            metadata={"texts": json.dumps(list(found))},
        )
        write_bytes(cache, content)
        # Read back, so that a first run and a resumed one see the same rounding.
        found = _cached(cache)
    return {text: found[text] for text in texts}


def _cached(cache: Path) -> dict[str, Encoding]:
    """The encodings that the cache holds; none if there is no such file."""
    if not cache.is_file():
        return {}
    with require("safetensors", "text2motion").safe_open(str(cache), framework="np") as file:
        texts = json.loads(file.metadata()["texts"])
        states, ends, sentences = (file.get_tensor(key) for key in ("states", "ends", "sentences"))
    parts = np.split(states, ends[:-1])
    return {
        text: Encoding(part.astype(np.float32), sentence, ())
        for text, part, sentence in zip(texts, parts, sentences, strict=True)
    }


def train(config: TrainConfig, progress: Progress = silent) -> Path:
    """Run the whole training and return the model folder.

    Args:
        config: data, sizes, steps, seed.
        progress: told what is being done.

    Raises:
        BadInputError: the data folder lacks a set or too few clips are left.
    """
    torch.set_num_threads(config.threads)
    out, started = Path(config.out), time.monotonic()
    metrics = out / "metrics.jsonl"
    last = {"time": 0.0}

    def tell(fraction: float, message: str = "") -> None:
        progress(fraction, message)
        if time.monotonic() - last["time"] > 10.0:
            last["time"] = time.monotonic()
            append_line(metrics, json.dumps({"seconds": round(time.monotonic() - started, 1), "message": message}))

    every = [clip for name in config.sets for clip in dataset.read_set(Path(config.data), name)]
    kept = dataset.cap_windows(dataset.clean(every))
    clips, held_out = dataset.split(kept)
    if len(clips) < 2:
        raise BadInputError(
            f"Only {len(clips)} usable clips are left of {len(every)} in {config.data}; training needs at least 2. "
            "Add clips or name more sets with sets=[...]."
        )
    tokenizer = train_tokenizer(clips, config, out, tell)
    examples = corpus.build(clips, config.joins, np.random.default_rng((config.seed, 4)))
    unseen = [corpus.Example(c.joint_pos_w, c.captions[:1], c.verb, "plain", c.recording) for c in held_out]
    texts = sorted({text for example in examples + unseen for text in example.texts})
    encodings = encode_texts(texts, out / "texts.safetensors", tell)
    tell(0.0, f"encoding {len(examples)} motions")
    tokens = tokenize(tokenizer, examples)
    books = tokenizer.quantiser.books
    transformer = train_transformer(tokens, books, corpus.weights(examples), encodings, config, out, tell)
    details = {
        "seed": config.seed,
        "sets": list(config.sets),
        "clips": {"read": len(every), "kept": len(kept), "trained_on": len(clips), "held_out": len(held_out)},
        "minutes": round(sum(clip.seconds for clip in clips) / 60, 1),
        "examples": len(examples),
        "licenses": _licences(clips),
        "config": {k: v for k, v in asdict(config).items() if k not in ("data", "out", "model", "sets")},
        "metrics": {
            "parameters": sum(p.numel() for n in (tokenizer, transformer) for p in n.parameters()),
            "reconstruction_train_m": round(reconstruction_error(tokenizer, clips[::10])[0], 4),
        },
    }
    if held_out:
        new = tokenize(tokenizer, unseen)
        details["metrics"] |= {
            "reconstruction_held_out_m": round(reconstruction_error(tokenizer, held_out)[0], 4),
            "nll_held_out_nat": round(likelihood(transformer, new, encodings, drop=False), 4),
            "nll_held_out_without_text_nat": round(likelihood(transformer, new, encodings, drop=True), 4),
        }
    folder = out / "model"
    model = Model(
        name=folder.name,
        config=config.model,
        tokenizer=tokenizer,
        transformer=transformer,
        bank=build_bank(examples, encodings),
        bone_lengths=dataset.bone_lengths(clips),
        rest=corpus.relaxed_stand(clips),
        sha256="",
        details=details,
    )
    save_model(folder, model)
    write_text(folder / "MODEL_CARD.md", model_card(details, {}))
    progress(1.0, f"model written to {folder}")
    return folder


def _licences(clips: list[dataset.Clip]) -> dict[str, int]:
    """Number of clips under each licence."""
    count: dict[str, int] = {}
    for clip in clips:
        count[clip.license] = count.get(clip.license, 0) + 1
    return dict(sorted(count.items(), key=lambda item: -item[1]))


@hydra.main(config_path=str(data_dir("configs") / "text2motion" / "train"), config_name="small", version_base=None)
def main(values: DictConfig) -> None:
    """Read the overrides, train, say where the model is."""
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    try:
        content = OmegaConf.to_container(values, resolve=True, throw_on_missing=True)
        assert isinstance(content, dict)
        model = ModelConfig(**content.pop("model"))  # type: ignore[arg-type]
        config = TrainConfig(**content, model=model)  # type: ignore[arg-type]
        with Bar(TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn()) as bar:
            task = bar.add_task("starting", total=1.0)

            def show(fraction: float, message: str = "") -> None:
                bar.update(task, completed=fraction, description=message)

            folder = train(config, show)
        Console().print(f'The model is in {folder}. Try it: lagoon generate "wave hello" generate.model={folder}')
    except LagoonError as error:
        print(error, file=sys.stderr)
        raise SystemExit(error.exit_code) from None
    except KeyboardInterrupt:
        print("Stopped. Run the same command again to resume from the last checkpoint.", file=sys.stderr)
        raise SystemExit(130) from None


if __name__ == "__main__":
    main()
