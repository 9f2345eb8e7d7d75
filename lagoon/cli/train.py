"""``lagoon train``: robot motion to policy."""

from __future__ import annotations

from lagoon.cli.config import TrainVerb
from lagoon.cli.session import run_and_show, skill_of
from lagoon.cli.verb import Call, Verb


def run(call: Call) -> int:
    """Write train/."""
    from lagoon.cli.stages import train_stage

    skill, seed = skill_of(call)
    return run_and_show(skill, [train_stage(call.config.train, seed)], call)


VERB = Verb(
    name="train",
    purpose="learn a policy that follows the robot motion, in simulation (train/)",
    text="skill",
    config=TrainVerb,
    run=run,
    examples=(
        ('lagoon train "wave hello"', "the skill's reference motion, default budget"),
        ('lagoon train "wave hello" train.minutes=5 seed=3', "at most five minutes, another seed"),
        ('lagoon train "wave hello" train.workers=4', "four processes, one core each"),
        ('lagoon train "wave hello" train.topology=async train.actors=3', "three processes act while a fourth learns"),
    ),
    main_options=(
        "robot",
        "seed",
        "skills_dir",
        "train.ppo.minutes",
        "train.ppo.total_steps",
        "train.ppo.workers",
        "train.ppo.topology",
    ),
    details=(
        "Ctrl-C writes a checkpoint; the same line again goes on from there. Changed settings start afresh, and the "
        "earlier training is kept once as train-previous/."
    ),
)
