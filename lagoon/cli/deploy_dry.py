"""``lagoon deploy run --dry-run``: read a robot's states, and show what it would be sent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.table import Table

from lagoon.cli.console import Terminal, plain, shown

if TYPE_CHECKING:
    from lagoon.bundle import PolicyBundle
    from lagoon.deploy.controller import Controller
    from lagoon.deploy.dry_run import Look, Plan, SkillTargets
    from lagoon.deploy.transport.base import Transport
    from lagoon.robot import RobotSpec


def dry_run(
    controller: Controller, transport: Transport, bundles: Sequence[PolicyBundle], seconds: float, screen: Terminal
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
    found = None if reason else plan(controller.robot, bundles, controller.config, look.state)
    screen.console.print(_table(controller.robot, look, found))
    if found is not None and len(found.skills) > 1:
        screen.console.print(_skills(controller.robot, found.skills))
    if found is None:
        screen.say(f"The robot could not stand up as it lies: {reason}")
        return 1
    if found.problem:
        screen.say(f"The stand-up would end early even if every joint followed: {found.problem}")
        return 1
    step = float(abs(found.first - look.state.joint_pos).max())
    screen.say(
        f"The robot could stand up. That would take {found.up_seconds:.1f} s over joints that follow at once, and "
        f"begin at most {step:.2f} rad from where they are. The targets of a skill are its policy's at the "
        f"{', '.join(str(skill.ticks) for skill in found.skills)} golden ticks of its bundle."
    )
    screen.say("Compare the measured joints with the robot in front of you, moving each by hand.")
    return 0


def _table(robot: RobotSpec, look: Look, found: Plan | None) -> Table:
    assert look.state is not None and look.lower is not None and look.upper is not None
    table = Table(title="angles in rad: measured, and the targets that would be sent", header_style="bold")
    columns = ["joint", "measured", "moved"]
    if found is not None:
        # A bundle that can be loaded for a robot has its gains.
        columns += ["stand-up", "skill" if len(found.skills) == 1 else "skills", "kp, kd"]
    for column in columns:
        table.add_column(column, justify="left" if column == "joint" else "right", no_wrap=True)
    for j, name in enumerate(robot.joint_names):
        row = [plain(name), f"{look.state.joint_pos[j]:.2f}", f"{look.upper[j] - look.lower[j]:.2f}"]
        if found is not None:
            row += [
                f"{found.up_lower[j]:.2f}..{found.up_upper[j]:.2f}",
                f"{min(s.lower[j] for s in found.skills):.2f}..{max(s.upper[j] for s in found.skills):.2f}",
                f"{robot.kp[j]:g}, {robot.kd[j]:g}",
            ]
        table.add_row(*row)
    return table


def _skills(robot: RobotSpec, skills: Sequence[SkillTargets]) -> Table:
    table = Table(title="the targets of each skill, in rad", header_style="bold")
    table.add_column("joint")
    for skill in skills:
        table.add_column(plain(shown(skill.command, 30)), justify="right", overflow="fold")
    for j, name in enumerate(robot.joint_names):
        table.add_row(plain(name), *(f"{skill.lower[j]:.2f}..{skill.upper[j]:.2f}" for skill in skills))
    return table
