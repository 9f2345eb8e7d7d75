"""How well do words and a motion fit? Two small networks that put both into one space.

What enters: encoded texts, joint positions. What leaves: unit vectors; their cosine says how well a text fits
a motion. One such pair of networks chooses among candidates, another one, trained apart, judges the result.

Source: contrastive pre-training as in CLIP (Radford et al. 2021, figure 3); its use for motion as in TMR
(Petrovich et al. 2023).
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
import torch
import yaml
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.functional import gelu, normalize, silu

from lagoon.errors import BadInputError, CorruptFileError, require
from lagoon.paths import data_dir, write_bytes
from lagoon.text2motion import features
from lagoon.text2motion.config import JUDGE
from lagoon.text2motion.matching_config import MatcherConfig
from lagoon.text2motion.text_encoder import Encoding
from lagoon.text2motion.texts import TextBatch, text_batch
from lagoon.text2motion.tokenizer import Residual, feature_scale

FILE = "matcher.safetensors"
"""Name of the file in a model's folder."""
SHORTEST = 16
"""Frames below which a motion is extended by its last pose; the network looks at pieces of 4."""


class Matcher(nn.Module):
    """Motions (N, T, 71) and texts (N, W, 384) to unit vectors (N, D)."""

    scale: Tensor

    def __init__(self, config: MatcherConfig) -> None:
        """Build it; training or load_matcher fills it."""
        super().__init__()
        width, size = config.width, config.size
        self.config = config
        self.register_buffer("scale", feature_scale(config.head_weight), persistent=False)
        self.enter = nn.Conv1d(features.NUM_FEATURES, width, 4, stride=2, padding=1)
        self.shorten = nn.Conv1d(width, width, 4, stride=2, padding=1)
        self.blocks = nn.ModuleList(Residual(width, dilation, "zeros") for dilation in (1, 2, 4))
        self.motion_out = nn.Sequential(nn.Linear(2 * width, width), nn.GELU(), nn.Linear(width, size))
        self.word = nn.Linear(config.text_width, width)
        self.query = nn.Parameter(torch.randn(4, width) * width**-0.5)
        self.sentence = nn.Linear(config.text_width, width)
        self.text_out = nn.Sequential(nn.Linear(5 * width, width), nn.GELU(), nn.Linear(width, size))
        self.dropout = nn.Dropout(config.dropout)
        self.sharpness = nn.Parameter(torch.tensor(2.5))

    def motion(self, rows: Tensor, lengths: Tensor) -> Tensor:
        """Unit vectors (N, D) of features (N, T, 71), of which the first ``lengths`` (N,) are real."""
        x = silu(self.enter((rows / self.scale).transpose(1, 2)))
        x = silu(self.shorten(x * (torch.arange(x.shape[-1]) < (lengths[:, None] / 2).ceil())[:, None]))
        real = torch.arange(x.shape[-1]) < (lengths[:, None] / 4).ceil()
        x = x * real[:, None]
        for block in self.blocks:
            x = block(x) * real[:, None]
        mean = (x * real[:, None]).sum(-1) / real.sum(-1, keepdim=True)
        most = x.masked_fill(~real[:, None], -1e4).amax(-1)
        return normalize(self.motion_out(self.dropout(torch.cat([mean, most], -1))), dim=-1)

    def text(self, text: TextBatch) -> Tensor:
        """Unit vectors (N, D) of encoded texts."""
        words = gelu(self.word(text.states))
        weight = (words @ self.query.T).masked_fill(~text.mask[..., None], -1e4).softmax(1)
        pooled = (weight.transpose(1, 2) @ words).flatten(1)
        whole = gelu(self.sentence(text.sentence))
        return normalize(self.text_out(self.dropout(torch.cat([pooled, whole], -1))), dim=-1)

    @torch.no_grad()
    def embed_motions(self, motions: list[NDArray[np.float64]]) -> NDArray[np.float64]:
        """Unit vectors (N, D) of joint positions, each (T, 22, 3) [m]."""
        rows, lengths = motion_batch([features.encode(motion).astype(np.float32) for motion in motions])
        return self.motion(rows, lengths).double().numpy()

    @torch.no_grad()
    def embed_texts(self, encodings: list[Encoding]) -> NDArray[np.float64]:
        """Unit vectors (N, D) of encoded texts."""
        return self.text(text_batch(encodings)).double().numpy()


def motion_batch(motions: list[NDArray[np.float32]]) -> tuple[Tensor, Tensor]:
    """Pad features, each (T, 71), to one length; short ones hold their last frame at rest.

    Returns:
        Features (N, T, 71) and lengths (N,).
    """
    lengths = [max(len(motion), SHORTEST) for motion in motions]
    rows = np.zeros((len(motions), -(-max(lengths) // 4) * 4, features.NUM_FEATURES), np.float32)
    for row, motion, length in zip(rows, motions, lengths, strict=True):
        row[: len(motion)] = motion
        row[len(motion) : length] = motion[-1]
        row[len(motion) : length, : features.HEIGHT.start] = 0.0
    return torch.from_numpy(rows), torch.tensor(lengths)


@dataclass(frozen=True)
class Trained:
    """A trained matcher and where it comes from."""

    network: Matcher
    """The two networks."""
    details: dict
    """Seed, steps, data and held-out numbers of its training."""


def save_matcher(path: Path, network: Matcher, details: dict) -> None:
    """Write one safetensors file in half precision; sizes and details go into its header."""
    save = require("safetensors.torch", "text2motion").save
    header = {"sizes": yaml.safe_dump(asdict(network.config)), "details": yaml.safe_dump(details)}
    tensors = {key: value.half().contiguous() for key, value in network.state_dict().items()}
    write_bytes(path, save(tensors, metadata=header))


def load_matcher(path: Path) -> Trained:
    """Read what save_matcher wrote; the same file is read once per process.

    Raises:
        BadInputError: there is no such file.
        CorruptFileError: it cannot be read or does not fit its sizes.
    """
    if not path.is_file():
        raise BadInputError(
            f"There is no matching network at {path}. Restore the file, or train one with: "
            "python -m lagoon.text2motion.train_matching data=FOLDER"
        )
    return _load(path.resolve(), path.stat().st_mtime_ns)


@lru_cache(maxsize=4)
def _load(path: Path, stamp: int) -> Trained:
    safe_open = require("safetensors", "text2motion").safe_open
    try:
        with safe_open(str(path), framework="pt") as file:
            header = file.metadata()
            tensors = {key: file.get_tensor(key).float() for key in file.keys()}  # noqa: SIM118
        network = Matcher(MatcherConfig(**yaml.safe_load(header["sizes"])))
        network.load_state_dict(tensors)
        return Trained(network.eval().requires_grad_(False), yaml.safe_load(header["details"]))
    except Exception as error:
        raise CorruptFileError(
            f"The matching network {path} cannot be used ({str(error).splitlines()[0]}). Restore the file, or train "
            "it again with: python -m lagoon.text2motion.train_matching data=FOLDER"
        ) from error


def load_judge() -> Trained:
    """The network that evaluates: never used to choose, so that what was chosen is not judged by its chooser."""
    return load_matcher(data_dir("assets") / "models" / JUDGE / FILE)
