"""What to try when a skill fails: the next rung of a ladder, as a line that can be pasted.

What enters: a skill with its record. What leaves: the remedy in words and the line, or None where all were tried.
The ladder is documented in docs/imitation.md; a rung counts as tried when the record shows it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from lagoon.cli.lines import STEPS, stage_line
from lagoon.cli.skill_files import report_of
from lagoon.imitation.config import TrainConfig
from lagoon.skill import Skill, flat

SLOWER = 0.7
ALIGNMENT = "train.task.alignment.share"


@dataclass(frozen=True)
class Remedy:
    """One rung."""

    words: str
    """What it does."""
    line: str
    """What to type."""


def next_remedy(skill: Skill) -> Remedy | None:
    """Return the first rung that this skill has not had."""
    for rung in (_slower, _aligned, _longer, _four_legged):
        if (remedy := rung(skill)) is not None:
            return remedy
    return None


def _slower(skill: Skill) -> Remedy | None:
    report = report_of(skill)
    speed = report.get("speed")
    if not isinstance(speed, (int, float)) or speed <= SLOWER:
        return None
    value = round(SLOWER * float(speed), 2)
    return _through(skill, "slower, so that balance and torque suffice", "retarget", {"retarget.speed": value})


def _aligned(skill: Skill) -> Remedy | None:
    if flat(skill.stages["train"].config).get(ALIGNMENT, 0.0) > 0.0:
        return None
    return _through(skill, "half of the reward forgives being early or late", "train", {ALIGNMENT: 0.5})


def _longer(skill: Skill) -> Remedy | None:
    steps = flat(skill.stages["train"].config).get(STEPS, TrainConfig().ppo.total_steps)
    if steps > TrainConfig().ppo.total_steps:
        return None
    return _through(skill, "twice the training", "train", {STEPS: 2 * steps})


def _four_legged(skill: Skill) -> Remedy | None:
    if report_of(skill).get("morphology") != "upright":
        return None
    changes = {"retarget.morphology": "four_legged"}
    return _through(skill, "on four legs instead of upright", "retarget", changes)


def _through(skill: Skill, words: str, first: str, changes: dict[str, Any]) -> Remedy:
    """Every stage from ``first`` to the verdict."""
    stages = {"retarget": ("retarget", "train", "export", "evaluate"), "train": ("train", "export", "evaluate")}[first]
    line: Callable[[str], str] = lambda stage: stage_line(skill, stage, changes if stage == first else None)  # noqa: E731
    return Remedy(words, " && ".join(line(stage) for stage in stages))
