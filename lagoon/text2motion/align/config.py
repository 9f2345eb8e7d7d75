"""Settings of alignment, plain data.

What enters: values from the section ``align``, or code. What leaves: a frozen, checked ``AlignConfig``.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from lagoon.engine.tokens.config import TokenPPOConfig
from lagoon.errors import BadSettingError


@dataclass(frozen=True)
class AlignConfig:
    """On which commands the generator is fine-tuned, and for what."""

    commands: tuple[str, ...] = ("wave hello", "bow", "kick the ball", "punch", "clap your hands", "squat")
    """Commands of one step each; motions of other commands change along with them."""
    model: str = "default"
    """Weights to begin with: a name in assets/models or a folder with model.yaml and weights.safetensors."""
    guidance: float = 3.0
    """Classifier-free guidance of the motions that are learned from; as they will be generated."""
    temperature: float = 1.05
    """Softmax temperature of them."""
    spread: float = 0.15
    """Durations are drawn evenly from this share below the usual one of the command to this share above it."""
    words: float = 1.0
    """Weight of how well motion and words fit, by the network that chooses among candidates."""
    person: float = 1.0
    """Weight of how well a person could do the motion: plausible, on its feet, about as lively as such motions are."""
    robot: float = 1.0
    """Weight of what the motion costs on the robot; 0 leaves the robot out, and most of the time with it."""
    ppo: TokenPPOConfig = field(default_factory=TokenPPOConfig)
    """How it is learned."""

    def __post_init__(self) -> None:
        """Check every value.

        Raises:
            BadSettingError: a value is outside its range; the text names the field.
        """
        object.__setattr__(self, "commands", tuple(self.commands))
        checks = {
            "commands": (
                bool(self.commands) and all(isinstance(c, str) for c in self.commands),
                "one or more commands",
            ),
            "guidance": (0.0 <= self.guidance <= 10.0, "0 to 10"),
            "temperature": (0.01 <= self.temperature <= 5.0, "0.01 to 5"),
            "spread": (0.0 <= self.spread <= 0.9, "0 to 0.9"),
            "words": (self.words >= 0.0, "0 or more"),
            "person": (self.person >= 0.0, "0 or more"),
            "robot": (self.robot >= 0.0, "0 or more"),
        }
        for name, (good, expected) in checks.items():
            if not good:
                raise BadSettingError.of(self, name, expected)
