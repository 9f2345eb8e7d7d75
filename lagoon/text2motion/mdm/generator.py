"""The generator ``mdm``: a Motion Diffusion Model checkpoint of the user's own, from local files.

What enters: GenerateConfig, then requests. What leaves: HumanMotion at 20 fps with constant bones, over the floor.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from lagoon.errors import BadInputError, CorruptFileError
from lagoon.motion import humanml3d
from lagoon.motion.bones import bone_lengths, with_bones
from lagoon.motion.human_motion import HumanMotion
from lagoon.motion.skeleton import JOINT_NAMES
from lagoon.paths import sha256_of
from lagoon.text2motion import features
from lagoon.text2motion.config import FPS, GenerateConfig
from lagoon.text2motion.generator import Request
from lagoon.text2motion.mdm import files
from lagoon.text2motion.mdm.checkpoint import load_checkpoint
from lagoon.text2motion.mdm.diffusion import sample, schedule
from lagoon.text2motion.mdm.network import build
from lagoon.text2motion.mdm.texts import text_features

MAX_FRAMES = 196
"""Longest motion the published models were trained on [frames at 20 fps]."""


class MdmGenerator:
    """Diffusion in HumanML3D's features."""

    open_vocabulary = True

    def __init__(self, config: GenerateConfig) -> None:
        """Find and read all files.

        Raises:
            BadInputError: files are missing, all of them named, or of a kind that is not supported.
            CorruptFileError: a file is damaged.
        """
        self.settings, self.files = config.mdm, files.find(config)
        self.mean, self.std = (_statistics(path) for path in (self.files.mean, self.files.std))
        checkpoint = load_checkpoint(self.files.weights, self.files.args)
        self.sizes, self.noise = checkpoint.sizes, checkpoint.noise
        self.guidance = self.settings.guidance if checkpoint.guided else 1.0
        self.network = build(checkpoint)

    def generate(self, request: Request) -> HumanMotion:
        """Sample one motion."""
        settings = self.settings
        frames = int(np.clip(round(request.seconds * FPS) + 1, 2, MAX_FRAMES))
        text = text_features(self.files.text, (request.reading.words, request.command), self.sizes.text_width)
        pair = torch.cat([text, torch.zeros_like(text)])

        def denoise(noisy: Tensor, level: int) -> Tensor:
            with_words, without = self.network(noisy.repeat(2, 1, 1), torch.full((2,), level), pair)
            return (without + self.guidance * (with_words - without))[None]

        plan = schedule(self.noise, settings.steps)
        drawn = sample(
            denoise,
            (1, frames, humanml3d.NUM_FEATURES),
            plan,
            torch.Generator().manual_seed(request.seed),
            settings.sampler == "ddim",
            lambda fraction, message="": request.progress(0.2 + 0.75 * fraction, message),
        )
        rows = drawn[0].double().numpy() * self.std + self.mean
        return HumanMotion(
            fps=FPS,
            joint_names=JOINT_NAMES,
            joint_pos_w=on_floor(humanml3d.decode(rows)),
            source={
                "model": f"{self.files.weights.parent.name}/{self.files.weights.name}",
                "weights_sha256": sha256_of(self.files.weights),
                "seed": str(request.seed),
                "steps": str(len(plan.levels)),
                "sampler": settings.sampler,
                "guidance": f"{self.guidance:g}",
            },
        )


def on_floor(joint_pos_w: NDArray[np.float64]) -> NDArray[np.float64]:
    """Constant bones, over the origin, facing ahead, the lowest joint of the motion (T, 22, 3) [m] on the floor."""
    if not np.isfinite(joint_pos_w).all():
        raise BadInputError(
            "The Motion Diffusion Model produced numbers that are not finite. Lower generate.mdm.guidance, or use "
            "another checkpoint."
        )
    out = features.canonical(with_bones(joint_pos_w, np.median(bone_lengths(joint_pos_w), axis=0)))
    out[..., 2] -= out[..., 2].min()
    return out


def _statistics(path: Path) -> NDArray[np.float64]:
    try:
        values = np.asarray(np.load(path, allow_pickle=False), float)
    except (ValueError, OSError, EOFError) as error:
        raise CorruptFileError(f"{path} cannot be read as an array ({error}). Copy it again.") from error
    if values.shape != (humanml3d.NUM_FEATURES,) or not np.isfinite(values).all():
        raise BadInputError(
            f"{path} has shape {values.shape}; expected ({humanml3d.NUM_FEATURES},) finite numbers. Use Mean.npy and "
            "Std.npy of HumanML3D, not those of its evaluator."
        )
    return values
