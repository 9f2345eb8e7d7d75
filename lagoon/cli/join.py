"""``lagoon join``: lends this machine's cores to a training that runs on another one."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from lagoon.cli.config import JoinVerb
from lagoon.cli.console import Terminal
from lagoon.cli.extras import need
from lagoon.cli.schema import build
from lagoon.cli.verb import Call, Verb
from lagoon.errors import BadInputError, require
from lagoon.imitation.config import TrainConfig
from lagoon.robot import load_robot

_TELL_SECONDS = 0.5
_SHOW_SECONDS = 5.0


@dataclass(frozen=True)
class JoinNode:
    """One process that acts; picklable."""

    address: str
    make_env: Any
    identity: str
    ring: int
    board: Any
    """Says when to leave."""
    patience: float

    def __call__(self, report: Callable[..., bool]) -> None:
        """Act until the training or this end ends."""
        from lagoon.engine.remote.joiner import Status, act_for

        told = [0.0]

        def tell(status: Status) -> None:
            if time.monotonic() - told[0] >= _TELL_SECONDS:
                told[0] = time.monotonic()
                report(version=status.version, samples=status.samples, joins=status.joins)

        stopped = lambda: bool(self.board.stopped)  # noqa: E731
        why = act_for(self.address, self.make_env, self.identity, self.ring, stopped, tell, self.patience)
        report(ended=why)


def run(call: Call) -> int:
    """Act until the training ends or Ctrl-C."""
    need("train")
    require("zmq", "cluster")
    from lagoon.engine.board import Board
    from lagoon.engine.cores import available_cores
    from lagoon.engine.remote.joiner import parcel
    from lagoon.engine.scheduler.local import LocalScheduler
    from lagoon.imitation.env import MakeTrackingEnv
    from lagoon.imitation.joining import unpacked

    config: JoinVerb = call.config
    screen = Terminal()
    theirs, content = parcel(call.text)
    motion, name, plain = unpacked(content)
    robot, settings = load_robot(name), build(TrainConfig, plain)
    make = MakeTrackingEnv(motion, robot, settings)
    if make.identity() != theirs:
        raise BadInputError(
            f"This machine's environment is {make.identity()[:12]}, that of the training at {call.text} {theirs[:12]}: "
            f"lagoon or the description of the robot {name} differ. Install the same revision on both machines."
        )
    cores = available_cores()
    actors = config.actors or len(cores)
    screen.say(f"Joining {call.text} with {actors} actors; {name}, {motion.duration:.1f} s of motion. Ctrl-C leaves.")
    board, scheduler = Board(1), LocalScheduler()
    node = JoinNode(call.text, make, make.identity(), config.ring, board, 60.0 * config.patience)
    for number in range(actors):
        scheduler.start(f"joiner-{number}", lambda starts: node, cores[number] if actors <= len(cores) else None)
    try:
        screen.say(_watch(scheduler, screen))
    finally:
        board.stop()
        scheduler.close()
    return 0


def _watch(scheduler: Any, screen: Terminal) -> str:
    """Show how it goes until every actor has ended; returns why the last one did."""
    last: dict[str, dict[str, Any]] = {}
    shown, ended, before = time.monotonic(), dict[str, str](), 0
    while len(ended) < len(scheduler.processes):
        time.sleep(0.1)
        dead = [name for name, process in scheduler.processes.items() if not process.is_alive()]
        for name, facts in scheduler.reports():
            if "ended" in facts:
                ended[name] = facts["ended"]
            else:
                last[name] = facts
        if dead and not ended:  # Killed, or failed, which is raised; who has ended has said so before.
            scheduler.revive(lambda name: None)
        if time.monotonic() - shown >= _SHOW_SECONDS and last:
            total = sum(facts["samples"] for facts in last.values())
            rate = (total - before) / (time.monotonic() - shown)
            shown, before = time.monotonic(), total
            newest = max(facts["version"] for facts in last.values())
            screen.say(f"{len(last)} actors, {total:,} samples, {rate:,.0f} per second, version {newest}")
    return next(iter(ended.values()), "Stopped here.")


VERB = Verb(
    name="join",
    purpose="lend this machine's cores to a training on another one",
    text="address",
    config=JoinVerb,
    run=run,
    examples=(
        ("lagoon join tcp://127.0.0.1:5555", "a training on this machine, or one whose port ssh brings here"),
        ("lagoon join tcp://10.0.0.5:5555 actors=8", "eight processes for a training in the same network"),
    ),
    main_options=("actors", "ring", "patience"),
    details=(
        "The training is started with train.topology=async train.listen=tcp://HOST:PORT. Motion and settings come from "
        "it, the robot's description from here; both machines need the same revision of lagoon. There is no password "
        "and no encryption: listen on 127.0.0.1 and bring the port here with ssh -L 5555:127.0.0.1:5555 TRAINER, or "
        "use a network that you trust. If the line is cut or the trainer is away, it is tried again."
    ),
)
