"""``lagoon play``: the browser viewer."""

from __future__ import annotations

from lagoon.cli.config import PlayVerb
from lagoon.cli.session import skill_of
from lagoon.cli.verb import Call, Verb


def run(call: Call) -> int:
    """Serve the page until Ctrl-C."""
    skill, seed = skill_of(call)
    raise NotImplementedError(skill, seed)


VERB = Verb(
    name="play",
    purpose="watch human, robot reference and live policy side by side in a browser",
    text="skill",
    config=PlayVerb,
    run=run,
    examples=(
        ('lagoon play "wave hello"', "then open the address it prints"),
        ("lagoon play skills/wave-hello-b84e317c", "a skill folder by its path"),
        ('lagoon play "wave hello" skills_dir=out', "a skill in another folder"),
    ),
    main_options=("robot", "skills_dir"),
    details="Works for half-made skills too: it shows what is there. Ctrl-C ends it.",
)
