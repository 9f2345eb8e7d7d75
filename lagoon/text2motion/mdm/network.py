"""The denoiser: noisy features, noise level and text to clean features.

What enters: a Checkpoint. What leaves: a torch module that predicts x0.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from lagoon.errors import CorruptFileError
from lagoon.motion.humanml3d import NUM_FEATURES
from lagoon.text2motion.mdm.checkpoint import Checkpoint, Sizes

_NAMES = {
    "input_process.poseEmbedding.": "pose_in.",
    "output_process.poseFinal.": "pose_out.",
    "embed_timestep.time_embed.": "level_in.",
    "embed_text.": "text_in.",
    "seqTransEncoder.layers.": "encoder.layers.",
}
"""Published keys to this module's."""


class Denoiser(nn.Module):
    """Transformer encoder over [condition, frame 1, ..., frame T]."""

    def __init__(self, sizes: Sizes) -> None:
        """Build with random weights."""
        super().__init__()
        self.width = sizes.width
        self.pose_in = nn.Linear(NUM_FEATURES, sizes.width)
        self.pose_out = nn.Linear(sizes.width, NUM_FEATURES)
        self.level_in = nn.Sequential(
            nn.Linear(sizes.width, sizes.width), nn.SiLU(), nn.Linear(sizes.width, sizes.width)
        )
        self.text_in = nn.Linear(sizes.text_width, sizes.width)
        layer = nn.TransformerEncoderLayer(
            sizes.width, sizes.heads, sizes.feedforward, dropout=0.0, activation="gelu", batch_first=True
        )
        self.encoder = nn.TransformerEncoder(layer, sizes.layers, enable_nested_tensor=False)

    def forward(self, noisy: Tensor, level: Tensor, text: Tensor) -> Tensor:
        """Predict x0.

        Args:
            noisy: (B, T, 263) normalised features with noise.
            level: (B,) noise level of training, 0 the least.
            text: (B, text width); zeros for no text.

        Returns:
            (B, T, 263) normalised features.
        """
        condition = self.level_in(_sines(level, self.width)) + self.text_in(text)
        tokens = torch.cat([condition[:, None], self.pose_in(noisy)], dim=1)
        tokens = tokens + _sines(torch.arange(tokens.shape[1]), self.width)
        return self.pose_out(self.encoder(tokens)[:, 1:])


def build(checkpoint: Checkpoint) -> Denoiser:
    """Make the network and fill it.

    Raises:
        CorruptFileError: keys are missing or unexpected, or shapes differ.
    """
    network = Denoiser(checkpoint.sizes)
    state = {}
    for key, value in checkpoint.tensors.items():
        prefix = next((old for old in _NAMES if key.startswith(old)), None)
        state[_NAMES[prefix] + key.removeprefix(prefix) if prefix else key] = value
    try:
        network.load_state_dict(state)
    except RuntimeError as error:
        cause = " ".join(str(error).split())
        raise CorruptFileError(
            f"The checkpoint does not fit a Motion Diffusion Model of its own {checkpoint.sizes}: {cause[:300]}. "
            "Copy it again, or use another one."
        ) from error
    return network.eval().requires_grad_(False)


def _sines(position: Tensor, width: int) -> Tensor:
    """Sinusoidal encoding (N, width) of positions (N,); Vaswani et al. 2017."""
    rates = torch.exp(torch.arange(0, width, 2, dtype=torch.float32) * (-math.log(10_000.0) / width))
    angle = position[:, None].float() * rates
    return torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(1)[:, :width]
