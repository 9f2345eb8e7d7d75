"""How well the command loop keeps its time on this computer: 200 Hz commands, 50 Hz policy, absolute deadlines.

Usage:
    python benchmarks/deploy/bench_loop.py BUNDLE [--seconds 60] [--json FILE]

BUNDLE is a bundle folder. The controller runs in real time over the fake robot in the same process: it stands
up, runs the skill again and again, and the time of each step counts. Physics of the fake robot is not part of
"work", but of the CPU share. A guard that trips on a busy machine is told, reset, and the robot stands up again.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
from datetime import date
from pathlib import Path

from lagoon import __version__
from lagoon.bundle import load
from lagoon.deploy.config import FakeRobotConfig
from lagoon.deploy.controller import NOTHING, Action, Controller, Kind, Mode, Request
from lagoon.deploy.fake_robot import FakeRobot
from lagoon.deploy.loop import run_loop
from lagoon.deploy.transport.in_process import InProcessTransport
from lagoon.robot import load_robot


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("bundle", type=Path)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--json", type=Path, help="also write the numbers here")
    args = parser.parse_args()
    bundle = load(args.bundle)
    robot = load_robot(bundle.robot)
    controller = Controller(robot, [load(args.bundle, robot)])
    transport = InProcessTransport(FakeRobot(robot, FakeRobotConfig()), clock="wall")
    end = float("inf")
    modes: dict[str, int] = {}

    def operator(controller: Controller, now: float) -> Request | None:
        nonlocal end
        end = min(end, now + args.seconds)
        if now >= end:
            return None
        modes[controller.mode.value] = modes.get(controller.mode.value, 0) + 1
        if controller.mode is Mode.FAULT:
            return Request(Action.RESET)
        if controller.mode is Mode.DAMPING and controller.blocker is None:
            return Request(Action.STAND_UP)
        if controller.steady and not controller.is_waiting:
            return Request(Action.START, bundle.command)
        return NOTHING

    load_before = os.getloadavg()[0]
    report = run_loop(controller, transport, operator)
    trips = [event.to_dict() for event in report.events if event.kind is Kind.TRIP]
    policy = {name: 1e3 * seconds for name, seconds in controller.runner(bundle.command).timing().items()}
    result = {
        "date": date.today().isoformat(),
        "machine": f"{platform.machine()}, {os.cpu_count()} cores",
        "load": [round(load_before, 1), round(os.getloadavg()[0], 1)],
        "nice": os.nice(0),
        "lagoon": __version__,
        "policy_sha256": bundle.policy_sha256,
        "seconds": report.wall_seconds,
        "steps": report.steps,
        "skipped": report.skipped,
        "overruns": report.overruns,
        "lateness_ms": report.lateness_ms,
        "work_ms": report.work_ms,
        "policy_ms": policy,
        "cpu_share": report.cpu_share,
        "histogram": report.histogram,
        "steps_by_mode": modes,
        "trips": trips,
    }
    late, work = report.lateness_ms, report.work_ms
    print("| load | steps | skipped | late p50 / p99 / max [ms] | work p50 / p99 / max [ms] | CPU | trips |")
    print("|---|---|---|---|---|---|---|")
    print(
        f"| {result['load'][0]} | {report.steps} | {report.skipped} "
        f"| {late['p50']:.2f} / {late['p99']:.2f} / {late['max']:.1f} "
        f"| {work['p50']:.2f} / {work['p99']:.2f} / {work['max']:.1f} "
        f"| {100 * report.cpu_share:.0f} % | {len(trips)} |"
    )
    print("lateness histogram [ms]:", ", ".join(f"<= {edge}: {count}" for edge, count in report.histogram.items()))
    if args.json:
        args.json.parent.mkdir(parents=True, exist_ok=True)
        args.json.write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
