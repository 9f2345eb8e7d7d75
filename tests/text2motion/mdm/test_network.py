from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import nn

from lagoon.errors import BadInputError, CorruptFileError
from lagoon.text2motion.mdm.checkpoint import Sizes, load_checkpoint
from lagoon.text2motion.mdm.network import _NAMES, Denoiser, build

from .conftest import FEEDFORWARD, HEADS, LAYERS, TEXT, WIDTH, published_shapes, write_folder

State = dict[str, torch.Tensor]


def _load(folder: Path):
    return load_checkpoint(folder / "model000000100.pt", folder / "args.json")


def test_sizes_are_read_off_the_tensors(folder: Path) -> None:
    checkpoint = _load(folder)
    assert checkpoint.sizes == Sizes(WIDTH, LAYERS, HEADS, FEEDFORWARD, TEXT)
    assert (checkpoint.noise.steps, checkpoint.noise.schedule, checkpoint.noise.sigma_small) == (50, "cosine", True)


def test_a_network_of_the_published_size_has_exactly_the_published_keys_and_shapes() -> None:
    with torch.device("meta"):
        made = Denoiser(Sizes(512, 8, 4, 1024, 512)).state_dict()
    back = {new: old for old, new in _NAMES.items()}
    found = {}
    for key, value in made.items():
        prefix = next(new for new in back if key.startswith(new))
        found[back[prefix] + key.removeprefix(prefix)] = tuple(value.shape)
    wanted = {k: s for k, s in published_shapes(512, 8, 1024, 512).items() if not k.endswith(".pe")}
    assert found == wanted


def test_it_computes_what_the_published_forward_pass_computes(folder: Path, state: State) -> None:
    """Written down a second time, sequence first, with torch's own layers and the checkpoint's own sines."""
    network = build(_load(folder))
    generator = torch.Generator().manual_seed(1)
    x, level = torch.randn(2, 263, 1, 9, generator=generator), torch.tensor([3, 40])
    text = torch.randn(2, TEXT, generator=generator)
    linear = lambda v, name: nn.functional.linear(v, state[f"{name}.weight"], state[f"{name}.bias"])  # noqa: E731
    layer = nn.TransformerEncoderLayer(WIDTH, HEADS, FEEDFORWARD, 0.1, "gelu")
    encoder = nn.TransformerEncoder(layer, LAYERS, enable_nested_tensor=False).eval()
    inner = {k.removeprefix("seqTransEncoder."): v for k, v in state.items() if k.startswith("seqTransEncoder.")}
    encoder.load_state_dict(inner)
    pe = state["sequence_pos_encoder.pe"]
    time = nn.functional.silu(linear(pe[level], "embed_timestep.time_embed.0"))
    emb = linear(time, "embed_timestep.time_embed.2").permute(1, 0, 2) + linear(text, "embed_text")
    frames = linear(x.permute(3, 0, 1, 2).reshape(9, 2, 263), "input_process.poseEmbedding")
    sequence = torch.cat([emb, frames])
    with torch.no_grad():
        out = linear(encoder(sequence + pe[: len(sequence)])[1:], "output_process.poseFinal")
        found = network(x[:, :, 0].permute(0, 2, 1), level, text)
    assert torch.allclose(found, out.permute(1, 0, 2), atol=1e-4)


@pytest.mark.parametrize("wrap", [lambda s: s, lambda s: {"model": s}, lambda s: {"model": {}, "model_avg": s}])
def test_averaged_weights_are_preferred_and_bare_ones_read(tmp_path: Path, state: State, wrap) -> None:
    folder = write_folder(tmp_path / "m", wrap(state))
    assert torch.equal(_load(folder).tensors["embed_text.bias"], state["embed_text.bias"])


def test_safetensors_are_read(folder: Path, state: State) -> None:
    from safetensors.torch import save_file

    save_file({k: v.contiguous().clone() for k, v in state.items()}, str(folder / "model.safetensors"))
    build(load_checkpoint(folder / "model.safetensors", folder / "args.json"))


class Evil:
    """Writes a file when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self):
        return (Path.touch, (self.path,))


def test_a_file_with_python_objects_is_refused_and_nothing_of_it_runs(folder: Path, state: State) -> None:
    torch.save({**state, "extra": Evil(folder / "ran")}, folder / "model000000100.pt")
    with pytest.raises(BadInputError, match=r"cannot be read as tensors only .* is refused.*write its tensors alone"):
        _load(folder)
    assert not (folder / "ran").exists()
    torch.save(state, folder / "model000000100.pt", _use_new_zipfile_serialization=False)
    with pytest.raises(BadInputError, match=r"not a zip archive.*write its tensors alone"):
        _load(folder)


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04", b"junk" * 100])
def test_a_damaged_file_is_refused(folder: Path, content: bytes) -> None:
    (folder / "model000000100.pt").write_bytes(content)
    with pytest.raises(BadInputError, match="cannot be read as tensors only"):
        _load(folder)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda s: s.pop("embed_text.weight"), "has no 'embed_text.weight'"),
        (lambda s: s.pop("embed_text.bias"), "Missing key"),
        (lambda s: s.update(more=torch.zeros(2)), "Unexpected key.*more"),
        (lambda s: s.update({"embed_text.bias": torch.full((WIDTH,), torch.nan)}), "not finite in embed_text.bias"),
        (lambda s: s.update({"embed_text.bias": torch.zeros(3)}), "size mismatch"),
        (lambda s: s.update(epoch=3), "holds epoch where tensors were expected"),
        (lambda s: s.clear(), "holds nothing where tensors"),
    ],
)
def test_wrong_keys_are_named(tmp_path: Path, state: State, change, words: str) -> None:
    change(state)
    with pytest.raises(CorruptFileError, match=words):
        build(_load(write_folder(tmp_path / "m", state)))


def test_another_data_set_is_refused_by_its_features(tmp_path: Path, state: State) -> None:
    state["input_process.poseEmbedding.weight"] = torch.zeros(WIDTH, 251)
    with pytest.raises(BadInputError, match="takes 251 features per frame; expected the 263"):
        _load(write_folder(tmp_path / "m", state))


@pytest.mark.parametrize(
    ("args", "words"),
    [
        ({"arch": "trans_dec"}, "arch='trans_dec'; only arch='trans_enc' is supported"),
        ({"dataset": "kit"}, "dataset='kit'"),
        ({"text_encoder_type": "bert"}, "text_encoder_type='bert'"),
        ({"pred_len": 40}, "pred_len=40"),
        ({"diffusion_steps": "many"}, "diffusion_steps='many'"),
        ({"noise_schedule": "sigmoid"}, "noise_schedule='sigmoid'"),
        ({"num_heads": 5}, "32 wide, which does not split over 5 heads"),
    ],
)
def test_what_is_not_supported_is_said(tmp_path: Path, state: State, args: dict, words: str) -> None:
    with pytest.raises(BadInputError, match=words):
        _load(write_folder(tmp_path / "m", state, **args))


@pytest.mark.parametrize("text", ["{", "[1]", ""])
def test_a_damaged_args_file_is_refused(folder: Path, text: str) -> None:
    (folder / "args.json").write_text(text)
    with pytest.raises(CorruptFileError, match=r"args.json"):
        _load(folder)
