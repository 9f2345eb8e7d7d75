"""``lagoon deploy run``: stand up, the skill, stand, sit down; over the fake robot or over a link to a real one."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING

from lagoon.cli.config import DeployRunVerb
from lagoon.cli.console import Terminal, plain, shown
from lagoon.cli.deploy_check import load_target, named
from lagoon.cli.extras import need
from lagoon.cli.verb import Call, Verb
from lagoon.errors import BadInputError
from lagoon.paths import write_text

if TYPE_CHECKING:
    from lagoon.bundle import PolicyBundle
    from lagoon.deploy.check import RunTrace
    from lagoon.deploy.controller import Controller
    from lagoon.deploy.loop import LoopReport, Watcher
    from lagoon.deploy.transport.base import Transport
    from lagoon.robot import RobotSpec


LOG = "deploy_run.json"
"""Events and timing of the last run, beside the bundle."""


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
        return _dry_run(controller, transport, config.dry_seconds, screen)
    screen.say(f"{shown(bundle.command)!r} over {transport.name}. Ctrl-C is damping at once: the robot sinks down.")
    sequence = SkillSequence([bundle.command])
    watch: Watcher | None = trace.watch if trace else None
    report = LoopReport()
    try:
        run_loop(controller, transport, sequence, watch, lambda event: screen.say(f"  {event}"), report=report)
    finally:
        path = bundle.folder.parent / LOG
        write_text(path, json.dumps({"link": transport.name, **report.to_dict()}, indent=2) + "\n")
        _tell(report, screen)
        screen.say(f"Every event, and how the loop kept its time: {path}")
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


def _dry_run(controller: Controller, transport: Transport, seconds: float, screen: Terminal) -> int:
    """Show what the first seconds of a stand-up would send; nothing is sent."""
    from lagoon.deploy.loop import run_loop
    from lagoon.deploy.sequence import StandUpFor
    from lagoon.deploy.transport.base import MotorCommand, RobotState

    screen.say(f"Dry run over {transport.name} for {seconds:g} s: nothing is sent.")
    operator, last = StandUpFor(seconds), -1.0

    def watch(state: RobotState | None, command: MotorCommand, now: float) -> None:
        nonlocal last
        if state is not None and now - last >= 1.0:
            last = now
            _show_command(controller, state, command, screen)

    tell: Callable[[object], None] = lambda event: screen.say(f"  {event}")  # noqa: E731
    report = run_loop(controller, transport, operator, watch, tell, dry_run=True)
    _tell(report, screen)
    if controller.fault is not None:
        screen.say(
            "Since nothing is sent, the robot does not follow, and a guard ends the stand-up; that is as it should be."
        )
    if not operator.asked:
        reason = controller.blocker.text if controller.blocker else "no state arrived"
        screen.say(f"The robot could not have stood up: {reason}")
    return 0 if operator.asked else 1


def _show_command(controller: Controller, state: object, command: object, screen: Terminal) -> None:
    from rich.table import Table

    table = Table(title=f"{controller.mode.value} {controller.phase}".strip(), header_style="bold")
    for column in ("joint", "measured [rad]", "target [rad]", "kp", "kd", "asks for [Nm]"):
        table.add_column(column, justify="left" if column == "joint" else "right")
    c, s = command, state
    for j, name in enumerate(controller.robot.joint_names):
        torque = c.kp[j] * (c.joint_pos[j] - s.joint_pos[j]) - c.kd[j] * s.joint_vel[j] + c.torque[j]  # type: ignore[attr-defined]
        numbers = (s.joint_pos[j], c.joint_pos[j], c.kp[j], c.kd[j], torque)  # type: ignore[attr-defined]
        table.add_row(plain(name), *(f"{number:.2f}" for number in numbers))
    screen.console.print(table)


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
        ('lagoon deploy run "wave hello" --sim --dry-run', "show the first commands of a stand-up, send none"),
    ),
    main_options=(
        "robot",
        "skills_dir",
        "deploy.link",
        "deploy.video",
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
