"""``lagoon together``: one policy for several skills."""

from __future__ import annotations

import shlex
from pathlib import Path

from lagoon.cli.config import TogetherVerb
from lagoon.cli.console import Terminal, shown
from lagoon.cli.lookup import find_skill
from lagoon.cli.pipeline import run_stages
from lagoon.cli.preview_stage import preview_stage
from lagoon.cli.stages import evaluate_stage
from lagoon.cli.together_stages import export_member_stage, group_of, take_along, train_together_stage
from lagoon.cli.verb import Call, Verb


def run(call: Call) -> int:
    """Train the group, then export, evaluate and show each skill; 1 when one of them fails."""
    config: TogetherVerb = call.config
    screen, skills_dir = Terminal(), Path(config.skills_dir)
    skills = [find_skill(text, skills_dir, config.robot) for text in (call.text, *call.more)]
    group = group_of(skills, skills_dir)
    members = take_along(group, skills)
    seed = 0 if config.seed is None else config.seed
    screen.say(f"One policy for {shown(group.command)!r} on {group.robot}: {group.folder}/")
    rows = run_stages(group, [train_together_stage(members, config.train, seed)], screen, ["train"] * call.again)
    screen.summary(rows)
    failed = False
    for member in members:
        screen.say(f"{shown(member.command)!r}: {member.folder}/")
        stages = [
            export_member_stage(group, config.train),
            evaluate_stage(config.evaluate, seed),
            preview_stage(config.preview, seed),
        ]
        found = run_stages(member, stages, screen)
        screen.summary(found)
        failed |= any(row.failed for row in found)
    names = " ".join(shlex.quote(str(member.folder)) for member in members)
    screen.say(f"One after another, on the fake robot:  lagoon deploy run {names} --sim")
    return 1 if failed else 0


VERB = Verb(
    name="together",
    purpose="learn one policy for several skills, told apart by their words (together/)",
    text="skills",
    config=TogetherVerb,
    run=run,
    examples=(
        ('lagoon together "bow" "stretch"', "both motions, one network; a bundle, trials and a page for each"),
        ('lagoon together "wave hello" "clap your hands" train.total_steps=8e6', "more steps for each of them"),
    ),
    main_options=("robot", "seed", "skills_dir", "train.ppo.total_steps", "train.ppo.num_envs"),
    details=(
        "The skills must have been retargeted. The policy gets the steps that the skills would get alone, together; "
        "training ends when the worst is steady. What comes out lies in skills/together/; each skill has a bundle of "
        "its own there, of the same network, which runs like any other: one after another through the stand. Ctrl-C "
        "writes a checkpoint; the same line goes on."
    ),
)
