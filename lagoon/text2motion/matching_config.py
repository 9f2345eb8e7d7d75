"""Settings of the networks that compare words and motions, as plain data.

What enters: values from the command line or from a file's header. What leaves: frozen, validated dataclasses that
matching.py and train_matching.py take. Imports nothing heavy.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from lagoon.text2motion.config import require_sets, require_setting


@dataclass(frozen=True)
class MatcherConfig:
    """Sizes of the networks that tell how well words and a motion fit; stored in the file's header."""

    width: int = 128
    """Channels of both networks."""
    size: int = 32
    """Length of the common vectors; small, since a few hundred motions must fill their covariance."""
    text_width: int = 384
    """Width of the sentence encoder's states."""
    head_weight: float = 4.0
    """How much more a centimetre of the head counts than one of the other joints."""
    dropout: float = 0.1
    """Dropout while training."""

    def __post_init__(self) -> None:
        """Validate sizes.

        Raises:
            BadInputError: a size is not positive.
        """
        sizes = (self.width, self.size, self.text_width, self.head_weight)
        require_setting(min(sizes) > 0, "MatcherConfig", "sizes", sizes, "positive numbers")


@dataclass(frozen=True)
class MatcherTrainConfig:
    """How such a pair of networks is trained."""

    data: str
    """Folder with NAME.npz and NAME.jsonl."""
    out: str = "outputs/matching"
    """Folder for the checkpoint and the result."""
    sets: tuple[str, ...] = ("permissive", "authored")
    """Data sets to use."""
    seed: int = 0
    """Seed of initialisation and sampling; the judge has another one than the network that chooses."""
    steps: int = 2500
    """Optimiser steps."""
    batch: int = 96
    """Motions per step."""
    lr: float = 1.5e-3
    """Peak learning rate."""
    joins: int = 300
    """Composite motions added to the training set."""
    checkpoint_seconds: float = 60.0
    """Time between checkpoints [s]."""
    threads: int = 1
    """Threads torch may use."""
    model: MatcherConfig = field(default_factory=MatcherConfig)
    """Sizes of the networks."""

    def __post_init__(self) -> None:
        """Validate.

        Raises:
            BadInputError: an unknown data set, or a count that is not positive.
        """
        object.__setattr__(self, "sets", tuple(self.sets))
        require_sets(self.sets)
        for name in ("steps", "batch", "threads"):
            require_setting(
                getattr(self, name) > 0, "MatcherTrainConfig", name, getattr(self, name), "a positive number"
            )
        require_setting(self.seed >= 0, "MatcherTrainConfig", "seed", self.seed, "0 or more")
