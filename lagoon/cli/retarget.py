"""``lagoon retarget``: human motion to robot motion."""

from __future__ import annotations

from lagoon.cli.config import RetargetVerb
from lagoon.cli.session import run_and_show, skill_of
from lagoon.cli.verb import Call, Verb


def run(call: Call) -> int:
    """Write robot.npz and retarget.json."""
    from lagoon.cli.stages import retarget_stage

    skill, seed = skill_of(call)
    return run_and_show(skill, [retarget_stage(call.config.retarget, seed)], call)


VERB = Verb(
    name="retarget",
    purpose="turn human motion into robot motion (robot.npz), with a quality report",
    text="skill",
    config=RetargetVerb,
    run=run,
    examples=(
        ('lagoon retarget "wave hello"', "the skill made by lagoon generate"),
        ('lagoon retarget "wave hello" retarget.morphology=four_legged', "stay on four legs"),
        ('lagoon retarget "kick high" --fix', "slower, smaller or lower, until the verdict is trackable"),
        ("lagoon retarget out/wave-hello-b84e317c --again", "a folder by its path; run it even if unchanged"),
    ),
    main_options=(
        "robot",
        "skills_dir",
        "retarget.morphology",
        "retarget.speed",
        "retarget.fix",
        "retarget.leg_extension",
        "retarget.max_tilt",
    ),
)
