"""``lagoon deploy check``: is this bundle, on this computer, fit to be tried on a robot?"""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from lagoon.cli.config import DeployCheckVerb
from lagoon.cli.console import Terminal, plain, shown
from lagoon.cli.extras import need
from lagoon.cli.lookup import find_skill
from lagoon.cli.skill_files import bundle_of
from lagoon.cli.verb import Call, Verb
from lagoon.errors import BadInputError
from lagoon.robot import load_robot

if TYPE_CHECKING:
    from lagoon.bundle import PolicyBundle
    from lagoon.deploy.check_report import CheckReport
    from lagoon.robot import RobotSpec


def load_target(call: Call, text: str) -> tuple[PolicyBundle, RobotSpec]:
    """Return the bundle that a text names, by its own folder or by its skill, and its robot.

    Raises:
        LagoonError: there is none, it is damaged or for another robot, or the skill's motion was made anew after it.
    """
    from lagoon import bundle

    folder = Path(text).expanduser()
    if _is(folder):
        raise BadInputError(
            f"{text} is a file, not a bundle: gains, limits and golden ticks lie in the folder around a policy. Name "
            f"that folder, or read the file with: lagoon deploy inspect {shlex.quote(text)}"
        )
    if not _is(folder / "bundle.yaml"):
        skill = find_skill(text, Path(call.config.skills_dir), call.config.robot)
        return bundle_of(skill), load_robot(skill.robot)
    found = bundle.load(folder)
    robot = load_robot(call.config.robot or found.robot)
    bundle.check_robot(found, robot)
    bundle.check_description(found, robot)
    return found, robot


def named(call: Call, text: str) -> str:
    """How to name the same skill in a line to type."""
    words = [text] + ([f"skills_dir={call.config.skills_dir}"] if "skills_dir" in call.given else [])
    return shlex.join(words)


def _is(file: Path) -> bool:
    try:
        return file.is_file()
    except (OSError, ValueError):
        return False  # Too long or otherwise no path at all: then it is a command text.


def run(call: Call) -> int:
    """Write deploy_check.json beside the bundle; 1 on FAIL."""
    need("deploy")
    from lagoon.deploy.check import check
    from lagoon.deploy.check_report import FILE

    bundle, robot = load_target(call, call.text)
    screen = Terminal()
    screen.say(f"Bundle of {shown(bundle.command)!r} for {robot.name}: {bundle.folder}/")
    with screen.stage("checking") as progress:
        report = check(bundle, robot, call.config.deploy, progress)
    path = bundle.folder.parent / FILE
    report.save(path)
    show(report, screen)
    screen.say(f"{'PASS' if report.passed else 'FAIL'}. The report: {path}")
    if report.passed:
        screen.say(f"Rehearse it in real time: lagoon deploy run {named(call, call.text)} --sim")
    return 0 if report.passed else 1


def show(report: CheckReport, screen: Terminal) -> None:
    """Print one line for each finding."""
    from rich.table import Table

    table = Table(header_style="bold")
    for column in ("what", "", "measured"):
        table.add_column(column, overflow="fold")
    for finding in report.findings:
        table.add_row(finding.name, "ok" if finding.passed else "FAIL", plain(finding.text))
    screen.console.print(table)


VERB = Verb(
    name="deploy check",
    purpose="check a bundle for a robot: contract, timing here, rehearsals, guards (deploy_check.json)",
    text="skill",
    config=DeployCheckVerb,
    run=run,
    examples=(
        ('lagoon deploy check "wave hello"', "a skill by its command"),
        ("lagoon deploy check skills/wave-hello-b84e317c/bundle", "a bundle by its folder, without a skill"),
        ('lagoon deploy check "wave hello" deploy.runs=10', "more rehearsals"),
    ),
    main_options=(
        "robot",
        "skills_dir",
        "deploy.runs",
        "deploy.timing_seconds",
        "deploy.max_policy_ms",
        "deploy.max_late_ms",
        "deploy.fake.delay",
    ),
    details=(
        "Run it on the computer that will run the robot: it measures that computer's timing. SKILL may be a bundle "
        "folder too. The fake robot has delay, noise, losses and a bus order of its own; in some of the runs it "
        "misbehaves, and a guard must answer. Exit code 0 is PASS, 1 is FAIL."
    ),
)
