"""Settings of the text-to-motion stage, as plain data.

What enters: values from the section ``generate``, from configs/text2motion/train/, or keyword arguments. What
leaves: frozen, validated dataclasses that generate.py and train.py take. Imports nothing heavy.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from lagoon.errors import BadSettingError, unknown_name

FPS = 20.0
"""Frame rate of every motion this stage reads or makes [Hz]."""
FRAMES_PER_STEP = 4
"""Frames that one token step stands for: 0.2 s at 20 fps."""
MIN_SECONDS, MAX_SECONDS = 0.5, 9.8
"""Shortest and longest duration one pass of the generator makes [s]; 9.8 s is the longest clip of the data."""
LONGEST = 20.0
"""Longest duration that can be asked for [s]; beyond one pass a motion goes on from its own last steps."""
DEFAULT_MODEL = "text2motion-parts"
"""Folder in assets/models that the model name 'default' stands for."""
PARTS = ("legs", "trunk", "arms")
"""Parts of the body that may have codes of their own: pelvis and legs; spine, head and shoulders; elbows and wrists."""
JUDGE = "text2motion-judge"
"""Folder in assets/models of the network that evaluates."""
DATA_SETS = ("permissive", "authored", "restricted")
"""Sets of the data folder; 'restricted' carries non-commercial and share-alike clauses."""


def require_setting(ok: bool, owner: str, name: str, value: object, expected: str) -> None:
    """Check one setting.

    Raises:
        BadSettingError: it is not ``ok``; owner, name, value and what was expected are named.
    """
    if not ok:
        raise BadSettingError(owner, name, value, expected)


def require_sets(sets: tuple[str, ...]) -> None:
    """Check names of data sets.

    Raises:
        BadInputError: one is unknown; the known ones are listed.
    """
    for name in sets:
        if name not in DATA_SETS:
            raise unknown_name("Data set", name, DATA_SETS, "Set it with sets=[permissive,authored].")


@dataclass(frozen=True)
class MdmConfig:
    """How a Motion Diffusion Model checkpoint is used; see docs/text2motion.md."""

    statistics: str = ""
    """Folder with HumanML3D's Mean.npy and Std.npy; empty looks beside the weights."""
    text: str = ""
    """Texts as vectors: an npz file of features, or a folder with CLIP's model.safetensors and tokenizer.json;
    empty looks beside the weights for text.npz and clip/."""
    steps: int = 50
    """Denoising steps; fewer than the checkpoint was trained with are spread evenly over its noise levels."""
    guidance: float = 2.5
    """Classifier-free guidance scale; 1 is plain conditional sampling."""
    sampler: Literal["ddpm", "ddim"] = "ddpm"
    """ddpm adds noise at every step; ddim does not, and needs fewer steps."""

    def __post_init__(self) -> None:
        """Validate every field.

        Raises:
            BadInputError: a value is outside its range.
        """
        require_setting(1 <= self.steps <= 1000, "MdmConfig", "steps", self.steps, "1 to 1000")
        require_setting(0.0 <= self.guidance <= 10.0, "MdmConfig", "guidance", self.guidance, "0 to 10")
        require_setting(self.sampler in ("ddpm", "ddim"), "MdmConfig", "sampler", self.sampler, "ddpm or ddim")


@dataclass(frozen=True)
class GenerateConfig:
    """How a command becomes a motion."""

    generator: str = "small"
    """What makes the motion: small (built in), mdm (a checkpoint you have), the name of an installed plug-in, or
    package.module:Class."""
    model: str = "default"
    """Weights: for small a name in assets/models or a folder with model.yaml and weights.safetensors; for mdm the
    checkpoint or its folder; other generators read it in their own way."""
    duration: float | None = None
    """Length of the motion [s], 0.5 to 20 (mdm makes 9.8 at most); None predicts it from the nearest known commands,
    2 to 8 s a step."""
    guidance: float = 3.0
    """Classifier-free guidance scale; 1 is plain conditional sampling, more follows the words more strictly."""
    temperature: float = 1.05
    """Softmax temperature; lower is closer to the most likely motion, higher is more varied."""
    top_p: float = 1.0
    """Nucleus: only the likeliest tokens that together hold this probability are drawn."""
    candidates: int = 24
    """Motions sampled for each step of a command; the best one is returned, and all their scores are kept."""
    appraised: int = 3
    """How many of them, the best by words and plausibility, are also tried on the robot; 0 leaves the robot out."""
    appraised_at_most: int = 12
    """How many of them are tried while none of those tried suits the robot: kicks and walks differ, waves do not."""
    variety: float = 1.5
    """How much worse than the best a motion may score to be taken for the sake of variety where the robot is not asked,
    in units of which one is just acceptable; 0 always takes the best. Where the robot is asked, it decides."""
    match_weight: float = 2.0
    """Score [plausibility units per nat per token] for how much the words raise a candidate's probability."""
    force: bool = False
    """Generate what the gate refuses, whatever the reason; only a command of nothing at all stays refused."""
    threshold: float = 0.55
    """Smallest cosine similarity to a known command that is accepted; measured in docs/text2motion.md."""
    settle: bool = True
    """Start and end standing gestures in a relaxed stand."""
    mdm: MdmConfig = field(default_factory=MdmConfig)
    """Used by generator=mdm only."""

    def __post_init__(self) -> None:
        """Validate every field.

        Raises:
            BadInputError: a value is outside its range.
        """
        owner = "GenerateConfig"
        require_setting(bool(self.generator), owner, "generator", self.generator, "a name or package.module:Class")
        require_setting(bool(self.model), owner, "model", self.model, "a model name or a folder")
        ok = self.duration is None or MIN_SECONDS <= self.duration <= LONGEST
        require_setting(ok, owner, "duration", self.duration, f"null or {MIN_SECONDS} to {LONGEST} seconds")
        require_setting(0.0 <= self.guidance <= 10.0, owner, "guidance", self.guidance, "0 to 10")
        require_setting(0.01 <= self.temperature <= 5.0, owner, "temperature", self.temperature, "0.01 to 5")
        require_setting(0.0 < self.top_p <= 1.0, owner, "top_p", self.top_p, "above 0 and at most 1")
        require_setting(1 <= self.candidates <= 64, owner, "candidates", self.candidates, "1 to 64")
        for name in ("appraised", "appraised_at_most"):
            require_setting(0 <= getattr(self, name) <= 64, owner, name, getattr(self, name), "0 to 64")
        require_setting(self.variety >= 0.0, owner, "variety", self.variety, "0 or more")
        require_setting(self.match_weight >= 0.0, owner, "match_weight", self.match_weight, "0 or more")
        require_setting(-1.0 <= self.threshold <= 1.0, owner, "threshold", self.threshold, "-1 to 1")


@dataclass(frozen=True)
class ModelConfig:
    """Sizes of the two networks; stored in model.yaml beside the weights."""

    groups: int = 8
    """Codes of one token step, coarse to fine: each refines what the ones before leave over."""
    codes: int = 512
    """Vocabulary of each."""
    latent: int = 64
    """Principal components of a step of 4 frames that are kept."""
    part_codes: tuple[int, ...] = ()
    """Codes of legs, trunk and arms, which add up to ``groups``; empty quantises the body as a whole."""
    part_latents: tuple[int, ...] = ()
    """Principal components of legs, trunk and arms, which add up to ``latent``; empty like part_codes."""
    head_weight: float = 1.0
    """How much more a centimetre of the head counts in the tokens than one of the other joints; a nod is small."""
    refiner_width: int = 128
    """Channels of the convolutional network that smooths decoded frames."""
    width: int = 160
    """Width of the transformer."""
    layers: int = 4
    """Transformer blocks."""
    heads: int = 5
    """Attention heads."""
    feedforward: int = 640
    """Hidden width of each block's feed-forward network."""
    text_width: int = 384
    """Width of the sentence encoder's states."""
    max_steps: int = 50
    """Most token steps of one motion."""
    dropout: float = 0.05
    """Dropout while training."""

    def __post_init__(self) -> None:
        """Validate sizes.

        Raises:
            BadInputError: a size is not positive or the width does not split over the heads.
        """
        sizes = (self.groups, self.codes, self.latent, self.refiner_width, self.width, self.layers, self.heads)
        require_setting(min(sizes) > 0, "ModelConfig", "sizes", sizes, "positive numbers")
        ok = self.width % self.heads == 0
        require_setting(ok, "ModelConfig", "width", self.width, f"a multiple of heads={self.heads}")
        require_setting(self.head_weight > 0, "ModelConfig", "head_weight", self.head_weight, "a positive number")
        for name, total in (("part_codes", self.groups), ("part_latents", self.latent)):
            sizes = tuple(int(size) for size in getattr(self, name))
            object.__setattr__(self, name, sizes)
            ok = not sizes or (len(sizes) == len(PARTS) and min(sizes) > 0 and sum(sizes) == total)
            expected = f"nothing, or one positive number for each of {', '.join(PARTS)}, {total} in all"
            require_setting(ok, "ModelConfig", name, sizes, expected)
        both = bool(self.part_codes) == bool(self.part_latents)
        require_setting(
            both, "ModelConfig", "part_latents", self.part_latents, "to be given when part_codes is, and only then"
        )


@dataclass(frozen=True)
class TrainConfig:
    """How the shipped weights are made."""

    data: str
    """Folder with NAME.npz and NAME.jsonl."""
    out: str = "outputs/text2motion"
    """Folder for checkpoints, metrics, and at the end the model."""
    sets: tuple[str, ...] = ("permissive", "authored")
    """Data sets to use; 'restricted' makes the weights non-commercial and the model card says so."""
    seed: int = 0
    """Seed of initialisation, sampling and augmentation."""
    refiner_steps: int = 700
    """Optimiser steps of the tokenizer's refiner; its codebooks are fitted in closed form before."""
    refiner_batch: int = 32
    """Windows of 64 frames per step."""
    refiner_lr: float = 1e-3
    """Peak learning rate of the refiner."""
    transformer_steps: int = 3600
    """Optimiser steps of the transformer."""
    transformer_batch: int = 32
    """Motions per step."""
    transformer_lr: float = 1e-3
    """Peak learning rate of the transformer."""
    ema: float = 0.998
    """Decay per step of the averaged weights that are shipped."""
    text_drop: float = 0.1
    """Share of motions shown without text, so that guidance can be used."""
    token_noise: float = 0.05
    """Share of input tokens replaced at random, so that the model recovers from its own mistakes."""
    head_share: float = 0.5
    """Share of token steps that the head is trained on in each batch."""
    joins: int = 600
    """Composite motions 'A, then B' added to the training set."""
    checkpoint_seconds: float = 60.0
    """Time between checkpoints [s]."""
    threads: int = 1
    """Threads torch may use."""
    model: ModelConfig = field(default_factory=ModelConfig)
    """Sizes of the networks."""

    def __post_init__(self) -> None:
        """Validate.

        Raises:
            BadInputError: an unknown data set, or a count that is not positive.
        """
        object.__setattr__(self, "sets", tuple(self.sets))
        if isinstance(self.model, dict):
            object.__setattr__(self, "model", ModelConfig(**self.model))
        require_sets(self.sets)
        require_setting(len(self.sets) > 0, "TrainConfig", "sets", self.sets, "at least one set")
        for name in ("refiner_steps", "refiner_batch", "transformer_steps", "transformer_batch", "threads"):
            require_setting(getattr(self, name) > 0, "TrainConfig", name, getattr(self, name), "a positive number")
        require_setting(self.seed >= 0, "TrainConfig", "seed", self.seed, "0 or more")
