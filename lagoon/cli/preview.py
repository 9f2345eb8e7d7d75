"""``lagoon preview``: a page and a video to look at."""

from __future__ import annotations

from lagoon.cli.config import PreviewVerb
from lagoon.cli.session import run_and_show, skill_of
from lagoon.cli.verb import Call, Verb


def run(call: Call) -> int:
    """Write preview.html and, where the machine can render, preview.mp4."""
    from lagoon.cli.preview_stage import preview_stage

    skill, seed = skill_of(call)
    return run_and_show(skill, [preview_stage(call.config.preview, seed)], call)


VERB = Verb(
    name="preview",
    purpose="make a self-contained page (preview.html) and a video (preview.mp4)",
    text="skill",
    config=PreviewVerb,
    run=run,
    examples=(
        ('lagoon preview "wave hello"', "page and video"),
        ("lagoon preview wave-hello-b84e317c --again", "make them again"),
        ('lagoon preview "wave hello" skills_dir=out', "a skill in another folder"),
    ),
    main_options=("robot", "skills_dir", "preview.video", "preview.fps"),
    details="Without OpenGL there is no video; the page needs none.",
)
