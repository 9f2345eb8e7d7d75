"""``lagoon make``: all stages, from a command to a checked policy bundle and a preview."""

from __future__ import annotations

import shlex
from pathlib import Path

from lagoon.cli.config import MakeVerb
from lagoon.cli.console import Terminal
from lagoon.cli.extras import need
from lagoon.cli.ladder import climb
from lagoon.cli.many import Member, run_many
from lagoon.cli.pipeline import Stage, run_stages
from lagoon.cli.session import announce, show_end
from lagoon.cli.verb import Call, Verb
from lagoon.errors import BadInputError
from lagoon.imitation.config import TrainConfig
from lagoon.robot import load_robot
from lagoon.skill import Skill


def run(call: Call) -> int:
    """Run what is not finished, and remedies after a FAIL; 1 when the best of all that was tried fails."""
    from lagoon.cli import stages
    from lagoon.cli.preview_stage import preview_stage

    config: MakeVerb = call.config
    load_robot(config.robot)
    if config.caption is not None and (config.motion is None or call.text != config.caption):
        raise BadInputError(
            "caption= says in words what a motion file shows, in place of a command. Type either, or name the file: "
            f"lagoon make --motion walk.bvh --caption {shlex.quote(config.caption)}"
        )
    if call.more:
        return run_many(call, "make", _members(call))
    skill = Skill.new(Path(config.skills_dir), call.text, config.robot)
    first = _first_stage(skill, config)
    need(*("text2motion", "retarget", "train", "viewer")[first is not None :])  # Now, not after the training.
    seed = config.seed

    def to_verdict(config: MakeVerb) -> list[Stage]:
        return [
            first or stages.generate_stage(config.generate, seed),
            stages.retarget_stage(config.retarget, seed),
            stages.train_stage(config.train, seed),
            stages.export_stage(),
            stages.evaluate_stage(config.evaluate, seed),
        ]

    screen = Terminal(dashboards="--plain" not in call.flags)
    preview = [preview_stage(config.preview, seed)]
    announce(skill, screen)
    again = [stage.name for stage in to_verdict(config) + preview] if call.again else []
    rows = climb(skill, config, _rungs(config, call), to_verdict, screen, again)
    rows += run_stages(skill, preview, screen, again)
    return show_end(skill, rows, call, screen)


def _rungs(config: MakeVerb, call: Call) -> int:
    """Most remedies to try: a training that was cut short on purpose shows nothing about the motion."""
    ppo = config.train.ppo
    short = ppo.minutes is not None or ppo.total_steps < TrainConfig().ppo.total_steps
    return config.remedies if "remedies" in call.given or not short else 0


def _members(call: Call) -> dict[str, Member]:
    if call.config.motion is not None:
        raise BadInputError(
            "One motion file cannot be the motion of several commands. Name one command, or leave motion= out."
        )
    members: dict[str, Member] = {}
    for text in (call.text, *call.more):
        if not text.strip():
            raise BadInputError(f"One of the {1 + len(call.more)} commands is empty. Say in words what each shall do.")
        skill = Skill.new(Path(call.config.skills_dir), text, call.config.robot)
        members[skill.folder.name] = Member(("--", text), text, skill.folder, "evaluate")
    return members


def _first_stage(skill: Skill, config: MakeVerb) -> Stage | None:
    """The import of a file that was asked for now or earlier; None where the words are to be turned into motion."""
    from lagoon.cli.import_stage import import_stage, kept_import

    if config.motion is not None:
        return import_stage(Path(config.motion), config.import_, config.seed)
    return kept_import(skill)


VERB = Verb(
    name="make",
    purpose="run all stages, from a command to a checked policy bundle and a preview",
    text="command",
    config=MakeVerb,
    run=run,
    examples=(
        ('lagoon make "wave hello"', "everything, into skills/; minutes on two CPU cores"),
        ('lagoon make "wave hello" seed=3 train.minutes=5', "another motion, training stopped after 5 minutes"),
        ('lagoon make "bow" robot=go2 skills_dir=out', "choose the robot and the folder"),
        ('lagoon make --each "wave hello" bow', "two skills, side by side as far as there are cores"),
        (
            'lagoon make --motion walk.bvh --caption "a person walks"',
            "from a motion file instead of words; see lagoon import --help",
        ),
    ),
    main_options=(
        "robot",
        "seed",
        "skills_dir",
        "generate.duration",
        "motion",
        "caption",
        "retarget.morphology",
        "train.ppo.minutes",
        "train.ppo.total_steps",
        "train.start.policy",
        "train.ppo.workers",
        "remedies",
    ),
    details=(
        "Type the same line again to go on after Ctrl-C or an error: finished stages whose settings and inputs are "
        "unchanged are kept, training goes on from its last checkpoint. When the evaluation says FAIL, the remedies of "
        "docs/imitation.md are tried one after another, and the best policy is kept; remedies=0 tries none. It ends "
        "with exit code 1 when none passes; the preview is written all the same. A skill whose motion was imported "
        "keeps it; lagoon generate makes one from the words."
    ),
)
