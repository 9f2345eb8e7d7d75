"""Command to HumanMotion: the stage function of text to motion.

What enters: a command, GenerateConfig, a seed. What leaves: a motion of 22 joints at 20 fps, Z-up, facing +X over
the origin, or a RefusedCommandError. The gate reads the command, then the generator that the settings name makes
the motion; the built-in one returns the most plausible of a few sampled motions.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray

from lagoon.errors import BadInputError
from lagoon.motion.human_motion import HumanMotion
from lagoon.motion.skeleton import JOINT_NAMES
from lagoon.progress import Progress, silent
from lagoon.text2motion import gate, plausibility, registry
from lagoon.text2motion.config import FPS, FRAMES_PER_STEP, GenerateConfig
from lagoon.text2motion.generator import Request, create, run
from lagoon.text2motion.grounding import Grounded, ground
from lagoon.text2motion.model import Model, load_model
from lagoon.text2motion.text_encoder import default_encoder
from lagoon.text2motion.texts import text_batch

ACTIVITY_COST = 12.0
"""Cost per unit of plausibility.unlike: a wave that moves half as much as waves do weighs as much as a bad slide."""
TEMPERATURE_SPREAD = 0.15
"""Candidates are drawn at temperatures from this share below the one set to this share above it: calm motions
come out cleaner cool, lively ones only warm, and the choice between them is made on the result."""
CORRECTION_COST = 20.0
"""Cost per metre that clean-up had to move the standing feet: 5 cm weigh as much as a slide of 0.15 m/s."""


@dataclass(frozen=True)
class Candidate:
    """One sampled motion with its scores."""

    joint_pos_w: NDArray[np.float64]
    """(T, 22, 3) joint positions [m]."""
    cost: float
    """Implausibility; lower is better."""
    match: float
    """How much the words raise its log-probability [nat per token]; higher is better."""
    grounded: Grounded
    """Its clean-up."""

    def score(self, match_weight: float) -> float:
        """What candidates are ranked by; higher is better."""
        return match_weight * self.match - self.cost


def generate(command: str, config: GenerateConfig, seed: int = 0, progress: Progress | None = None) -> HumanMotion:
    """Generate the motion that a command asks for.

    Args:
        command: a few words.
        config: generator, model, sampling and gate settings.
        seed: the same seed gives the same bits.
        progress: told what is being done.

    Raises:
        RefusedCommandError: the gate refuses the command; its field ``reason`` says why.
        BadInputError: unknown generator or model, negative seed, a generator that does not keep to its interface.
        MissingExtraError: the sentence encoder is not installed.
        CorruptFileError: the model's files are damaged.
    """
    if seed < 0:
        raise BadInputError(f"The seed is {seed}; expected 0 or more. Set it with seed=NUMBER.")
    tell = progress or silent
    tell(0.0, "reading the command")
    kind = registry.load(config.generator)
    bank = load_model(config.model if kind is SmallGenerator else "default").bank
    with one_thread():
        is_open = bool(getattr(kind, "open_vocabulary", False))
        reading = gate.read(command, bank, default_encoder(), config.threshold, config.force, is_open)
        seconds = config.duration or bank.duration(reading.encoding.sentence)
    request = Request(command, reading, seconds, seed, tell)
    with registry.current_folder():  # A class from there may import its neighbours only when it works.
        motion = run(config.generator, create(config.generator, kind, config), request)
    tell(1.0, "motion chosen")
    return replace(motion, source=motion.source | {"reading": reading.line}) if reading.line else motion


class SmallGenerator:
    """The built-in generator: motion tokens, the best of a few candidates."""

    def __init__(self, config: GenerateConfig) -> None:
        """Load the model that ``config.model`` names."""
        self.config, self.model = config, load_model(config.model)

    def generate(self, request: Request) -> HumanMotion:
        """Sample, clean up and choose; see the module's text."""
        config, model, reading = self.config, self.model, request.reading
        request.progress(0.2, f"sampling {config.candidates} motions of {request.seconds:.1f} s")
        with one_thread():
            found = candidates(model, reading, request.seconds, config, request.seed)
        best = max(found, key=lambda candidate: candidate.score(config.match_weight))
        return HumanMotion(
            fps=FPS,
            joint_names=JOINT_NAMES,
            joint_pos_w=best.joint_pos_w,
            source={
                "model": model.name,
                "weights_sha256": model.sha256,
                "seed": str(request.seed),
                "nearest_command": reading.nearest[0].text,
                "nearest_verb": reading.nearest[0].verb,
                "similarity": f"{reading.nearest[0].similarity:.3f}",
                "candidates": str(config.candidates),
                "feet_planted": str(best.grounded.planted).lower(),
            },
        )


def candidates(
    model: Model, reading: gate.Reading, seconds: float, config: GenerateConfig, seed: int
) -> list[Candidate]:
    """Sample, decode, clean and score motions of one command.

    Args:
        model: trained networks.
        reading: the command as the gate read it.
        seconds: duration [s].
        config: sampling settings.
        seed: seed of the generator.
    """
    frames = max(2, round(seconds * FPS) + 1)
    steps = min(-(-frames // FRAMES_PER_STEP), model.config.max_steps)
    frames = min(frames, steps * FRAMES_PER_STEP)
    generator = torch.Generator().manual_seed(seed)
    text = text_batch([reading.encoding] * config.candidates)
    spread = torch.linspace(-TEMPERATURE_SPREAD, TEMPERATURE_SPREAD, config.candidates)[:, None]
    warmth = config.temperature * (1.0 + (spread if config.candidates > 1 else 0.0 * spread))
    with torch.no_grad():
        codes = model.transformer.sample(steps, text, generator, config.guidance, warmth, config.top_p)
        lengths = torch.full((len(codes),), steps)
        with_words = model.transformer.log_prob(codes, lengths, text)
        without = model.transformer.log_prob(codes, lengths, text.without_text())
        decoded = model.tokenizer.decode(codes).double().numpy()[:, :frames]
    match = ((with_words - without) / steps / model.config.groups).tolist()
    usual = reading.nearest[0].activity
    found = []
    for rows, words in zip(decoded, match, strict=True):
        grounded = ground(rows, model.bone_lengths, model.rest, config.settle)
        cost = plausibility.measure(grounded.joint_pos_w).cost + CORRECTION_COST * grounded.correction
        # Likely tokens are still ones: without this, the best looking wave is often an arm held up.
        cost += ACTIVITY_COST * plausibility.unlike(plausibility.activity(grounded.joint_pos_w), usual)
        found.append(Candidate(grounded.joint_pos_w, cost, float(words), grounded))
    return found


@contextmanager
def one_thread() -> Iterator[None]:
    """Run torch on one thread: sums are then taken in one order, so that a seed gives the same bits everywhere."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
