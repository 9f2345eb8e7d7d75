from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import nn

from lagoon.errors import CorruptFileError
from lagoon.text2motion.mdm.texts import clip_encoder, text_features

WIDTH, LAYERS, PROJECTED = 128, 2, 512
WORDS = ("wave", "hello", "a", "person", "walks")


def _clip_state() -> dict[str, torch.Tensor]:
    shapes: dict[str, tuple[int, ...]] = {
        "text_model.embeddings.token_embedding.weight": (len(WORDS) + 2, WIDTH),
        "text_model.embeddings.position_embedding.weight": (77, WIDTH),
        "text_model.final_layer_norm.weight": (WIDTH,),
        "text_model.final_layer_norm.bias": (WIDTH,),
        "text_projection.weight": (PROJECTED, WIDTH),
    }
    for n in range(LAYERS):
        name = f"text_model.encoder.layers.{n}."
        shapes |= {f"{name}self_attn.{p}.weight": (WIDTH, WIDTH) for p in ("q_proj", "k_proj", "v_proj", "out_proj")}
        shapes |= {f"{name}self_attn.{p}.bias": (WIDTH,) for p in ("q_proj", "k_proj", "v_proj", "out_proj")}
        shapes |= {f"{name}mlp.fc1.weight": (4 * WIDTH, WIDTH), f"{name}mlp.fc1.bias": (4 * WIDTH,)}
        shapes |= {f"{name}mlp.fc2.weight": (WIDTH, 4 * WIDTH), f"{name}mlp.fc2.bias": (WIDTH,)}
        shapes |= {f"{name}layer_norm{k}.{p}": (WIDTH,) for k in (1, 2) for p in ("weight", "bias")}
    generator = torch.Generator().manual_seed(0)
    return {key: 0.1 * torch.randn(shape, generator=generator) for key, shape in shapes.items()}


@pytest.fixture
def clip(tmp_path: Path) -> tuple[Path, Path]:
    """The text encoder of a tiny CLIP with a tokenizer of five words."""
    from safetensors.torch import save_file
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    tokenizer = Tokenizer(models.WordLevel({w: i for i, w in enumerate((*WORDS, "<start>", "<end>"))}, "a"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    ends = [("<start>", 5), ("<end>", 6)]
    tokenizer.post_processor = processors.TemplateProcessing("<start> $A <end>", special_tokens=ends)
    tokenizer.enable_padding(length=77)  # As in files that transformers saves for training.
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    save_file(_clip_state() | {"visual_projection.weight": torch.zeros(1)}, str(tmp_path / "model.safetensors"))
    return tmp_path / "model.safetensors", tmp_path / "tokenizer.json"


def _reference(ids: list[int]) -> torch.Tensor:
    """The same with torch's own layers and a mask, padded to 77 as CLIP pads."""
    w = _clip_state()
    layer = nn.TransformerEncoderLayer(
        WIDTH, WIDTH // 64, 4 * WIDTH, 0.0, lambda x: x * torch.sigmoid(1.702 * x), norm_first=True, batch_first=True
    )
    padded = torch.tensor([ids + [0] * (77 - len(ids))])
    x = w["text_model.embeddings.token_embedding.weight"][padded]
    x = x + w["text_model.embeddings.position_embedding.weight"]
    mask = nn.Transformer.generate_square_subsequent_mask(77)
    for n in range(LAYERS):
        part = lambda name, n=n: w[f"text_model.encoder.layers.{n}.{name}"]  # noqa: E731
        state = {
            "self_attn.in_proj_weight": torch.cat([part(f"self_attn.{p}_proj.weight") for p in "qkv"]),
            "self_attn.in_proj_bias": torch.cat([part(f"self_attn.{p}_proj.bias") for p in "qkv"]),
        }
        names = {"self_attn.out_proj": "self_attn.out_proj", "linear1": "mlp.fc1", "linear2": "mlp.fc2"}
        names |= {"norm1": "layer_norm1", "norm2": "layer_norm2"}
        state |= {f"{new}.{p}": part(f"{old}.{p}") for new, old in names.items() for p in ("weight", "bias")}
        layer.load_state_dict(state)
        with torch.no_grad():
            x = layer.eval()(x, src_mask=mask)
    norm = [w[f"text_model.final_layer_norm.{p}"] for p in ("weight", "bias")]
    x = nn.functional.layer_norm(x, (WIDTH,), *norm)
    return x[:, len(ids) - 1] @ w["text_projection.weight"].T


def test_clips_text_encoder_computes_what_clip_computes(clip: tuple[Path, Path]) -> None:
    found = text_features(clip, ("Wave hello",), PROJECTED)
    assert torch.allclose(found, _reference([5, 0, 1, 6]), atol=1e-5)


def test_long_texts_are_cut_to_twenty_words_and_both_ends(clip: tuple[Path, Path]) -> None:
    found = clip_encoder(*clip)("walks " * 40)
    assert torch.allclose(found, _reference([5] + [4] * 20 + [6]), atol=1e-5)


def test_damaged_encoders_are_refused(clip: tuple[Path, Path]) -> None:
    from safetensors.torch import save_file

    weights, tokenizer = clip
    kept = {k: v for k, v in _clip_state().items() if "final_layer_norm" not in k}
    save_file(kept, str(weights))
    with pytest.raises(CorruptFileError, match=r"does not fit CLIP's text encoder.*final_layer_norm"):
        clip_encoder(weights, tokenizer)("wave")
    tokenizer.write_text("{}")
    with pytest.raises(CorruptFileError, match="cannot be read as CLIP's text encoder"):
        clip_encoder(weights, tokenizer)
