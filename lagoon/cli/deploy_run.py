"""``lagoon deploy run``: stand up, the skill, stand, sit down; over the fake robot or over a link to a real one."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from lagoon.cli.config import DeployRunVerb
from lagoon.cli.console import Terminal, shown
from lagoon.cli.deploy_check import load_target, named
from lagoon.cli.deploy_dry import dry_run
from lagoon.cli.extras import need
from lagoon.cli.verb import Call, Verb
from lagoon.errors import BadInputError, LagoonError, install_line
from lagoon.paths import write_text

if TYPE_CHECKING:
    from lagoon.bundle import PolicyBundle
    from lagoon.deploy.check import RunTrace
    from lagoon.deploy.config import DeployConfig
    from lagoon.deploy.controller import Controller
    from lagoon.deploy.loop import LoopReport
    from lagoon.deploy.recording.recorder import Recorder
    from lagoon.deploy.transport.base import MotorCommand, RobotState, Transport
    from lagoon.robot import RobotSpec


LOG = "deploy_run.json"
"""Events and timing of the last run, beside the bundle."""
RECORDINGS = "recordings"
"""Folder of the bags, beside the bundle."""


def run(call: Call) -> int:
    """Run until the robot lies again; 1 when a guard tripped or something was not reached."""
    need("deploy")
    from lagoon.deploy.check import RunTrace
    from lagoon.deploy.controller import Controller
    from lagoon.deploy.fake_robot import FakeRobot
    from lagoon.deploy.loop import LoopReport, run_loop
    from lagoon.deploy.sequence import SkillSequence
    from lagoon.deploy.transport.in_process import InProcessTransport

    config, screen = call.config.deploy, Terminal()
    is_sim, is_dry = "--sim" in call.flags, "--dry-run" in call.flags
    if is_sim and config.link:
        raise BadInputError(f"--sim and deploy.link={config.link} exclude each other. Leave one of them out.")
    if config.video and not is_sim:
        raise BadInputError("deploy.video=true needs --sim: only the fake robot can be drawn.")
    bundle, robot = load_target(call)
    controller = Controller(robot, [bundle], config.controller)
    trace: RunTrace | None = None
    if is_sim:
        fake = FakeRobot(robot, config.fake, config.seed)
        trace = RunTrace(fake, controller)
        transport: Transport = InProcessTransport(fake, clock="virtual" if is_dry else "wall")
    else:
        transport = _open(call, bundle, robot, is_dry)
    if is_dry:
        return dry_run(controller, transport, bundle, config.dry_seconds, screen)
    recorder = _recorder(config, controller, bundle, transport)
    if transport.is_real and recorder is None and config.record != "none":
        screen.say(f"This run is not recorded, since rosbags is not installed. Install it with: {install_line('bag')}")
    screen.say(f"{shown(bundle.command)!r} over {transport.name}. Ctrl-C is damping at once: the robot sinks down.")
    sequence = SkillSequence([bundle.command])
    watchers = [watcher for watcher in (trace and trace.watch, recorder) if watcher]

    def watch(state: RobotState | None, command: MotorCommand, now: float) -> None:
        for watcher in watchers:
            watcher(state, command, now)

    report = LoopReport()
    try:
        run_loop(controller, transport, sequence, watch, lambda event: screen.say(f"  {event}"), report=report)
    finally:
        path = bundle.folder.parent / LOG
        write_text(path, json.dumps({"link": transport.name, **report.to_dict()}, indent=2) + "\n")
        _tell(report, screen)
        screen.say(f"Every event, and how the loop kept its time: {path}")
        if recorder is not None:
            _save(recorder, _folder(config, bundle), screen)
    if trace is not None and config.video:
        _write_video(trace, bundle, robot, screen)
    if sequence.problem:
        screen.say(f"It ended early: {sequence.problem}")
        if controller.fault is not None and controller.fault.guard == "overrun":
            screen.say("This computer was too busy. Stop what else runs on it, and try again.")
        return 1
    return 0


def _open(call: Call, bundle: PolicyBundle, robot: RobotSpec, is_dry: bool) -> Transport:
    """Open the link to a real robot; commands need a passed check of this bundle on this computer."""
    from lagoon.deploy.check_report import FILE, require_check
    from lagoon.deploy.transport.links import find_link

    config = call.config.deploy
    open_link = find_link(config.link)
    if not is_dry:
        require_check(bundle.folder.parent / FILE, bundle, config, named(call))
    return open_link(robot, config)


def _folder(config: DeployConfig, bundle: PolicyBundle) -> Path:
    """Where bags go."""
    return bundle.folder.parent / RECORDINGS if config.record == "auto" else Path(config.record).expanduser()


def _recorder(
    config: DeployConfig, controller: Controller, bundle: PolicyBundle, transport: Transport
) -> Recorder | None:
    """What records the run: on a real link if the extra is here, and wherever a folder was named."""
    from lagoon.deploy.recording.bag import is_available
    from lagoon.deploy.recording.recorder import Recorder, check_folder

    if config.record == "none" or (config.record == "auto" and not (transport.is_real and is_available())):
        return None
    need("bag")
    check_folder(_folder(config, bundle))
    return Recorder(controller, [bundle], transport.name, config.record_seconds)


def _save(recorder: Recorder, folder: Path, screen: Terminal) -> None:
    """Write the bag; a full disk is told and hides nothing else."""
    try:
        with screen.stage("writing the recording"):
            path = recorder.save(folder)
    except LagoonError as error:
        screen.say(str(error))
        return
    if path is not None:
        screen.say(f"What was read and sent: {path}/  Compare it: lagoon deploy replay {shlex.quote(str(path))}")


def _tell(report: LoopReport, screen: Terminal) -> None:
    late, work = report.lateness_ms, report.work_ms
    if late:
        screen.say(
            f"{report.steps} steps in {report.seconds:.1f} s; late p50 {late['p50']:.2f} ms, p99 {late['p99']:.2f} ms, "
            f"max {late['max']:.1f} ms; work p50 {work['p50']:.2f} ms; {report.overruns} too long, {report.skipped} "
            f"skipped; {100 * report.cpu_share:.0f} % of a core."
        )


def _write_video(trace: RunTrace, bundle: PolicyBundle, robot: RobotSpec, screen: Terminal) -> None:
    need("viewer")
    from lagoon.studio.preview import write_preview
    from lagoon.studio.show import ShowText

    folder = bundle.folder.parent / "deploy_run"
    with screen.stage("drawing") as progress:
        text = ShowText(command=f"{bundle.command}: rehearsal over the fake robot")
        result = write_preview(folder, None, None, trace.motion(), robot, text, progress)
    screen.say(f"Look at it: {result.video or result.page}{' ' + result.message if result.message else ''}")


VERB = Verb(
    name="deploy run",
    purpose="stand up, do the skill, stand, sit down: over the fake robot or a link",
    text="skill",
    config=DeployRunVerb,
    run=run,
    examples=(
        ('lagoon deploy run "wave hello" --sim', "over the fake robot, in real time"),
        ('lagoon deploy run "wave hello" --sim deploy.video=true', "and a video of it"),
        ('lagoon deploy run "wave hello" --sim --dry-run', "read the states, show what would be sent, send nothing"),
    ),
    main_options=(
        "robot",
        "skills_dir",
        "deploy.link",
        "deploy.video",
        "deploy.record",
        "deploy.dry_seconds",
        "deploy.controller.guards.tilt_margin",
    ),
    details=(
        "A link to a real robot asks for a passed 'lagoon deploy check' of the same bundle, on the same computer, with "
        "the same versions and settings. Guards have no switch; wider numbers are told as warnings. Ctrl-C is damping. "
        "docs/deploy.md has the states, the guards and the checklist for a real robot."
    ),
    flags=("--sim", "--dry-run"),
)
