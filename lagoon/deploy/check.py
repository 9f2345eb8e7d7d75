"""Is this bundle, on this computer, fit to be tried on a robot?

What enters: a loaded bundle (its contract and golden ticks have been checked by loading), the robot, a config.
What leaves: a CheckReport. Times are real, on this computer's clock; the runs over the fake robot are simulated
as fast as they go.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from lagoon.bundle import PolicyBundle, check_robot
from lagoon.deploy.check_report import (
    CheckReport,
    Finding,
    bundle_sha256,
    checked_settings,
    host_here,
    now_utc,
    versions_here,
)
from lagoon.deploy.config import DeployConfig
from lagoon.deploy.controller import Controller, Kind, Mode
from lagoon.deploy.controller.controller import check_gains
from lagoon.deploy.fake_robot import FakeRobot
from lagoon.deploy.loop import LoopReport, quantiles_ms, run_loop
from lagoon.deploy.priority import real_time
from lagoon.deploy.rehearsal import simulate
from lagoon.deploy.runtime import PolicyRunner
from lagoon.deploy.sequence import StandUpFor
from lagoon.deploy.transport.in_process import InProcessTransport
from lagoon.progress import Progress, silent
from lagoon.robot import RobotSpec

PACED_TICKS = 100
"""Policy ticks timed once per period, with cold caches."""
TIGHT_TICKS = 1000
"""Policy ticks timed in a row."""


def check(
    bundle: PolicyBundle, robot: RobotSpec, config: DeployConfig, progress: Progress | None = None
) -> CheckReport:
    """Check contract, timing, the whole sequence and the guards.

    Raises:
        BadInputError: the bundle is not for this robot.
    """
    report = progress or silent
    check_robot(bundle, robot)
    check_gains(bundle, robot, config.controller.guards.gain_share)
    findings = list(_contract(bundle, config))
    report(0.02, "timing of the policy")
    with real_time(config.priority):
        policy_finding, policy_ms = _time_policy(bundle, config)
    report(0.1, "timing of the loop")
    with real_time(config.priority):
        loop_finding, loop = _time_loop(bundle, robot, config)
    findings += [policy_finding, loop_finding]
    parts = config.runs + len(DRILLS)
    for k in range(config.runs):
        report(0.2 + 0.8 * k / parts, f"run {k + 1} of {config.runs} over the fake robot")
        findings.append(_run_sequence(bundle, robot, config, k))
    for k, name in enumerate(DRILLS):
        report(0.2 + 0.8 * (config.runs + k) / parts, f"drill: {name}")
        findings.append(_drill(bundle, robot, config, name))
    return CheckReport(
        command=bundle.command,
        robot=robot.name,
        bundle_sha256=bundle_sha256(bundle.folder),
        findings=tuple(findings),
        timing={
            "policy_ms": policy_ms,
            "loop_late_ms": loop.lateness_ms,
            "loop_work_ms": loop.work_ms,
            "loop_lateness_histogram": loop.histogram,
            "loop_overruns": loop.overruns,
            "loop_cpu_share": loop.cpu_share,
        },
        config=checked_settings(config),
        versions=versions_here(),
        host=host_here(),
        created=now_utc(),
    )


def _contract(bundle: PolicyBundle, config: DeployConfig) -> list[Finding]:
    golden = bundle.golden.num_ticks
    widened = config.controller.guards.widened()
    told = ", ".join(f"{name} {value:g} instead of {default:g}" for name, (value, default) in widened.items())
    exact = bundle.up_b is not None
    return [
        Finding("contract", True, f"files unchanged, {golden} golden ticks within {bundle.golden_tolerance:g}"),
        Finding("gains", True, f"within a factor of {config.controller.guards.gain_share:g} of the robot's own"),
        Finding(
            "tilt envelope",
            True,
            f"gravity direction at each of {bundle.num_steps} ticks"
            if exact
            else "largest tilt of each stretch only; export again for a guard that sees every fall",
            {"exact": exact},
        ),
        Finding("guard numbers", True, f"WIDENED: {told}" if widened else "defaults or narrower"),
    ]


# Timing ------------------------------------------------------------------------------------------------


def _time_policy(bundle: PolicyBundle, config: DeployConfig) -> tuple[Finding, dict[str, Any]]:
    runner = PolicyRunner(bundle)
    zeros, level = np.zeros(bundle.num_joints), np.array([1.0, 0.0, 0.0, 0.0])

    def tick() -> float:
        begin = time.perf_counter()
        runner.step(bundle.default_joint_pos, zeros, level, zeros[:3])
        return time.perf_counter() - begin

    tight = [tick() for _ in range(TIGHT_TICKS)]
    paced, deadline = [], time.perf_counter()
    for _ in range(PACED_TICKS):
        deadline += bundle.control_dt
        time.sleep(max(0.0, deadline - time.perf_counter()))
        paced.append(tick())
    numbers = {"tight": quantiles_ms(tight), "paced": quantiles_ms(paced)}
    p50, p99 = numbers["paced"]["p50"], numbers["paced"]["p99"]
    text = f"p50 {p50:.2f} ms, p99 {p99:.2f} ms once per period; at most {config.max_policy_ms:g} ms"
    return Finding("policy timing", p99 <= config.max_policy_ms, text, numbers), numbers


def _time_loop(bundle: PolicyBundle, robot: RobotSpec, config: DeployConfig) -> tuple[Finding, LoopReport]:
    """The whole loop in real time over the fake robot, which stands up meanwhile."""
    controller = Controller(robot, [bundle], config.controller)
    transport = InProcessTransport(FakeRobot(robot, config.fake, config.seed), clock="wall")
    loop = run_loop(controller, transport, StandUpFor(config.timing_seconds))
    late, work = loop.lateness_ms, loop.work_ms
    tripped = [event.text for event in loop.events if event.kind is Kind.TRIP]
    text = (
        f"late p50 {late['p50']:.2f} ms, p99 {late['p99']:.2f} ms, at most {config.max_late_ms:g} ms; work p50 "
        f"{work['p50']:.2f} ms; {loop.overruns} of {loop.steps} steps too long, {loop.skipped} skipped; "
        f"{100 * loop.cpu_share:.0f} % of a core, simulation included"
    )
    passed = late["p99"] <= config.max_late_ms and not tripped
    return Finding("loop timing", passed, text + (f"; {tripped[0]}" if tripped else ""), {"tripped": tripped}), loop


# Runs --------------------------------------------------------------------------------------------------


def _run_sequence(bundle: PolicyBundle, robot: RobotSpec, config: DeployConfig, k: int) -> Finding:
    trace, loop, sequence = simulate(bundle, robot, config, config.seed + k)
    problem = sequence.problem
    for when in ("before", "after"):
        if problem:
            break
        error, height = trace.joint_error[when], trace.height[when]
        if error > config.max_joint_error:
            problem = f"mean joint error {error:.3f} rad in the stand {when} the skill"
        elif abs(height - robot.default_root_height) > config.max_height_error:
            problem = f"trunk at {height:.3f} m in the stand {when} the skill"
    if not problem and trace.controller.mode is not Mode.DAMPING:
        problem = f"it ended in '{trace.controller.mode.value}'"
    numbers = {
        "seconds": loop.seconds,
        "joint_error": trace.joint_error,
        "height": trace.height,
        "max_tilt_error": trace.max_tilt_error,
        "torque_limited_steps": trace.controller.limiter_steps[0],
        "target_limited_steps": trace.controller.limiter_steps[1],
        "steps": loop.steps,
    }
    text = problem or (
        f"{loop.seconds:.1f} s; joint error {trace.joint_error['before']:.3f} and {trace.joint_error['after']:.3f} rad "
        f"in the stand; gravity at most {trace.max_tilt_error:.2f} rad off; torque limited in "
        f"{100 * trace.controller.limiter_steps[0] / loop.steps:.1f} % of the steps, targets slowed down in "
        f"{100 * trace.controller.limiter_steps[1] / loop.steps:.1f} %"
    )
    return Finding(f"run {k + 1}: up, skill, stand, down", not problem, text, numbers)


def _freeze(fake: FakeRobot) -> None:
    fake.faults.freeze = True


def _cut(fake: FakeRobot) -> None:
    fake.faults.cut = True


def _spoil(fake: FakeRobot) -> None:
    fake.faults.nan = "gyro"


def _jump(fake: FakeRobot) -> None:
    fake.faults.clock_offset = -1.0


def _knock_over(fake: FakeRobot) -> None:
    fake.push((0.0, 2.0, 0.5), (9.0, 0.0, 0.0))


def _intrude(fake: FakeRobot) -> None:
    fake.faults.other_publishers = ("sport_mode",)


DRILLS = {
    "frozen sensors": (_freeze, ("frozen",)),
    "network cut": (_cut, ("stale",)),
    "gyro not a number": (_spoil, ("bad_state",)),
    "robot's clock back by 1 s": (_jump, ("clock",)),
    "knocked over": (_knock_over, ("tilt", "joint_velocity")),
    "second publisher": (_intrude, ("other_publisher",)),
}
"""Name to (misbehaviour, guards that may answer first)."""


def _drill(bundle: PolicyBundle, robot: RobotSpec, config: DeployConfig, name: str) -> Finding:
    """Strike in the midst of the skill; a guard must answer, and the robot end in damping."""
    strike, guards = DRILLS[name]
    began: list[float] = []

    def timed(fake: FakeRobot) -> None:
        began.append(fake.time)
        strike(fake)

    trace, loop, _ = simulate(bundle, robot, config, config.seed, timed)
    trips = [event for event in loop.events if event.kind is Kind.TRIP]
    if not began:
        return Finding(f"drill: {name}", False, "the skill did not get that far")
    if not trips:
        return Finding(f"drill: {name}", False, "no guard tripped")
    seconds = trips[0].time - began[0]
    right = trips[0].guard in guards and trace.controller.mode is Mode.FAULT
    text = f"'{trips[0].guard}' after {1e3 * seconds:.0f} ms, damping" + ("" if right else f"; expected {guards[0]}")
    return Finding(f"drill: {name}", right, text, {"guard": trips[0].guard, "seconds": seconds})
