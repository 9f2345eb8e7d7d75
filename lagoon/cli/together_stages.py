"""Stages of a policy that learns several skills: its training, and a bundle for each skill out of it.

What enters: a group, which is a Skill folder of its own with the members' folders inside. What leaves: Stage objects.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from shutil import copy2

from lagoon.cli.extras import need
from lagoon.cli.pipeline import Outcome, Stage, Task
from lagoon.cli.resume import first_whole
from lagoon.cli.skill_files import bundle_of, checkpoint_of, reference_of
from lagoon.cli.stages import defaults_of, last_check, robot_checksums, set_aside, settings_of
from lagoon.errors import BadInputError
from lagoon.imitation.config import TrainConfig
from lagoon.paths import sha256_of
from lagoon.record import Plan
from lagoon.skill import Skill

FOLDER = "together"
"""Folder in the skills folder that holds the groups; it is no skill itself, so that lagoon list leaves it out."""
TAKEN = ("human.npz", "robot.npz", "retarget.json")
"""Files that a member takes along from the skill it comes from."""


def group_of(skills: Sequence[Skill], skills_dir: Path) -> Skill:
    """Return the group of these skills, as on disk or new; their order does not matter.

    Raises:
        BadInputError: fewer than two, one named twice, several robots, or one that was not retargeted yet.
    """
    folders = [skill.folder.resolve() for skill in skills]
    if len(set(folders)) < 2 or len(set(folders)) < len(folders):
        raise BadInputError(
            "Name two skills or more, each once. Type: lagoon together SKILL SKILL; lagoon list shows those there are."
        )
    robots = sorted({skill.robot for skill in skills})
    if len(robots) > 1:
        raise BadInputError(f"These skills are for several robots: {', '.join(robots)}. One policy moves one robot.")
    commands = [skill.command for skill in skills]
    if twice := sorted({command for command in commands if commands.count(command) > 1}):
        raise BadInputError(f"Two of these skills have the command {twice[0]!r}; a policy tells skills by their words.")
    for skill in skills:
        if not skill.robot_path.is_file():
            raise BadInputError(f"{skill.folder} has no robot.npz yet. Run: lagoon retarget {skill.folder}")
    return Skill.new(skills_dir / FOLDER, " + ".join(sorted(commands)), robots[0])


def take_along(group: Skill, skills: Sequence[Skill]) -> list[Skill]:
    """Return the members: skills of the group's own, with the motions of ``skills`` as they are now."""
    members = []
    for skill in sorted(skills, key=lambda one: one.command):
        member = Skill.new(group.folder / "skills", skill.command, skill.robot)
        member.folder.mkdir(parents=True, exist_ok=True)
        for name in TAKEN:
            source, target = skill.folder / name, member.folder / name
            if source.is_file() and not (target.is_file() and sha256_of(target) == sha256_of(source)):
                copy2(source, target)
        for stage in ("generate", "retarget"):
            member.stages[stage] = skill.stages[stage]
        member.save()
        members.append(member)
    return members


def train_together_stage(members: Sequence[Skill], config: TrainConfig, seed: int) -> Stage:
    """All members' robot.npz to one checkpoint in the group's train/."""

    def plan(group: Skill) -> Plan:
        inputs = {f"{member.folder.name}/robot.npz": sha256_of(member.robot_path) for member in members}
        return Plan(settings_of("train", config), seed, inputs | robot_checksums(group), defaults_of("train", config))

    def run(task: Task) -> Outcome:
        need("train")
        need("text2motion")
        from lagoon.imitation.together import Learned
        from lagoon.imitation.train import train_together

        group = task.skill
        if group.train_folder.exists() and not task.resumes:
            set_aside(group.train_folder)
        first_whole(group, task.say)
        motions = [reference_of(member) for member in members]
        skills = [Learned(motion, words_of(member)) for member, (motion, _) in zip(members, motions, strict=True)]
        path = train_together(skills, motions[0][1], config, group.train_folder, seed, task.progress).path
        return Outcome((path.with_suffix(".json"), path.with_suffix(".safetensors")), last_check(group.train_folder))

    return Stage("train", f"learning {len(members)} skills with one policy", plan, run, checkpoint_of, mends=True)


def export_member_stage(group: Skill, config: TrainConfig) -> Stage:
    """The group's checkpoint to one member's bundle/."""

    def plan(member: Skill) -> Plan:
        trained = group.stages["train"]
        inputs = member.checksums([member.robot_path]) | {f"group/{name}": sum for name, sum in trained.outputs.items()}
        return Plan(trained.config, trained.seed, inputs | robot_checksums(member))

    def run(task: Task) -> Outcome:
        need("text2motion")
        import torch

        from lagoon.imitation.export import export

        member = task.skill
        motion, robot = reference_of(member)
        export(
            checkpoint_of(group),
            motion,
            robot,
            config,
            member.command,
            member.bundle_folder,
            sha256_of(member.robot_path),
            torch.tensor(words_of(member)),
        )
        return Outcome((member.bundle_folder,), "this skill's part of the policy, checked against the trained one")

    return Stage("export", "policy to a bundle for the robot", plan, run, bundle_of, mends=True)


def words_of(member: Skill) -> tuple[float, ...]:
    """The words that tell a member from the others: its command's embedding, condensed."""
    from lagoon.imitation.together import condensed
    from lagoon.text2motion.text_encoder import default_encoder

    return condensed(default_encoder().encode([member.command])[0].sentence)
