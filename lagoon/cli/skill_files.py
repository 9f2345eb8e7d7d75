"""Opens the files of a skill folder that belong together, and tells when they do not.

What enters: a skill. What leaves: its motions and its bundle, for every verb that runs the policy.
"""

from __future__ import annotations

import json
from typing import Any

from lagoon.cli.extras import need
from lagoon.cli.lines import stage_line
from lagoon.cli.resume import damaged_file
from lagoon.errors import BadInputError, CorruptFileError
from lagoon.paths import sha256_of
from lagoon.robot import RobotSpec, load_robot
from lagoon.skill import Skill


class StaleBundleError(BadInputError):
    """The bundle follows another robot.npz than the one beside it."""


def human_of(skill: Skill) -> Any:
    """The skill's HumanMotion."""
    from lagoon.motion.human_motion import HumanMotion

    record = skill.stages["generate"]
    imported = "import" in record.config
    line = "lagoon import FILE, from the file that it came from" if imported else stage_line(skill, "generate")
    return HumanMotion.load(skill.human_path, line)


def source_of(skill: Skill) -> Any:
    """What retargeting starts from: the skill's HumanMotion, or its QuadrupedMotion if an animal's was imported."""
    if not skill.is_quadruped:
        return human_of(skill)
    from lagoon.motion.quadruped_motion import QuadrupedMotion

    return QuadrupedMotion.load(skill.quadruped_path, "lagoon import FILE, from the file that it came from")


def reference_of(skill: Skill) -> tuple[Any, RobotSpec]:
    """Return the skill's RobotMotion and its robot."""
    from lagoon.motion.robot_motion import RobotMotion

    return RobotMotion.load(skill.robot_path), load_robot(skill.robot)


def report_of(skill: Skill) -> dict[str, Any]:
    """Content of retarget.json; nothing where there is none, or it was written by hand."""
    try:
        found = json.loads(skill.retarget_path.read_text(encoding="utf-8"))
        return found if isinstance(found, dict) else {}
    except (OSError, ValueError):
        return {}


def checkpoint_of(skill: Skill) -> Any:
    """The very checkpoint that the training ended with: an older one in its place would be another policy."""
    need("train")
    from lagoon.engine.checkpoint import load_checkpoint

    path = next(skill.folder / name for name in skill.stages["train"].outputs if name.endswith(".json"))
    try:
        return load_checkpoint(path)
    except CorruptFileError as error:
        raise CorruptFileError(
            f"{damaged_file(path, error)} is damaged, so the trained policy cannot be read. Train on from the "
            f"checkpoint before it with: {stage_line(skill, 'train')}"
        ) from error


def bundle_of(skill: Skill) -> Any:
    """Return the skill's PolicyBundle, verified, for the robot.npz that lies beside it.

    A bundle that does not say which file it follows is compared later, by its length only.

    Raises:
        StaleBundleError: robot.npz was made anew or replaced after the export.
        LagoonError: the bundle is missing, damaged, or for another robot.
    """
    from lagoon import bundle

    found = bundle.load(skill.bundle_folder, load_robot(skill.robot))
    if found.motion_sha256 and skill.robot_path.is_file() and found.motion_sha256 != sha256_of(skill.robot_path):
        raise StaleBundleError(
            f"{skill.bundle_folder} follows another motion than {skill.robot_path}, which was made anew or replaced "
            f"after the export. Train on it and export: {stage_line(skill, 'train')} && {stage_line(skill, 'export')}"
        )
    return found


def evaluation_of(skill: Skill) -> dict[str, Any]:
    """Content of evaluation.json."""
    try:
        found = json.loads(skill.evaluation_path.read_text(encoding="utf-8"))
        if not {"passed", "verdict", "checks", "policy_sha256"} <= found.keys():
            raise KeyError("passed, verdict, checks or policy_sha256")
        return found
    except (OSError, ValueError, KeyError, AttributeError) as error:
        raise not_an_evaluation(skill, error) from error


def survival_of(skill: Skill) -> float | None:
    """The survival in evaluation.json; None where there is none, or it cannot be read."""
    try:
        checks = {check["name"]: check["value"] for check in evaluation_of(skill)["checks"]}
        return float(checks["survival"])
    except (CorruptFileError, KeyError, TypeError, ValueError):
        return None


def not_an_evaluation(skill: Skill, error: Exception) -> CorruptFileError:
    """Return the error for an evaluation.json that cannot be read."""
    return CorruptFileError(
        f"{skill.evaluation_path} cannot be read as an evaluation ({error}). Write it again with: "
        f"{stage_line(skill, 'evaluate')}"
    )


def check_trained_on(skill: Skill, now: dict[str, str]) -> None:
    """Refuse to export a policy with a motion, or for a robot, that it did not learn.

    Args:
        skill: with a finished training.
        now: sha256 by name of what a training would read now.

    Raises:
        BadInputError: something changed after the training; it is named.
    """
    before = skill.stages["train"].inputs
    changed = [name for name, sha256 in now.items() if before.get(name, sha256) != sha256]
    if changed:
        raise BadInputError(
            f"{', '.join(changed)} changed after the training of {skill.folder}. The policy in train/ does not follow "
            f"it; around it, the bundle would fail. Train on it first: {stage_line(skill, 'train')}"
        )
