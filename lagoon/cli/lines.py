"""Command lines to type next, quoted so that pasting them works.

What enters: a skill, its record, what the user typed. What leaves: text that begins with ``lagoon``.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lagoon.cli.help import show
from lagoon.cli.schema import to_plain
from lagoon.cli.verb import Call
from lagoon.deploy.config import EvaluateConfig
from lagoon.imitation.config import TrainConfig
from lagoon.record import flat
from lagoon.retarget.config import RetargetConfig
from lagoon.skill import Skill
from lagoon.studio.config import PreviewConfig
from lagoon.text2motion.config import GenerateConfig

STEPS, MINUTES = "train.ppo.total_steps", "train.ppo.minutes"
_DEFAULTS = {
    "generate": GenerateConfig,
    "retarget": RetargetConfig,
    "train": TrainConfig,
    "evaluate": EvaluateConfig,
    "preview": PreviewConfig,
}


def stage_line(skill: Skill, stage: str, changes: Mapping[str, Any] | None = None) -> str:
    """Return the line that runs one stage of a skill as it ran last, with some settings changed.

    Without the settings of the record, a line would quietly go back to the defaults.
    """
    words = ["lagoon", stage]
    if stage == "generate":
        words += [*_text(skill.command), f"robot={skill.robot}", f"seed={skill.seed}", *_folder(skill)]
    else:
        words.append(str(skill.folder))
        if stage in _DEFAULTS and skill.stages[stage].config and skill.stages[stage].seed != skill.seed:
            words.append(f"seed={skill.stages[stage].seed}")
    settings = recorded_settings(skill, stage) | dict(changes or {})
    return shlex.join(words + [f"{key}={show(value)}" for key, value in settings.items()])


def recorded_settings(skill: Skill, stage: str) -> dict[str, Any]:
    """Return the settings, by dotted name, in which a stage's last run differed from the defaults."""
    record = skill.stages[stage].config
    if stage not in _DEFAULTS or stage not in record:
        return {}
    defaults = flat({stage: to_plain(_DEFAULTS[stage]())})
    return {key: value for key, value in flat(record).items() if key in defaults and defaults[key] != value}


def longer_line(skill: Skill, call: Call) -> str:
    """Return the line that gives a skill twice the training, and everything else as it was.

    After ``lagoon make`` it is the line that was typed, with the new budget. Other verbs do not know how the policy
    was trained, so the record has to tell.
    """
    ppo = flat(skill.stages["train"].config) or flat({"train": to_plain(TrainConfig())})
    changes = {STEPS: 2 * ppo[STEPS]} | ({MINUTES: 2 * ppo[MINUTES]} if ppo.get(MINUTES) else {})
    if call.words[1:2] == ("make",):
        kept = [word for key, word in call.typed if key not in (STEPS, MINUTES)]
        force = ["--force"] if "--force" in call.words[2:] and call.text != "--force" else []
        budget = [f"{key.replace('.ppo', '')}={show(value)}" for key, value in changes.items()]
        return shlex.join(["lagoon", "make", *_text(call.text), *kept, *budget, *force])
    return " && ".join(
        [stage_line(skill, "train", changes), stage_line(skill, "export"), stage_line(skill, "evaluate")]
    )


def _text(command: str) -> list[str]:
    return ["--", command] if command.startswith("-") else [command]


def _folder(skill: Skill) -> list[str]:
    return [] if skill.folder.parent == Path("skills") else [f"skills_dir={skill.folder.parent}"]
