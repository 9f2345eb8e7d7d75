"""``lagoon generate``: words to human motion."""

from __future__ import annotations

from pathlib import Path

from lagoon.cli.config import GenerateVerb
from lagoon.cli.session import run_and_show
from lagoon.cli.verb import Call, Verb
from lagoon.robot import load_robot
from lagoon.skill import Skill


def run(call: Call) -> int:
    """Write human.npz, the scores of all candidates, and on demand a page that shows them."""
    from lagoon.cli.stages import generate_stage

    config: GenerateVerb = call.config
    load_robot(config.robot)
    skill = Skill.new(Path(config.skills_dir), call.text, config.robot)
    code = run_and_show(skill, [generate_stage(config.generate, config.seed)], call)
    if "--show" in call.flags:
        from lagoon.cli import candidates
        from lagoon.cli.extras import need

        need("viewer")
        print(f"Compare candidates: {candidates.show(skill)} (open in a browser)")
    return code


VERB = Verb(
    name="generate",
    purpose="turn words into human motion (human.npz)",
    text="command",
    config=GenerateVerb,
    run=run,
    examples=(
        ('lagoon generate "wave hello" seed=7', "seed 7's way of waving"),
        ('lagoon generate "walk in a circle" generate.duration=6', "six seconds long"),
        ('lagoon generate "wave twice, then bow" --show', "and a page that compares all sampled motions"),
        ('lagoon generate "play the violin" --force', "even if nothing like it is known"),
    ),
    main_options=(
        "robot",
        "seed",
        "skills_dir",
        "generate.generator",
        "generate.model",
        "generate.duration",
        "generate.guidance",
        "generate.temperature",
        "generate.force",
    ),
    details=(
        "A command is refused (exit code 3) if it is not understood, far from all the model was trained on, impossible "
        "or harmful; the reason and the nearest known commands are printed. What was changed in it is printed, too."
    ),
)
