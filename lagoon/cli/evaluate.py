"""``lagoon evaluate``: randomized trials of the exported policy."""

from __future__ import annotations

from lagoon.cli.config import EvaluateVerb
from lagoon.cli.session import run_and_show, skill_of
from lagoon.cli.verb import Call, Verb


def run(call: Call) -> int:
    """Write evaluation.json; 1 on FAIL."""
    from lagoon.cli.stages import evaluate_stage

    skill, seed = skill_of(call)
    return run_and_show(skill, [evaluate_stage(call.config.evaluate, seed)], call)


VERB = Verb(
    name="evaluate",
    purpose="try the exported bundle on randomized robots: PASS or FAIL (evaluation.json)",
    text="skill",
    config=EvaluateVerb,
    run=run,
    examples=(
        ('lagoon evaluate "wave hello"', "the default trials"),
        ('lagoon evaluate "wave hello" evaluate.trials=500', "more of them"),
        ('lagoon evaluate "wave hello" seed=11 --again', "other random draws"),
    ),
    main_options=(
        "robot",
        "seed",
        "skills_dir",
        "evaluate.trials",
        "evaluate.threads",
        "evaluate.min_survival",
        "evaluate.max_joint_error",
    ),
    details=(
        "The exported ONNX file runs, not the training's network, in physics that differ from the training's. "
        "Exit code 0 is PASS, 1 is FAIL."
    ),
)
