"""Texts as CLIP's vectors, from a local file: features computed elsewhere, or CLIP's text encoder itself.

What enters: the paths that files.find returned, and a text. What leaves: a vector (1, 512).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import layer_norm, linear, scaled_dot_product_attention

from lagoon.errors import BadInputError, CorruptFileError, RefusedCommandError, require

MOST_TOKENS = 22
"""Tokens of a text that count, start and end included, as in the model's training."""
HEAD_WIDTH = 64
"""Width of one attention head; the same in every published CLIP."""


def text_features(files: tuple[Path, ...], texts: tuple[str, ...], width: int) -> Tensor:
    """The vector (1, width) of the first of some wordings that can be encoded.

    Args:
        files: an npz file, or CLIP's model.safetensors and tokenizer.json.
        texts: wordings of one command, the best first; features computed elsewhere may have only one of them.
        width: what the denoiser expects.

    Raises:
        RefusedCommandError: the npz file has none of the texts; the ones it has are listed.
        BadInputError: the vectors have another width.
        CorruptFileError: a file is damaged.
    """
    found = _from_npz(files[0], texts) if len(files) == 1 else clip_encoder(*files)(texts[0])
    if found.shape != (1, width):
        raise BadInputError(
            f"{files[0]} gives vectors of {found.shape[-1]} numbers; the checkpoint expects {width}. Use CLIP "
            "ViT-B/32, whose vectors have 512, or the encoder that the checkpoint was trained with."
        )
    return found


def _from_npz(path: Path, texts: tuple[str, ...]) -> Tensor:
    """Look a text up, whatever its case and spaces; keys ``texts`` (N,) and ``features`` (N, width)."""
    try:
        with np.load(path, allow_pickle=False) as archive:
            known, features = [str(text) for text in archive["texts"]], np.asarray(archive["features"], np.float32)
        if features.ndim != 2 or len(features) != len(known) or not np.isfinite(features).all():
            raise ValueError(f"{len(known)} texts, features of shape {features.shape}")
    except Exception as error:
        raise CorruptFileError(
            f"{path} cannot be read as text features ({error}). Expected an npz file, without pickle, with texts (N,) "
            "and finite features (N, 512), one row a text."
        ) from error
    rows = {_plain(text): row for text, row in zip(known, features, strict=True)}
    for text in texts:
        if _plain(text) in rows:
            return torch.from_numpy(rows[_plain(text)].copy())[None]
    listed = ", ".join(f"'{text}'" for text in known[:8])
    raise RefusedCommandError(
        f"{path} has no features of the text '{texts[0]}'. It has {len(known)} texts: {listed}. Use one of those, or "
        "CLIP's own text encoder, which takes any text: generate.mdm.text=FOLDER."
    )


def _plain(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.lower()))


def clip_encoder(weights: Path, tokenizer: Path) -> Callable[[str], Tensor]:
    """CLIP's text encoder, in the layout that Hugging Face's transformers saves.

    Source: Radford et al. 2021, "Learning Transferable Visual Models From Natural Language Supervision", sec. 2.4.

    Raises:
        CorruptFileError: a file is damaged or lacks a tensor.
    """
    load_file = require("safetensors.torch", "text2motion").load_file
    tokenizers = require("tokenizers", "text2motion")
    try:
        w = {k: v.float() for k, v in load_file(str(weights)).items() if k.startswith("text_")}
        tokens = tokenizers.Tokenizer.from_file(str(tokenizer))
        tokens.no_padding()
        tokens.no_truncation()
        layers = 1 + max(int(n) for key in w for n in re.findall(r"encoder\.layers\.(\d+)\.", key))
    except Exception as error:
        raise CorruptFileError(
            f"{weights} and {tokenizer} cannot be read as CLIP's text encoder ({str(error).splitlines()[0]}). "
            "Expected what transformers saves for CLIP: tensors text_model.* and text_projection.weight."
        ) from error

    def encode(text: str) -> Tensor:
        ids = tokens.encode(text.lower()).ids
        ids = torch.tensor([*ids[: MOST_TOKENS - 1], ids[-1]] if len(ids) > MOST_TOKENS else ids)
        try:
            return _clip_forward(w, layers, ids)
        except (KeyError, RuntimeError, IndexError) as error:
            raise CorruptFileError(
                f"{weights} does not fit CLIP's text encoder: {' '.join(str(error).split())[:200]}. "
                "Use model.safetensors and tokenizer.json of one model."
            ) from error

    return encode


@torch.no_grad()
def _clip_forward(w: dict[str, Tensor], layers: int, ids: Tensor) -> Tensor:
    """Projected state (1, width) of the last token of ids (L,)."""
    name = "text_model.embeddings."
    x = w[f"{name}token_embedding.weight"][ids] + w[f"{name}position_embedding.weight"][: len(ids)]
    heads = x.shape[-1] // HEAD_WIDTH

    def apply(value: Tensor, part: str) -> Tensor:
        return linear(value, w[f"{part}.weight"], w[f"{part}.bias"])

    def norm(value: Tensor, part: str) -> Tensor:
        return layer_norm(value, (value.shape[-1],), w[f"{part}.weight"], w[f"{part}.bias"])

    def split(value: Tensor) -> Tensor:
        return value.view(len(ids), heads, HEAD_WIDTH).transpose(0, 1)

    for index in range(layers):
        name = f"text_model.encoder.layers.{index}."
        y = norm(x, f"{name}layer_norm1")
        q, k, v = (split(apply(y, f"{name}self_attn.{part}_proj")) for part in "qkv")
        mixed = scaled_dot_product_attention(q, k, v, is_causal=True).transpose(0, 1).flatten(1)
        x = x + apply(mixed, f"{name}self_attn.out_proj")
        y = apply(norm(x, f"{name}layer_norm2"), f"{name}mlp.fc1")
        x = x + apply(y * torch.sigmoid(1.702 * y), f"{name}mlp.fc2")
    return linear(norm(x, "text_model.final_layer_norm")[-1:], w["text_projection.weight"])
