"""A trained text-to-motion model as a folder: weights, sizes, skeleton, known commands.

What enters: a name or path, or trained networks. What leaves: a Model ready to generate, or the folder.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
import torch
import yaml
from numpy.typing import NDArray
from torch import Tensor

from lagoon.errors import BadInputError, CorruptFileError, require, unknown_name
from lagoon.paths import data_dir, sha256_of, write_bytes, write_text
from lagoon.text2motion import features, matching
from lagoon.text2motion.bank import CommandBank
from lagoon.text2motion.config import DEFAULT_MODEL, FRAMES_PER_STEP, ModelConfig
from lagoon.text2motion.matching import Matcher
from lagoon.text2motion.text_encoder import default_encoder
from lagoon.text2motion.texts import text_batch
from lagoon.text2motion.tokenizer import MotionTokenizer
from lagoon.text2motion.transformer import MotionTransformer
from lagoon.text2motion.wording import core

SCHEMA_VERSION = 1
FILES = ("model.yaml", "weights.safetensors", "commands.safetensors")


@dataclass(frozen=True)
class Model:
    """Everything that turns words into motion."""

    name: str
    """Folder name."""
    config: ModelConfig
    """Sizes."""
    tokenizer: MotionTokenizer
    """Motion to tokens and back."""
    transformer: MotionTransformer
    """Words to tokens."""
    bank: CommandBank
    """Known commands."""
    bone_lengths: NDArray[np.float64]
    """(21,) lengths of the bones from joints 1..21 to their parents [m]."""
    rest: NDArray[np.float64]
    """(22, 3) relaxed stand [m]."""
    sha256: str
    """Checksum of the weights file; empty before saving."""
    details: dict
    """Seed, data sets, licences, metrics and command of the training run."""
    matcher: Matcher | None = None
    """Tells how well words and a motion fit, to choose among candidates; None for a folder without one."""

    def tokens(self, joint_pos_w: NDArray[np.float64]) -> Tensor:
        """Tokens (L, G) of a motion (T, 22, 3) [m] at 20 fps: L is T / 4, rounded down; what is left over is dropped.

        Raises:
            BadInputError: the motion is shorter than one token step, or longer than the model knows.
        """
        steps = len(joint_pos_w) // FRAMES_PER_STEP
        self._check_steps(steps)
        rows = features.encode(joint_pos_w)[: steps * FRAMES_PER_STEP]
        with torch.no_grad():
            return self.tokenizer.encode(torch.from_numpy(rows.astype(np.float32))[None])[0]

    def log_prob(self, tokens: Tensor, text: str | None) -> float:
        """Log-probability [nat] of a motion's tokens (L, G) among all motions of L steps, given a text; exact.

        Args:
            tokens: whole numbers (L, G), each below the size of the vocabulary.
            text: plain English, as generate() reads it; None is the probability without words.

        Raises:
            BadInputError: tokens of another shape or beyond the vocabulary.
            MissingExtraError: the sentence encoder is not installed.
        """
        groups, codes = self.config.groups, self.config.codes
        if tokens.ndim != 2 or tokens.shape[1] != groups or tokens.is_floating_point():
            raise BadInputError(
                f"The tokens have shape {tuple(tokens.shape)} and type {tokens.dtype}; expected whole numbers "
                f"(L, {groups}). Model.tokens(joint_pos_w) makes them from a motion."
            )
        self._check_steps(len(tokens))
        if int(tokens.min()) < 0 or int(tokens.max()) >= codes:
            raise BadInputError(
                f"The tokens go from {int(tokens.min())} to {int(tokens.max())}; expected 0 to {codes - 1}. "
                "Are they those of another model?"
            )
        words = None if text is None else default_encoder().encode([core(text)])[0]
        lengths = torch.tensor([len(tokens)])
        return float(self.transformer.log_prob(tokens[None].long(), lengths, text_batch([words]))[0])

    def _check_steps(self, steps: int) -> None:
        if not 1 <= steps <= self.config.max_steps:
            raise BadInputError(
                f"The motion has {steps} token steps of {FRAMES_PER_STEP} frames; expected 1 to "
                f"{self.config.max_steps}. Cut it to at most {self.config.max_steps * FRAMES_PER_STEP} frames."
            )


def model_path(name: str) -> Path:
    """Folder of a model: 'default', a name in assets/models, or a path.

    Raises:
        BadInputError: there is no such model; the known ones are listed.
    """
    root = data_dir("assets") / "models"
    folder = root / (DEFAULT_MODEL if name == "default" else name)
    for candidate in (folder, Path(name)):
        if (candidate / FILES[0]).is_file():
            return candidate
    known = ["default", *(path.parent.name for path in root.glob("*/model.yaml"))]
    raise unknown_name(
        "Text-to-motion model", name, known, "Or give the path of a folder written by lagoon.text2motion.train."
    )


def save_model(folder: Path, model: Model) -> None:
    """Write the folder: weights in half precision, sizes and details in YAML, the known commands."""
    save = require("safetensors.torch", "text2motion").save
    tensors = {f"tokenizer/{k}": v for k, v in model.tokenizer.state_dict().items()}
    tensors |= {f"transformer/{k}": v for k, v in model.transformer.state_dict().items()}
    tensors = {k: v.half().contiguous() for k, v in tensors.items()}
    tensors["skeleton/bone_lengths"] = torch.from_numpy(np.array(model.bone_lengths))
    tensors["skeleton/rest"] = torch.from_numpy(np.array(model.rest))
    write_bytes(folder / FILES[1], save(tensors))
    model.bank.save(folder / FILES[2])
    content = {
        "schema_version": SCHEMA_VERSION,
        "weights_sha256": sha256_of(folder / FILES[1]),
        "sizes": {k: list(v) if isinstance(v, tuple) else v for k, v in asdict(model.config).items()},
        "details": model.details,
    }
    write_text(folder / FILES[0], yaml.safe_dump(content, sort_keys=False, allow_unicode=True))


def load_bank(name: str) -> CommandBank:
    """Read a model's known commands only, for a gate before another generator; once per process.

    Raises:
        BadInputError: there is no such model.
        CorruptFileError: the file is missing or damaged.
    """
    path = model_path(name).resolve() / FILES[2]
    return _load_bank(path, path.stat().st_mtime_ns if path.is_file() else 0)


@lru_cache(maxsize=2)
def _load_bank(path: Path, stamp: int) -> CommandBank:
    return CommandBank.load(path)


def load_model(name: str) -> Model:
    """Read a model; the same folder is read once per process.

    Raises:
        BadInputError: no such model, or a file of it is missing; all missing files are named.
        CorruptFileError: a file is damaged, of another schema version, or does not fit the sizes.
    """
    folder = model_path(name).resolve()
    missing = [file for file in FILES if not (folder / file).is_file()]
    if missing:
        raise BadInputError(
            f"The model folder {folder} lacks {', '.join(missing)}. Expected {', '.join(FILES)}. "
            "Train it again with: python -m lagoon.text2motion.train data=FOLDER"
        )
    present = [folder / file for file in (*FILES, matching.FILE) if (folder / file).is_file()]
    return _load(folder, tuple(file.stat().st_mtime_ns for file in present))


@lru_cache(maxsize=2)
def _load(folder: Path, stamps: tuple[int, ...]) -> Model:
    load_file = require("safetensors.torch", "text2motion").load_file
    weights = folder / FILES[1]
    try:
        content = yaml.safe_load((folder / FILES[0]).read_text(encoding="utf-8"))
        version = content["schema_version"]
        if version != SCHEMA_VERSION:
            raise ValueError(f"schema version {version}, expected {SCHEMA_VERSION}")
        sha256 = sha256_of(weights)
        if sha256 != content["weights_sha256"]:
            raise ValueError(f"{weights.name} has sha256 {sha256}, expected {content['weights_sha256']}")
        config = ModelConfig(**content["sizes"])
        tensors = {
            key: value.double() if key.startswith("skeleton/") else value.float()
            for key, value in load_file(str(weights)).items()
        }
        tokenizer, transformer = MotionTokenizer(config), MotionTransformer(config)
        for prefix, network in (("tokenizer/", tokenizer), ("transformer/", transformer)):
            network.load_state_dict({k.removeprefix(prefix): v for k, v in tensors.items() if k.startswith(prefix)})
            network.eval().requires_grad_(False)
        transformer.use_books(tokenizer.quantiser.books)
        lengths, rest = tensors["skeleton/bone_lengths"].numpy(), tensors["skeleton/rest"].numpy()
    except Exception as error:
        raise CorruptFileError(
            f"The text-to-motion model in {folder} cannot be used ({str(error).splitlines()[0]}). "
            "Restore the folder, or train it again with: python -m lagoon.text2motion.train data=FOLDER"
        ) from error
    bank = CommandBank.load(folder / FILES[2])
    path = folder / matching.FILE
    matcher = matching.load_matcher(path).network if path.is_file() else None
    return Model(folder.name, config, tokenizer, transformer, bank, lengths, rest, sha256, content["details"], matcher)
