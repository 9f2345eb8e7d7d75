"""What to try when a skill fails: the rungs of a ladder, as changes of settings and as a line that can be pasted.

What enters: a skill with its record. What leaves: the next remedy, or None where all were tried. ladder.py climbs it;
it is documented in docs/imitation.md. Without a ladder a rung counts as tried when the record shows it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any

import yaml

from lagoon.cli.lines import MINUTES, stage_line
from lagoon.cli.skill_files import report_of, survival_of
from lagoon.imitation.config import TrainConfig
from lagoon.record import flat
from lagoon.skill import Skill

SLOWER = 0.7
ALIGNMENT = "train.task.alignment.share"
COLLISIONS = "train.task.self_collisions"
START, NONE = "train.start.policy", "none"
SETTLE, STEADY, GIVE_UP = "train.settle", "train.steady", "train.give_up"
NEAR = 0.8
"""From this survival on more training is tried first: it goes on from the checkpoint and may be all that is needed."""


@dataclass(frozen=True)
class Remedy:
    """One rung."""

    name: str
    words: str
    """What it does."""
    first: str
    """The stage that it begins with."""
    changes: dict[str, Any]
    """Settings by dotted name, on top of those of the record."""
    line: str
    """What to type."""


def next_remedy(skill: Skill, tried: Collection[str] = ()) -> Remedy | None:
    """Return the first rung that this skill has not had, beside those named in ``tried``."""
    order = [*RUNGS]
    survival = survival_of(skill) or 0.0
    if survival >= NEAR:
        order = [*NEARLY, *(name for name in order if name not in NEARLY)]
    if survival < _checked(skill) - GAP:
        order = ["collisions", *(name for name in order if name != "collisions")]
    for name in order:
        if name not in tried and (remedy := RUNGS[name](skill)) is not None:
            return remedy
    return None


def _slower(skill: Skill) -> Remedy | None:
    speed = report_of(skill).get("speed")
    if not isinstance(speed, (int, float)) or speed <= SLOWER:
        return None
    value = round(SLOWER * float(speed), 2)
    words = f"slower, at {value:g} of the person's speed"
    return _rung(skill, "slower", words, "retarget", {"retarget.speed": value})


def _from_nothing(skill: Skill) -> Remedy | None:
    """A policy that began with the base keeps its ways, which may not suit this motion."""
    if not _began_with(skill) or _trained(skill).get(START) == NONE:
        return None
    return _rung(skill, "from_nothing", "from nothing instead of from the base policy", "train", {START: NONE})


def _colliding(skill: Skill) -> Remedy | None:
    """Without self-collisions a policy may learn to put a leg through another, which no evaluation lets pass."""
    if _trained(skill).get(COLLISIONS):
        return None
    words = "with the robot's parts in each other's way while it learns"
    return _rung(skill, "collisions", words, "train", {COLLISIONS: True})


def _aligned(skill: Skill) -> Remedy | None:
    if _trained(skill).get(ALIGNMENT, 0.0) > 0.0:
        return None
    return _rung(skill, "aligned", "half of the reward forgives being early or late", "train", {ALIGNMENT: 0.5})


def _longer(skill: Skill) -> Remedy | None:
    """More training with the schedules at their ends: stretching them raises the noise again and gained nothing."""
    config, default = _trained(skill), TrainConfig()
    if minutes := config.get(MINUTES):  # Then time alone is the limit, and nothing settles.
        return _rung(skill, "longer", "twice the time", "train", {MINUTES: 2 * minutes})
    settle = float(config.get(SETTLE, default.settle))
    if settle > default.settle:
        return None
    changes = {SETTLE: settle + 1.0, STEADY: max(0.99, float(config.get(STEADY, default.steady))), GIVE_UP: 0}
    return _rung(skill, "longer", "longer, from where the training ended", "train", changes)


def _four_legged(skill: Skill) -> Remedy | None:
    if report_of(skill).get("morphology") != "upright":
        return None
    changes = {"retarget.morphology": "four_legged"}
    return _rung(skill, "four_legged", "on four legs instead of upright", "retarget", changes)


RUNGS: dict[str, Callable[[Skill], Remedy | None]] = {
    "slower": _slower,
    "collisions": _colliding,
    "from_nothing": _from_nothing,
    "aligned": _aligned,
    "longer": _longer,
    "four_legged": _four_legged,
}
"""The ladder, from below."""


NEARLY = ("longer", "collisions", "from_nothing")
"""What is tried first where the policy is near."""
GAP = 0.1
"""Where so much fewer survive than in training's own last check, the physics make the difference."""


def _checked(skill: Skill) -> float:
    """Survival in the last check of the training; 0 where that cannot be read."""
    try:
        lines = (skill.train_folder / "checks.jsonl").read_text(encoding="utf-8").splitlines()
        return float(json.loads(lines[-1])["survival"])
    except (OSError, ValueError, IndexError, KeyError, TypeError):
        return 0.0


def _began_with(skill: Skill) -> str:
    """The policy that the training began with, as its folder has it; empty for none or where that cannot be read."""
    try:
        raw = yaml.safe_load((skill.train_folder / "config.yaml").read_text(encoding="utf-8"))
        return str(raw["ppo"]["start_from"])
    except (OSError, yaml.YAMLError, KeyError, TypeError):
        return ""


def _trained(skill: Skill) -> dict[str, Any]:
    return flat(skill.stages["train"].config)


def _rung(skill: Skill, name: str, words: str, first: str, changes: dict[str, Any]) -> Remedy:
    """Every stage from ``first`` to the verdict."""
    stages = {"retarget": ("retarget", "train", "export", "evaluate"), "train": ("train", "export", "evaluate")}[first]
    line: Callable[[str], str] = lambda stage: stage_line(skill, stage, changes if stage == first else None)  # noqa: E731
    return Remedy(name, words, first, changes, " && ".join(line(stage) for stage in stages))
