"""The known commands: texts the model was trained on, as vectors, with how long their motions last.

What enters: examples and their encodings, or a model folder. What leaves: nearest known commands of a
text, and a duration for it. Small: vectors are kept as 8-bit integers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from lagoon.errors import CorruptFileError, require
from lagoon.paths import write_bytes
from lagoon.text2motion import plausibility
from lagoon.text2motion.config import FPS
from lagoon.text2motion.corpus import Example
from lagoon.text2motion.text_encoder import Encoding
from lagoon.text2motion.wording import core

NEIGHBOURS = 5
"""Known texts whose durations are looked at."""
MIN_DEFAULT, MAX_DEFAULT = 2.0, 8.0
"""Range of the predicted duration [s]."""


@dataclass(frozen=True)
class Nearest:
    """One known text near a command."""

    text: str
    """The known text."""
    verb: str
    """What its motion shows."""
    similarity: float
    """Cosine of the two sentence vectors."""
    seconds: float
    """Median duration of its motions [s]."""
    activity: NDArray[np.float64]
    """(4,) how much its motions usually move [m/s], see plausibility.activity."""


@dataclass(frozen=True)
class CommandBank:
    """K known texts."""

    texts: tuple[str, ...]
    """The texts."""
    verbs: tuple[str, ...]
    """What each one's motion shows."""
    seconds: NDArray[np.float64]
    """(K,) median duration of each one's motions [s]."""
    activity: NDArray[np.float64]
    """(K, 4) median activity of each one's motions [m/s]."""
    vectors: NDArray[np.int8]
    """(K, 384) sentence vectors; each row is scaled to the range of 8 bits."""

    def nearest(self, sentence: NDArray[np.float32], count: int) -> list[Nearest]:
        """The most similar known texts, best first.

        Args:
            sentence: (384,) unit vector.
            count: how many.
        """
        rows = self.vectors.astype(np.float32)
        similarity = rows @ sentence / np.maximum(np.linalg.norm(rows, axis=1), 1e-9)
        order = np.argsort(-similarity, kind="stable")[:count]
        return [
            Nearest(self.texts[i], self.verbs[i], float(similarity[i]), float(self.seconds[i]), self.activity[i])
            for i in order
        ]

    def duration(self, sentence: NDArray[np.float32]) -> float:
        """Predicted duration [s]: of the nearest text if it is nearly the same, else the median of the nearest."""
        near = self.nearest(sentence, NEIGHBOURS)
        seconds = near[0].seconds if near[0].similarity > 0.9 else float(np.median([n.seconds for n in near]))
        return float(np.clip(seconds, MIN_DEFAULT, MAX_DEFAULT))

    def save(self, path: Path) -> None:
        """Write one safetensors file; the texts go into its header."""
        content = require("safetensors.numpy", "text2motion").save(
            {"vectors": self.vectors, "seconds": self.seconds, "activity": self.activity},
            metadata={"texts": "\n".join(self.texts), "verbs": "\n".join(self.verbs)},
        )
        write_bytes(path, content)

    @staticmethod
    def load(path: Path) -> CommandBank:
        """Read what save wrote.

        Raises:
            CorruptFileError: the file is missing, damaged, or its parts differ in length.
        """
        safe_open = require("safetensors", "text2motion").safe_open
        try:
            with safe_open(str(path), framework="np") as file:
                header = file.metadata()
                vectors, seconds, activity = (file.get_tensor(name) for name in ("vectors", "seconds", "activity"))
            texts, verbs = tuple(header["texts"].split("\n")), tuple(header["verbs"].split("\n"))
        except Exception as error:
            raise CorruptFileError(
                f"The list of known commands {path} cannot be read ({error}). Restore the model folder."
            ) from error
        if not len(texts) == len(verbs) == len(vectors) == len(seconds) == len(activity):
            raise CorruptFileError(
                f"{path} holds {len(texts)} texts for {len(vectors)} vectors; expected as many of each. "
                "Restore the model folder."
            )
        return CommandBank(texts, verbs, seconds.astype(np.float64), activity.astype(np.float64), vectors)


def quantise(vectors: NDArray[np.float32]) -> NDArray[np.int8]:
    """Scale each row (K, D) so that its largest entry becomes 127, and round."""
    peak = np.abs(vectors).max(axis=1, keepdims=True)
    return np.round(vectors / np.maximum(peak, 1e-9) * 127).astype(np.int8)


def build_bank(examples: list[Example], encodings: Mapping[str, Encoding]) -> CommandBank:
    """Bank of the texts of plain and counted examples, without the polite variants of the same words."""
    seconds: dict[str, list[float]] = {}
    moved: dict[str, list[NDArray[np.float64]]] = {}
    verbs: dict[str, str] = {}
    for e in examples:
        if e.kind in ("plain", "count"):
            activity = plausibility.activity(e.joint_pos_w)
            for text in e.texts:
                if text == core(text):
                    seconds.setdefault(text, []).append((len(e.joint_pos_w) - 1) / FPS)
                    moved.setdefault(text, []).append(activity)
                    verbs.setdefault(text, e.verb)
    texts = sorted(seconds)
    vectors = np.stack([encodings[text].sentence for text in texts])
    return CommandBank(
        tuple(texts),
        tuple(verbs[text] for text in texts),
        np.array([np.median(seconds[text]) for text in texts]),
        np.array([np.median(moved[text], axis=0) for text in texts]),
        quantise(vectors),
    )
