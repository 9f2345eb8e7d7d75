"""``lagoon train``: robot motion to policy, for one skill or for several side by side."""

from __future__ import annotations

import shlex
from pathlib import Path

from lagoon.cli.config import TrainVerb
from lagoon.cli.extras import need
from lagoon.cli.lookup import find_skill
from lagoon.cli.many import Member, run_many
from lagoon.cli.session import run_and_show, skill_of
from lagoon.cli.slurm import submit
from lagoon.cli.verb import Call, Verb
from lagoon.errors import BadInputError, LagoonError


def run(call: Call) -> int:
    """Write train/."""
    if call.config.scheduler == "slurm":
        return submit(call, "train", _members(call))
    if call.config.scheduler == "ray":
        need("ray")
        from lagoon.engine.scheduler.ray import RayJobs

        return run_many(call, "train", _members(call), RayJobs(call.config.ray))
    if call.more:
        return run_many(call, "train", _members(call))
    from lagoon.cli.stages import train_stage

    skill, seed = skill_of(call)
    return run_and_show(skill, [train_stage(call.config.train, seed)], call)


def _members(call: Call) -> dict[str, Member]:
    """Find all skills before any of them is trained: a name with a typing error must not show up after hours.

    Raises:
        BadInputError: one cannot be found, or the names together are one skill.
    """
    members: dict[str, Member] = {}
    names = (call.text, *call.more)
    for text in names:
        try:
            skill = find_skill(text, Path(call.config.skills_dir), call.config.robot)
        except BadInputError as error:
            whole = " ".join(names)
            try:
                find_skill(whole, Path(call.config.skills_dir), call.config.robot)
            except LagoonError:
                raise error from None
            raise BadInputError(
                f"There is no skill {text!r}, but there is one named {whole!r}. Put it in quotes: "
                f"lagoon train {shlex.quote(whole)}"
            ) from error
        folder = skill.folder.resolve()
        name = folder.name if folder.name not in members else f"{folder.parent.name}-{folder.name}"
        if all(member.words != (str(folder),) for member in members.values()):
            members[name] = Member((str(folder),), skill.command, skill.folder, "train")
    return members


VERB = Verb(
    name="train",
    purpose="learn a policy that follows the robot motion, in simulation (train/)",
    text="skills",
    config=TrainVerb,
    run=run,
    examples=(
        ('lagoon train "wave hello"', "the skill's reference motion, default budget"),
        ('lagoon train "wave hello" train.minutes=5 seed=3', "at most five minutes, another seed"),
        ('lagoon train "wave hello" bow clap', "three skills, side by side as far as there are cores"),
        ('lagoon train "wave hello" train.workers=4', "four processes, one core each"),
        ("lagoon train bow clap scheduler=slurm slurm.cores=16", "an array job of a SLURM cluster"),
        ('lagoon train "wave hello" train.topology=async train.actors=3', "three processes act while a fourth learns"),
    ),
    main_options=(
        "robot",
        "seed",
        "skills_dir",
        "jobs",
        "scheduler",
        "train.ppo.minutes",
        "train.ppo.total_steps",
        "train.start.policy",
        "train.ppo.workers",
        "train.ppo.topology",
    ),
    details=(
        "Ctrl-C writes a checkpoint; the same line again goes on from there. Changed settings start afresh, and the "
        "earlier training is kept once as train-previous/. Several skills share the cores: each gets whole ones, and "
        "more than one only when there are more cores than skills; the others wait for their turn. Each skill has a "
        "log in logs/. One that fails leaves the others going, one that is killed is started anew and goes on from its "
        "last checkpoint."
    ),
)
