"""A fake robot in a process of its own: what it can be asked, and how it is started from here.

What enters: a command line, lines on standard input. What leaves: a FakeRobot whose wire delays, loses and adds
noise as asked, and which misbehaves when told to: ``silence=true``, ``silence=true@8`` after eight seconds of its
life, ``cut=true@8-8.2`` for a while. Names are those of Faults. Every kind of wire has its own program around this.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import json
import math
import os
import queue
import re
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

import yaml

from lagoon.deploy.config import DeployConfig, FakeRobotConfig
from lagoon.deploy.fake_robot import FakeRobot, Faults
from lagoon.deploy.transport.base import Transport
from lagoon.deploy.transport.links import find_fake, find_link
from lagoon.errors import BadInputError, LagoonError, unknown_name
from lagoon.robot import RobotSpec, load_robot

ORDER = re.compile(r"\s*(\w+)\s*=(.*?)(?:@\s*([\d.]+)\s*(?:-\s*([\d.]+)\s*)?)?", re.DOTALL)
EXAMPLE = "such as silence=true, battery=0.05@8 or cut=true@8-8.2"
START_SECONDS = 60.0
"""Longest time for the process to say that the robot lies [s]; a busy computer needs some."""


@dataclass(frozen=True)
class Order:
    """One fault, from one moment of the robot's life to another."""

    name: str
    value: Any
    begin: float
    """[s]; below the present means at once."""
    end: float
    """[s]"""


def parse_order(text: str) -> Order:
    """Read an order.

    Raises:
        BadInputError: no such fault, or a value of another kind; both are told.
    """
    match = ORDER.fullmatch(text)
    if match is None:
        raise BadInputError(f"'{text}' is no fault. Expected NAME=VALUE, NAME=VALUE@FROM or @FROM-TO, {EXAMPLE}.")
    name, given, begin, end = match.groups()
    healthy = {item.name: getattr(Faults(), item.name) for item in fields(Faults)}
    if name not in healthy:
        raise unknown_name("Fault", name, healthy)
    try:
        value = yaml.safe_load(given)
        start, stop = float(begin or 0.0), float(end or math.inf)
    except (yaml.YAMLError, ValueError) as error:
        raise BadInputError(f"'{text}' cannot be read. Expected {EXAMPLE}.") from error
    kind = type(healthy[name])
    if kind is tuple and isinstance(value, list):
        value = tuple(value)
    if kind is float and type(value) is int:
        value = float(value)
    if type(value) is not kind:
        raise BadInputError(
            f"The fault '{name}' is {given.strip()!r}; expected a {kind.__name__}, as {healthy[name]!r}."
        )
    return Order(name, value, start, stop)


class Misbehaviour:
    """Puts faults into a fake robot and takes them out again as its time goes by."""

    def __init__(self, fake: FakeRobot, orders: Sequence[Order] = ()) -> None:
        """Args: fake: whose faults; orders: known from the start."""
        self._fake, self._waiting, self._at_work = fake, list(orders), list[Order]()
        self._lines: queue.SimpleQueue[str] = queue.SimpleQueue()

    def listen(self, lines: Iterator[str]) -> None:
        """Take further orders from lines of text, in a thread of its own."""
        threading.Thread(target=lambda: [self._lines.put(line) for line in lines], daemon=True).start()

    def update(self, say: Callable[[str], object] = print) -> None:
        """Apply what is due; what cannot be read is said and left out."""
        now, faults = self._fake.time, self._fake.faults
        while not self._lines.empty():
            line = self._lines.get()
            try:
                self._waiting += [parse_order(line.strip())] if line.strip() else []
            except LagoonError as error:
                say(str(error))
        for order in [order for order in self._at_work if order.end <= now]:
            self._at_work.remove(order)
            setattr(faults, order.name, getattr(Faults(), order.name))
        for order in [order for order in self._waiting if order.begin <= now]:
            self._waiting.remove(order)
            self._at_work.append(order)
            setattr(faults, order.name, order.value)


def arguments(program: str, description: str) -> argparse.ArgumentParser:
    """Return a parser of what every fake robot can be asked."""
    parser = argparse.ArgumentParser(prog=f"python -m {program}", description=description)
    parser.add_argument("--robot", default="go2", help="which robot, as in 'lagoon robot list'")
    parser.add_argument("--seconds", type=float, default=math.inf, help="stop by itself after this time")
    parser.add_argument("--seed", type=int, default=0, help="of noise and losses")
    for name, text in (
        ("delay", "of each message, each way, beside the real one"),
        ("jitter", "added to that at most"),
    ):
        parser.add_argument(f"--{name}", type=float, default=0.0, metavar="SECONDS", help=text)
    parser.add_argument("--loss", type=float, default=0.0, metavar="SHARE", help="of the messages, lost")
    parser.add_argument("--no-noise", action="store_true", help="perfect sensors")
    parser.add_argument("--settings", help="all of FakeRobotConfig as JSON, in place of the options above")
    parser.add_argument(
        "--fault", action="append", default=[], metavar="NAME=VALUE", help=f"{EXAMPLE}; may be repeated"
    )
    parser.add_argument("--listen", action="store_true", help="take further faults from standard input, one a line")
    parser.add_argument("--parent", type=int, default=0, help="end with this process")
    return parser


def make(args: argparse.Namespace) -> tuple[FakeRobot, Misbehaviour]:
    """Return the robot that was asked for, and what it was told.

    Raises:
        LagoonError: something of it cannot be.
    """
    if args.settings:
        wire = FakeRobotConfig(**json.loads(args.settings))
    else:
        sensors = FakeRobotConfig.perfect() if args.no_noise else FakeRobotConfig()
        wire = replace(sensors, delay=args.delay, jitter=args.jitter, loss=args.loss)
    orders = [parse_order(text) for text in args.fault]
    fake = FakeRobot(load_robot(args.robot), wire, args.seed)
    misbehaviour = Misbehaviour(fake, orders)
    if args.listen:
        misbehaviour.listen(sys.stdin)
    return fake, misbehaviour


def is_orphan(args: argparse.Namespace) -> bool:
    """True once the process that this one was to end with is gone."""
    return bool(args.parent) and os.getppid() != args.parent


def open_to_fake(robot: RobotSpec, config: DeployConfig) -> Transport:
    """Start a fake robot behind the wire of ``config.link``, and open that link to it; closing the link ends both.

    Raises:
        BadInputError: there is no such wire, or it leads out of this computer.
        LagoonError: the fake robot did not start, or the link did not open.
    """
    with contextlib.ExitStack() as opening:
        opening.enter_context(started(robot, config))
        link = find_link(config.link)(robot, config)()
        opening.callback(link.close)
        link.close = opening.pop_all().close  # type: ignore[method-assign]
        return link


@contextlib.contextmanager
def started(robot: RobotSpec, config: DeployConfig, faults: Sequence[str] = ()) -> Iterator[subprocess.Popen[str]]:
    """Run the fake robot of a link while the context lasts; further faults may be written to its standard input.

    Args:
        robot: which robot.
        config: the link, the fake robot's wire and its seed.
        faults: what it is told from the start; see parse_order.

    Raises:
        BadInputError: the link has no such program, or leads out of this computer.
        LagoonError: it did not start; its last words are told.
    """
    module = find_fake(config.link)
    extra = importlib.import_module(module).command_line(config)
    words = ["--robot", robot.name, "--seed", str(config.seed), "--settings", json.dumps(asdict(config.fake)), *extra]
    words += [f"--fault={text}" for text in faults]
    # A session of its own: Ctrl-C is for the controller, whose last words the robot shall hear.
    process = subprocess.Popen(
        [sys.executable, "-m", module, *words, "--listen", "--parent", str(os.getpid())],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        _wait_for_first_line(process)
        yield process
    finally:
        process.terminate()
        try:
            process.wait(5.0)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _wait_for_first_line(process: subprocess.Popen[str]) -> None:
    lines: list[str] = []
    ready = threading.Event()

    def read() -> None:
        for line in process.stdout or ():
            lines.append(line)
            if " lies " in line:
                ready.set()
        ready.set()

    threading.Thread(target=read, daemon=True).start()
    if not ready.wait(START_SECONDS) or process.poll() is not None or not any(" lies " in line for line in lines):
        said = "".join(lines[-3:]).strip() or "nothing"
        raise LagoonError(f"The fake robot did not start within {START_SECONDS:g} s. It said: {said}")
