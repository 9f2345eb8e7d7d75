"""The generator's fine-tuning as the engine sees it: prompts, lengths, network, sampler and judge.

What enters: weights, commands that the gate let through, settings. What leaves: a task that can be pickled into the
processes of a run; each of them loads the weights for itself.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, is_dataclass
from typing import Any

from lagoon.engine.tokens.schema import Score, Sizes
from lagoon.errors import BadInputError
from lagoon.text2motion import gate
from lagoon.text2motion.align.config import AlignConfig
from lagoon.text2motion.align.reward import TERMS, MotionReward
from lagoon.text2motion.config import FPS, FRAMES_PER_STEP, GenerateConfig
from lagoon.text2motion.gate import Reading
from lagoon.text2motion.lanes import LaneSampler
from lagoon.text2motion.model import load_model
from lagoon.text2motion.policy import MotionPolicy
from lagoon.text2motion.selection import Appraise
from lagoon.text2motion.text_encoder import default_encoder
from lagoon.text2motion.transformer import MotionTransformer

Appraiser = Callable[[], Appraise | None]
"""Makes the function that knows the robot, in the process that needs it; picklable."""


@dataclass(frozen=True)
class AlignTask:
    """See ``lagoon.engine.tokens.schema.Task``."""

    config: AlignConfig
    readings: tuple[Reading, ...]
    """The commands as the gate read them."""
    steps: tuple[float, ...]
    """Usual length of each in token steps."""
    sizes: Sizes
    weights_sha256: str
    """Of the weights to begin with."""
    appraiser: Appraiser | None = None
    terms = TERMS

    @property
    def prompts(self) -> tuple[str, ...]:
        """The words of each command."""
        return tuple(reading.words for reading in self.readings)

    def length(self, prompt: int, draw: float) -> int:
        """Steps of a sequence, evenly drawn around the usual number."""
        factor = 1.0 + self.config.spread * (2.0 * draw - 1.0)
        return int(min(max(round(self.steps[prompt] * factor), 3), self.sizes.steps))

    def _transformer(self) -> MotionTransformer:
        """A copy of the weights to begin with; models are shared within a process, and this one changes."""
        model = load_model(self.config.model)
        copy = MotionTransformer(model.config)
        copy.load_state_dict(model.transformer.state_dict())
        copy.use_books(model.tokenizer.quantiser.books)
        return copy.eval()

    def model(self) -> MotionPolicy:
        """The policy, with gradients and without dropout."""
        prompts = [reading.encoding for reading in self.readings]
        return MotionPolicy(self._transformer(), prompts, self.config.guidance, self.config.temperature)

    def sampler(self, lanes: int) -> LaneSampler:
        """A sampler of so many lanes."""
        return LaneSampler(self.model(), lanes)

    def scorer(self) -> Score:
        """A judge; knows the robot if there is one."""
        config = self.config
        appraise = self.appraiser() if self.appraiser is not None and config.robot > 0 else None
        weights = (config.words, config.person, config.robot)
        return MotionReward(load_model(config.model), self.readings, weights, appraise)

    def facts(self) -> dict[str, Any]:
        """What must be the same for a run to go on."""
        names = ("guidance", "temperature", "spread", "words", "person", "robot")
        judge = repr(self.appraiser) if is_dataclass(self.appraiser) else str(self.appraiser is not None)
        return {"commands": list(self.prompts), "weights_sha256": self.weights_sha256, "judge": judge} | {
            name: getattr(self.config, name) for name in names
        }


def read_task(config: AlignConfig, appraiser: Appraiser | None = None) -> AlignTask:
    """Let the gate read the commands, and make the task.

    Args:
        config: commands, weights, settings.
        appraiser: makes the function that knows the robot; None leaves the robot out.

    Raises:
        RefusedCommandError: the gate refuses a command.
        BadInputError: a command has several parts, or two are the same; or there is no such model.
    """
    model, encoder = load_model(config.model), default_encoder()
    readings = tuple(gate.read(command, model.bank, encoder, GenerateConfig().threshold) for command in config.commands)
    for command, reading in zip(config.commands, readings, strict=True):
        if not reading.plan.is_single:
            raise BadInputError(
                f"The command {command!r} has several parts; expected one motion each, since parts are generated one "
                "by one. Name its parts as commands of their own with align.commands=[...]."
            )
    words = [reading.words for reading in readings]
    if twice := sorted({word for word in words if words.count(word) > 1}):
        raise BadInputError(f"align.commands has {', '.join(map(repr, twice))} twice; leave one out.")
    seconds = [model.bank.duration(reading.encoding.sentence) for reading in readings]
    steps = tuple((second * FPS + 1) / FRAMES_PER_STEP for second in seconds)
    sizes = Sizes(model.config.max_steps, model.config.groups)
    return AlignTask(config, readings, steps, sizes, model.sha256, appraiser)
