"""Reads a Motion Diffusion Model checkpoint without running any code from it.

What enters: the file of weights and ``args.json``. What leaves: tensors, the sizes they imply, and what training
was told that tensors do not show. The layout of keys and settings is that of the published training code
(Tevet et al. 2022, "Human Motion Diffusion Model"), text through CLIP, encoder-only transformer.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import torch

from lagoon.errors import BadInputError, CorruptFileError, require
from lagoon.motion.humanml3d import NUM_FEATURES

HEADS = 4
"""Attention heads: fixed in the published code, and not to be seen in the tensors."""
IGNORED = re.compile(r"^(clip_model\.|sequence_pos_encoder\.pe$|embed_timestep\.sequence_pos_encoder\.pe$)")
"""Keys that carry nothing learned here: CLIP itself, and sines that are computed anew."""
_SUPPORTED = {
    "dataset": ("humanml", "humanml"),
    "arch": ("trans_enc", "trans_enc"),
    "text_encoder_type": ("clip", "clip"),
    "emb_policy": ("add", "add"),
    "pred_len": (0, 0),
    "context_len": (0, 0),
    "unconstrained": (False, False),
}
"""Setting to (default of files that lack it, the one value that is supported)."""


@dataclass(frozen=True)
class Sizes:
    """Sizes of the network, read off its tensors."""

    width: int
    layers: int
    heads: int
    feedforward: int
    text_width: int


@dataclass(frozen=True)
class Noise:
    """The noise levels of training."""

    steps: int
    """How many."""
    schedule: Literal["cosine", "linear"]
    """How they fall."""
    sigma_small: bool
    """Whether sampling uses the smaller of the two usual variances."""


@dataclass(frozen=True)
class Checkpoint:
    """What a checkpoint holds."""

    tensors: dict[str, torch.Tensor]
    """Learned tensors by their published keys, float32."""
    sizes: Sizes
    noise: Noise
    guided: bool
    """Whether training also hid the text, without which guidance has no meaning."""


def load_checkpoint(weights: Path, args: Path) -> Checkpoint:
    """Read both files.

    Raises:
        BadInputError: the checkpoint is of a kind that is not supported, or holds more than tensors.
        CorruptFileError: a file is damaged, or keys are missing or unexpected.
    """
    settings = _read_args(args)
    tensors = _learned(weights, _read_tensors(weights))
    guided = settings.get("cond_mask_prob", 0.1) != 0
    return Checkpoint(tensors, _sizes(weights, tensors, settings), _noise(args, settings), guided)


def _read_tensors(path: Path) -> dict[str, Any]:
    """The file's content as plain data and tensors."""
    try:
        if path.suffix == ".safetensors":
            return dict(require("safetensors.torch", "text2motion").load_file(str(path)))
        with path.open("rb") as file:
            if file.read(4) != b"PK\x03\x04":
                raise ValueError("it is not a zip archive, the format torch.save writes since 2020")
        content = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:
        cause = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise BadInputError(
            f"The checkpoint {path} cannot be read as tensors only ({cause}). It may be damaged, or hold Python "
            "objects, which could run code when read, so it is refused. Where you trust its source, write its tensors "
            "alone: python -c \"import torch; s = torch.load('OLD.pt', map_location='cpu', weights_only=False); "
            "torch.save(s.get('model_avg', s.get('model', s)), 'NEW.pt')\""
        ) from error
    if not isinstance(content, dict):
        raise BadInputError(f"The checkpoint {path} holds a {type(content).__name__}; expected tensors by name.")
    for inner in ("model_avg", "model"):
        if isinstance(content.get(inner), dict):
            return dict(content[inner])
    return content


def _learned(path: Path, content: dict[str, Any]) -> dict[str, torch.Tensor]:
    tensors = {str(key): value for key, value in content.items() if not IGNORED.match(str(key))}
    wrong = [key for key, value in tensors.items() if not isinstance(value, torch.Tensor)]
    if wrong or not tensors:
        held = ", ".join(wrong[:5]) or "nothing"
        raise CorruptFileError(f"The checkpoint {path} holds {held} where tensors were expected. Copy it again.")
    bad = [key for key, value in tensors.items() if not torch.isfinite(value.float()).all()]
    if bad:
        raise CorruptFileError(f"The checkpoint {path} has numbers that are not finite in {bad[0]}. Copy it again.")
    return {key: value.float() for key, value in tensors.items()}


def _read_args(path: Path) -> dict[str, Any]:
    try:
        settings = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, OSError) as error:
        raise CorruptFileError(f"{path} cannot be read as JSON ({error}). Copy it again from the training.") from error
    if not isinstance(settings, dict):
        raise CorruptFileError(f"{path} holds a {type(settings).__name__}; expected settings by name. Copy it again.")
    for name, (default, supported) in _SUPPORTED.items():
        value = settings.get(name, default)
        if value != supported:
            raise BadInputError(
                f"{path} says {name}={value!r}; only {name}={supported!r} is supported. Use a checkpoint trained so, "
                "or bring a generator of your own: docs/text2motion.md."
            )
    return settings


def _sizes(path: Path, tensors: dict[str, torch.Tensor], settings: dict[str, Any]) -> Sizes:
    """Read sizes off shapes."""
    layers = {int(n) for key in tensors for n in re.findall(r"^seqTransEncoder\.layers\.(\d+)\.", key)}
    try:
        pose = tensors["input_process.poseEmbedding.weight"].shape
        text = tensors["embed_text.weight"].shape
        hidden = tensors["seqTransEncoder.layers.0.linear1.weight"].shape
    except KeyError as error:
        raise CorruptFileError(
            f"The checkpoint {path} has no {error}; it is no Motion Diffusion Model with text and an encoder-only "
            f"transformer. It has: {', '.join(sorted(tensors)[:4])}, ..."
        ) from error
    if len(pose) != 2 or pose[1] != NUM_FEATURES:
        raise BadInputError(
            f"The checkpoint {path} takes {tuple(pose)[-1]} features per frame; expected the {NUM_FEATURES} of "
            "HumanML3D. Use a checkpoint trained on that data set."
        )
    heads = int(settings.get("num_heads", HEADS))
    if heads < 1 or pose[0] % heads:
        raise BadInputError(f"The checkpoint {path} is {pose[0]} wide, which does not split over {heads} heads.")
    return Sizes(pose[0], len(layers), heads, hidden[0], text[1])


def _noise(path: Path, settings: dict[str, Any]) -> Noise:
    steps, schedule = settings.get("diffusion_steps", 1000), settings.get("noise_schedule", "cosine")
    if not isinstance(steps, int) or not 2 <= steps <= 10_000 or schedule not in ("cosine", "linear"):
        raise BadInputError(
            f"{path} says diffusion_steps={steps!r} and noise_schedule={schedule!r}; expected a whole number of 2 or "
            "more, and cosine or linear. Copy it again from the training."
        )
    return Noise(steps, schedule, bool(settings.get("sigma_small", True)))
