"""The policy that training begins with: one that can stand on two legs already learns a gesture in less time.

What enters: settings, the motion, the robot. What leaves: the settings to train with, and what was chosen, in words.
A base policy is a checkpoint that learned many motions at once (pretrain.py); its facts say which task it fits.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from lagoon.engine.checkpoint import Checkpoint, checkpoint_paths, load_checkpoint
from lagoon.errors import BadInputError
from lagoon.imitation.config import TaskConfig, TrainConfig
from lagoon.motion.robot_motion import RobotMotion
from lagoon.motion.rotations import quat_to_matrix
from lagoon.paths import data_dir
from lagoon.robot import RobotSpec

AUTO, NONE = "auto", "none"
EASY_TILT = 0.5
"""A base that tilts less than this [rad] keeps its weight between its feet."""


@dataclass(frozen=True)
class Begin:
    """How a training begins."""

    config: TrainConfig
    """Settings with everything chosen: ``ppo.total_steps`` is the budget, ``ppo.start_from`` the file or empty."""
    words: tuple[str, ...]
    """What was chosen that nobody asked for, in lines."""


def begin(motion: RobotMotion, robot: RobotSpec, config: TrainConfig) -> Begin:
    """Choose the budget and the first policy.

    A motion that stays level on three feet or more gets ``easy_share`` of the steps and begins with nothing; others
    begin with the base policy of the robot, if there is one that fits the task, and get ``start.share`` of the steps.

    Raises:
        BadInputError: ``start.policy`` names what is no policy, or one of another task.
        CorruptFileError: its files are damaged.
    """
    ppo, start = config.ppo, config.start
    level = is_level(motion)
    words: list[str] = []
    if level and config.easy_share < 1.0:
        ppo = replace(ppo, total_steps=round(config.easy_share * ppo.total_steps))
        words.append(
            f"Level, on three feet or more: {ppo.total_steps:,} steps are enough, {config.easy_share:g} of "
            "train.total_steps (train.easy_share=1 takes all)."
        )
    if start.policy == NONE or (start.policy == AUTO and level):
        return Begin(replace(config, ppo=ppo), tuple(words))
    found, why_not = _base_of(robot, config) if start.policy == AUTO else (named(Path(start.policy)), "")
    if found is None:
        return Begin(replace(config, ppo=ppo), (*words, *([why_not] if why_not else [])))
    steps = ppo.total_steps if level else round(start.share * ppo.total_steps)
    name = found.facts.get("name", found.path.parent.parent.name)
    words.append(
        f"Starts from the policy '{name}', which stands on two legs already: {steps:,} steps "
        "(train.start.policy=none starts from nothing)."
    )
    wait = ppo.wait_steps or round(start.wait * steps)
    chosen = started(replace(config, ppo=replace(ppo, total_steps=steps, wait_steps=wait)), found, start.std)
    return Begin(chosen, tuple(words))


def started(config: TrainConfig, policy: Checkpoint, std: float) -> TrainConfig:
    """Return settings that begin with a policy: its file, this noise, and the pace of ``config.start``."""
    ppo = replace(
        config.ppo, start_from=str(policy.path), std_start=max(std, config.ppo.std_end), lr=config.start.learning_rate
    )
    return replace(config, ppo=ppo, randomization=replace(config.randomization, ramp=config.start.randomized))


def is_level(motion: RobotMotion) -> bool:
    """True for a motion that never tilts far and keeps three feet or more on the floor."""
    up = quat_to_matrix(motion.root_quat_w)[:, 2, 2]
    level = float(np.arccos(np.clip(up, -1.0, 1.0)).max()) < EASY_TILT
    return level and bool((motion.foot_contact.sum(axis=1) >= 3).all())


def task_facts(robot: RobotSpec, task: TaskConfig) -> dict[str, Any]:
    """What a policy and a training must agree upon: what is seen, and what an action does."""
    return {
        "robot": robot.name,
        "action_scale": task.action_scale,
        "action_clip": task.action_clip,
        "history": task.history,
        "lookahead": list(task.lookahead),
        "target_cutoff": task.target_cutoff,
    }


def base_path(robot: RobotSpec) -> Path:
    """Where the base policy of a robot lies, if it has one."""
    return data_dir("assets") / "policies" / f"{robot.name}-upright" / "policy.json"


def _base_of(robot: RobotSpec, config: TrainConfig) -> tuple[Checkpoint | None, str]:
    """The base policy if it fits, or why there is none."""
    path = base_path(robot)
    if not path.is_file():
        return None, ""
    found = load_checkpoint(path)
    if differences := _misfits(found.facts, robot, config):
        return None, f"Starts from nothing: the base policy of the {robot.name} has {differences}."
    return found, ""


def named(path: Path) -> Checkpoint:
    """Return the checkpoint of a .json file, or the newest of a skill's folder; sizes are compared when it is taken up.

    Raises:
        BadInputError: there is none.
        CorruptFileError: its files are damaged.
    """
    if path.is_dir():
        inside = (
            checkpoint_paths(path)
            or checkpoint_paths(path / "checkpoints")
            or checkpoint_paths(path / "train/checkpoints")
        )
        path = inside[-1] if inside else path
    if not path.is_file():
        raise BadInputError(
            f"train.start.policy={path}: there is no checkpoint. Name a .json file of train/checkpoints or a skill's "
            "folder, or type train.start.policy=auto or none."
        )
    return load_checkpoint(path)


def _misfits(facts: Mapping[str, Any], robot: RobotSpec, config: TrainConfig) -> str:
    """In words, what a base policy has otherwise than this training; empty if it fits."""
    network = {"hidden": list(config.ppo.hidden), "activation": config.ppo.activation, "obs_clip": config.ppo.obs_clip}
    wanted = json.loads(json.dumps({**task_facts(robot, config.task), **network}))
    has = {**facts.get("task", {}), **{key: facts["policy"].get(key) for key in network}}
    return ", ".join(f"{key} {has.get(key)}, not {value}" for key, value in wanted.items() if has.get(key) != value)
