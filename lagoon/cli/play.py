"""``lagoon play``: the browser viewer."""

from __future__ import annotations

from lagoon.cli.config import PlayVerb
from lagoon.cli.console import Terminal
from lagoon.cli.extras import need
from lagoon.cli.session import skill_of
from lagoon.cli.skill_files import StaleBundleError, bundle_of, source_of
from lagoon.cli.verb import Call, Verb
from lagoon.robot import load_robot


def run(call: Call) -> int:
    """Serve the page until Ctrl-C; what the skill does not have yet is left out."""
    need("viewer")
    from lagoon.deploy.runtime import PolicyRunner
    from lagoon.motion.robot_motion import RobotMotion
    from lagoon.studio.play import serve

    skill, _ = skill_of(call)
    robot = load_robot(skill.robot)
    human = source_of(skill) if skill.source_path.exists() else None
    reference = RobotMotion.load(skill.robot_path) if skill.robot_path.exists() else None
    screen, policy = Terminal(), None
    if skill.bundle_folder.exists():
        try:
            policy = PolicyRunner(bundle_of(skill))
        except StaleBundleError as error:
            screen.say(f"The policy is left out: {error}")
    serve(human, reference, policy, robot, call.config.play, screen.say)
    return 0


VERB = Verb(
    name="play",
    purpose="watch human, robot reference and live policy side by side in a browser",
    text="skill",
    config=PlayVerb,
    run=run,
    examples=(
        ('lagoon play "wave hello"', "then open the address it prints"),
        ("lagoon play skills/wave-hello-b84e317c", "a skill folder by its path"),
        ('lagoon play "wave hello" play.port=9000', "on another port"),
    ),
    main_options=("robot", "skills_dir", "play.host", "play.port"),
    details="Works for half-made skills too: it shows what is there. Ctrl-C ends it.",
)
