"""Command to HumanMotion: the stage function of text to motion.

What enters: a command, GenerateConfig, a seed; a function that knows the robot, if the caller has one. What leaves:
a motion of 22 joints at 20 fps, Z-up, facing +X over the origin, or a RefusedCommandError. The gate reads the
command, then the generator that the settings name makes the motion; the built-in one returns the best of a few
sampled motions, step by step where the command asks for several.
"""

from __future__ import annotations

from dataclasses import replace

from lagoon.errors import BadInputError
from lagoon.motion.human_motion import HumanMotion
from lagoon.motion.skeleton import JOINT_NAMES
from lagoon.progress import Progress, silent
from lagoon.text2motion import gate, registry
from lagoon.text2motion.assembly import Assembler
from lagoon.text2motion.config import FPS, GenerateConfig
from lagoon.text2motion.generator import Keep, Request, create, forget, run
from lagoon.text2motion.model import load_bank, load_model
from lagoon.text2motion.sampling import one_thread
from lagoon.text2motion.selection import Appraise
from lagoon.text2motion.text_encoder import default_encoder


def generate(
    command: str,
    config: GenerateConfig,
    seed: int = 0,
    progress: Progress | None = None,
    appraise: Appraise | None = None,
    keep: Keep = forget,
) -> HumanMotion:
    """Generate the motion that a command asks for.

    Args:
        command: a few words.
        config: generator, model, sampling and gate settings.
        seed: the same seed gives the same bits.
        progress: told what is being done.
        appraise: cost of a motion (T, 22, 3) [m] on the robot, about 1 when just acceptable; None leaves it out.
        keep: given the candidates of each step with all their scores, best first.

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
    bank = load_model(config.model).bank if kind is SmallGenerator else load_bank("default")
    with one_thread():
        is_open = bool(getattr(kind, "open_vocabulary", False))
        reading = gate.read(command, bank, default_encoder(), config.threshold, config.force, is_open)
        seconds = config.duration or bank.duration(reading.encoding.sentence)
    request = Request(command, reading, seconds, seed, tell, appraise, keep)
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
        """Sample, clean up, choose and join; see the module's text."""
        reading = request.reading
        with one_thread():
            made = Assembler(self.model, self.config, request).make()
        return HumanMotion(
            fps=FPS,
            joint_names=JOINT_NAMES,
            joint_pos_w=made.joint_pos_w,
            source={
                "model": self.model.name,
                "weights_sha256": self.model.sha256,
                "seed": str(request.seed),
                "nearest_command": reading.nearest[0].text,
                "nearest_verb": reading.nearest[0].verb,
                "similarity": f"{reading.nearest[0].similarity:.3f}",
                "candidates": str(self.config.candidates),
                "feet_planted": str(made.planted).lower(),
                **made.notes,
            },
        )
