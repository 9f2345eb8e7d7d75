"""``lagoon deploy run --dry-run``: read a robot's states, and show what it would be sent."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.table import Table

from lagoon.cli.console import Terminal, plain

if TYPE_CHECKING:
    from lagoon.bundle import PolicyBundle
    from lagoon.deploy.controller import Controller
    from lagoon.deploy.dry_run import Look, Plan
    from lagoon.deploy.transport.base import Transport
    from lagoon.robot import RobotSpec


def dry_run(
    controller: Controller, transport: Transport, bundle: PolicyBundle, seconds: float, screen: Terminal
) -> int:
    """Look for some seconds, then show the states and the plan; 1 if the robot could not stand up as it lies."""
    from lagoon.deploy.dry_run import Look, plan
    from lagoon.deploy.loop import run_loop

    screen.say(f"Dry run over {transport.name} for {seconds:g} s: nothing is sent.")
    look = Look(seconds)
    run_loop(controller, transport, look, look.watch, lambda event: screen.say(f"  {event}"), dry_run=True)
    if look.state is None:
        screen.say("No state arrived. Is the robot on, and the link the right one?")
        return 1
    battery = "" if look.state.battery is None else f", battery {100 * look.state.battery:.0f} %"
    screen.say(f"{look.rate:.0f} states a second arrived{battery}.")
    reason = controller.blocker.text if controller.blocker else ""
    found = None if reason else plan(controller.robot, bundle, controller.config, look.state)
    screen.console.print(_table(controller.robot, bundle, look, found))
    if found is None:
        screen.say(f"The robot could not stand up as it lies: {reason}")
        return 1
    if found.problem:
        screen.say(f"The stand-up would end early even if every joint followed: {found.problem}")
        return 1
    step = float(abs(found.first - look.state.joint_pos).max())
    screen.say(
        f"The robot could stand up. That would take {found.up_seconds:.1f} s over joints that follow at once, and "
        f"begin at most {step:.2f} rad from where they are. The skill's targets are the policy's at "
        f"{found.skill_ticks} golden ticks of its bundle."
    )
    screen.say("Compare the measured joints with the robot in front of you, moving each by hand.")
    return 0


def _table(robot: RobotSpec, bundle: PolicyBundle, look: Look, found: Plan | None) -> Table:
    assert look.state is not None and look.lower is not None and look.upper is not None
    table = Table(title="angles in rad: measured, and the targets that would be sent", header_style="bold")
    columns = ["joint", "measured", "moved"]
    if found is not None:
        columns += ["stand-up", "skill", "its kp, kd"]
    for column in columns:
        table.add_column(column, justify="left" if column == "joint" else "right", no_wrap=True)
    for j, name in enumerate(robot.joint_names):
        row = [plain(name), f"{look.state.joint_pos[j]:.2f}", f"{look.upper[j] - look.lower[j]:.2f}"]
        if found is not None:
            row += [
                f"{found.up_lower[j]:.2f}..{found.up_upper[j]:.2f}",
                f"{found.skill_lower[j]:.2f}..{found.skill_upper[j]:.2f}",
                f"{bundle.kp[j]:g}, {bundle.kd[j]:g}",
            ]
        table.add_row(*row)
    return table
