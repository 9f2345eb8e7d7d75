"""``lagoon deploy run``: stand up, the skills, stand, sit down; over the fake robot or over a link to a real one."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from lagoon.cli.config import DeployRunVerb
from lagoon.cli.console import Terminal, shown
from lagoon.cli.deploy_check import load_target, named
from lagoon.cli.deploy_dry import dry_run
from lagoon.cli.deploy_terminal import Teller, ended_by
from lagoon.cli.extras import need
from lagoon.cli.verb import INTERRUPTED, Call, Verb
from lagoon.errors import BadInputError, LagoonError, install_line
from lagoon.paths import write_text

if TYPE_CHECKING:
    from lagoon.bundle import PolicyBundle
    from lagoon.deploy.config import DeployConfig
    from lagoon.deploy.controller import Controller
    from lagoon.deploy.loop import LoopReport, Watcher
    from lagoon.deploy.recording.recorder import Recorder
    from lagoon.deploy.rehearsal import Film
    from lagoon.deploy.transport.base import MotorCommand, RobotState, Transport
    from lagoon.robot import RobotSpec

    Say = Callable[[str], object]

LOG = "deploy_run.json"
"""Events and timing of the last run, beside the first skill's bundle."""
RECORDINGS = "recordings"
"""Folder of the bags, beside the first skill's bundle."""


def run(call: Call) -> int:
    """Run until the robot lies again; 1 when a guard tripped or something was not reached."""
    need("deploy")
    from lagoon.deploy.controller import Controller
    from lagoon.deploy.loop import LoopReport, run_loop
    from lagoon.deploy.priority import real_time
    from lagoon.deploy.sequence import SkillSequence

    config, screen = call.config.deploy, Terminal()
    is_sim, is_dry = "--sim" in call.flags, "--dry-run" in call.flags
    if config.video and (not is_sim or config.link):
        raise BadInputError("deploy.video=true needs --sim without deploy.link: only the fake robot can be drawn.")
    with real_time(config.priority):
        pass  # Refused now, not once the robot listens.
    skills, robot = load_skills(call)
    bundles = list({id(bundle): bundle for bundle in skills}.values())
    controller = Controller(robot, bundles, config.controller)
    film: Film | None = None
    if is_sim:
        transport, film = _rehearsal(controller, config, is_dry)
    else:
        transport = _open(call, skills, robot, is_dry)
    if is_dry:
        return dry_run(controller, transport, bundles, config.dry_seconds, screen)
    recorder = _recorder(config, controller, bundles, transport)
    if transport.is_real and recorder is None and config.record != "none":
        screen.say(f"This run is not recorded, since rosbags is not installed. Install it with: {install_line('bag')}")
    names = " then ".join(repr(shown(bundle.command)) for bundle in skills)
    screen.say(f"{names} over {transport.name}. Ctrl-C is damping at once: the robot sinks down.")
    sequence, report = SkillSequence([bundle.command for bundle in skills]), LoopReport()
    watch = _all([watcher for watcher in (film, recorder) if watcher])
    stopped = False
    # A closed terminal or a polite kill must not leave the robot with its last command.
    with ended_by("SIGTERM", "SIGHUP"), Teller(screen.say) as say:
        try:
            with ended_by("SIGINT"), real_time(config.priority):
                run_loop(controller, transport, sequence, watch, lambda event: say(f"  {event}"), report=report)
        except KeyboardInterrupt:
            stopped = True
            say("Stopped. The last commands were damping: the robot sinks down.")
        finally:
            _log(report, controller, transport, skills, say)
            if recorder is not None:
                _save(recorder, _folder(config, skills[0]), say)
    if stopped:
        return INTERRUPTED
    if film is not None:
        _write_video(film, skills, robot, screen)
    if sequence.problem:
        screen.say(f"It ended early: {sequence.problem}")
        if controller.fault is not None and controller.fault.guard == "overrun":
            advice = " Or rehearse without its clock: deploy.clock=virtual" if is_sim and not config.link else ""
            screen.say(f"This computer was too busy. Stop what else runs on it, and try again.{advice}")
        return 1
    return 0


def load_skills(call: Call) -> tuple[list[PolicyBundle], RobotSpec]:
    """Return a bundle for each skill of the line, in its order, and their robot; one named twice is loaded once.

    Raises:
        LagoonError: one cannot be loaded, or they are for several robots.
    """
    loaded: dict[str, tuple[PolicyBundle, RobotSpec]] = {}
    words = (call.text, *call.more)
    for word in dict.fromkeys(words):
        try:
            loaded[word] = load_target(call, word)
        except BadInputError as error:
            if call.more:
                whole = shlex.quote(" ".join(words))
                error.add_note(f"{len(words)} skills were named. If that is one, put it in quotes: {whole}")
            raise
    folders: dict[Path, PolicyBundle] = {}
    bundles = [folders.setdefault(loaded[word][0].folder.resolve(), loaded[word][0]) for word in words]
    robots = {bundle.robot: bundle.command for bundle in bundles}
    if len(robots) > 1:
        told = ", ".join(f"{shown(command)!r} for '{robot}'" for robot, command in robots.items())
        raise BadInputError(f"One run has one robot, and these skills are for several: {told}. Run them one by one.")
    return bundles, loaded[words[0]][1]


def _rehearsal(controller: Controller, config: DeployConfig, is_dry: bool) -> tuple[Transport, Film | None]:
    """The fake robot, here or behind the wire of a link, and what films it for a video."""
    from lagoon.deploy.fake_process import open_to_fake
    from lagoon.deploy.fake_robot import FakeRobot
    from lagoon.deploy.rehearsal import Film
    from lagoon.deploy.transport.in_process import InProcessTransport

    if config.link:
        return open_to_fake(controller.robot, config), None
    fake = FakeRobot(controller.robot, config.fake, config.seed)
    film = Film(fake, controller) if config.video else None
    return InProcessTransport(fake, clock="virtual" if is_dry else config.clock), film


def _open(call: Call, skills: Sequence[PolicyBundle], robot: RobotSpec, is_dry: bool) -> Transport:
    """Open the link to a real robot; commands need a passed check of every bundle on this computer."""
    from lagoon.deploy.check_report import FILE, require_check
    from lagoon.deploy.transport.links import find_link

    config = call.config.deploy
    prepare = find_link(config.link)
    if not is_dry:
        for bundle, word in zip(skills, (call.text, *call.more), strict=True):
            require_check(bundle.folder.parent / FILE, bundle, config, named(call, word))
    return prepare(robot, config)()


def _all(watchers: Sequence[Watcher]) -> Watcher | None:
    if len(watchers) < 2:
        return watchers[0] if watchers else None

    def watch(state: RobotState | None, command: MotorCommand, now: float) -> None:
        for watcher in watchers:
            watcher(state, command, now)

    return watch


def _folder(config: DeployConfig, bundle: PolicyBundle) -> Path:
    """Where bags go."""
    return bundle.folder.parent / RECORDINGS if config.record == "auto" else Path(config.record).expanduser()


def _recorder(
    config: DeployConfig, controller: Controller, bundles: Sequence[PolicyBundle], transport: Transport
) -> Recorder | None:
    """What records the run: on a real link if the extra is here, and wherever a folder was named."""
    from lagoon.deploy.recording.bag import is_available
    from lagoon.deploy.recording.recorder import Recorder, check_folder

    if config.record == "none" or (config.record == "auto" and not (transport.is_real and is_available())):
        return None
    need("bag")
    check_folder(_folder(config, bundles[0]))
    return Recorder(controller, bundles, transport.name, config.record_seconds)


def _save(recorder: Recorder, folder: Path, say: Say) -> None:
    """Write the bag; a full disk is told and hides nothing else."""
    say("Writing the recording.")
    try:
        path = recorder.save(folder)
    except LagoonError as error:
        say(str(error))
        return
    if path is not None:
        say(f"What was read and sent: {path}/  Compare it: lagoon deploy replay {shlex.quote(str(path))}")


def _log(
    report: LoopReport, controller: Controller, transport: Transport, skills: Sequence[PolicyBundle], say: Say
) -> None:
    """Print how the run went, and write all of it into a file."""
    torque, speed = controller.limiter_steps
    if late := report.lateness_ms:
        work = report.work_ms
        say(
            f"{report.steps} steps in {report.seconds:.1f} s; late p50 {late['p50']:.2f} ms, p99 {late['p99']:.2f} ms, "
            f"max {late['max']:.1f} ms; work p50 {work['p50']:.2f} ms; {report.overruns} too long, {report.skipped} "
            f"skipped; {100 * report.cpu_share:.0f} % of a core. Torque limited in {100 * torque / report.steps:.1f} % "
            f"of the steps, targets slowed down in {100 * speed / report.steps:.1f} %."
        )
    content = {"link": transport.name, "skills": [bundle.command for bundle in skills], **report.to_dict()}
    content |= {"torque_limited_steps": torque, "target_limited_steps": speed}
    path = skills[0].folder.parent / LOG
    try:
        write_text(path, json.dumps(content, indent=2) + "\n")
    except (OSError, LagoonError) as error:
        say(f"The log {path} could not be written: {error}")
        return
    say(f"Every event, and how the loop kept its time: {path}")


def _write_video(film: Film, skills: Sequence[PolicyBundle], robot: RobotSpec, screen: Terminal) -> None:
    need("viewer")
    from lagoon.studio.preview import write_preview
    from lagoon.studio.show import ShowText

    folder = skills[0].folder.parent / "deploy_run"
    with screen.stage("drawing") as progress:
        names = ", ".join(bundle.command for bundle in skills)
        text = ShowText(command=f"{names}: rehearsal over the fake robot")
        result = write_preview(folder, None, None, film.motion(), robot, text, progress)
    screen.say(f"Look at it: {result.video or result.page}{' ' + result.message if result.message else ''}")


VERB = Verb(
    name="deploy run",
    purpose="stand up, do the skills, stand, sit down: over the fake robot or a link",
    text="skills",
    config=DeployRunVerb,
    run=run,
    examples=(
        ('lagoon deploy run "wave hello" --sim', "over the fake robot, in real time"),
        ('lagoon deploy run "wave hello" "bow" --sim', "one after the other, with a stand in between"),
        ('lagoon deploy run "wave hello" --sim deploy.video=true', "and a video of it"),
        ('lagoon deploy run "wave hello" --sim deploy.link=unitree', "over a Go2's own messages, to a fake one on lo"),
        ('lagoon deploy run "wave hello" --sim --dry-run', "read the states, show what would be sent, send nothing"),
    ),
    main_options=(
        "robot",
        "skills_dir",
        "deploy.link",
        "deploy.clock",
        "deploy.video",
        "deploy.record",
        "deploy.priority",
        "deploy.dry_seconds",
        "deploy.controller.guards.tilt_margin",
    ),
    details=(
        "Several skills run in the order given; from each to the next the robot goes through the stand. A link to a "
        "real robot asks for a passed 'lagoon deploy check' of every one of the same bundles, on the same computer, "
        "with the same versions and settings. Guards have no switch; wider numbers are told as warnings. Ctrl-C, a "
        "closed terminal and kill are damping. docs/deploy.md has the states, the guards and the checklist for a real "
        "robot."
    ),
    flags=("--sim", "--dry-run"),
)
