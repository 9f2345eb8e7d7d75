"""``lagoon export``: policy to bundle."""

from __future__ import annotations

from lagoon.cli.config import ExportVerb
from lagoon.cli.session import run_and_show, skill_of
from lagoon.cli.verb import Call, Verb


def run(call: Call) -> int:
    """Write bundle/."""
    from lagoon.cli.stages import export_stage

    skill, _ = skill_of(call)
    return run_and_show(skill, [export_stage()], call)


VERB = Verb(
    name="export",
    purpose="write what a robot runs: one ONNX graph and its contract (bundle/)",
    text="skill",
    config=ExportVerb,
    run=run,
    examples=(
        ('lagoon export "wave hello"', "the trained policy"),
        ("lagoon export wave-hello-b84e317c", "the same by its folder's name in skills/"),
        ('lagoon export "wave hello" --again', "write it again, for example with a newer lagoon"),
    ),
    main_options=("robot", "skills_dir"),
    details="There is nothing to tune: observations, scaling and the reference motion are those of the training.",
)
