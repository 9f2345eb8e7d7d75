"""An actor on another machine: joins a training, acts for it, and joins again when the line was cut.

What enters: the trainer's address, and how to make its environment. What leaves: rollouts. The policy is a copy here,
so that the network is crossed once per rollout and once per version, not once per step.
"""

from __future__ import annotations

import json
import socket as sockets
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from lagoon.engine.acting import ActingPolicy, OwnInferenceStream
from lagoon.engine.environment import VecEnv
from lagoon.engine.metrics import Stopwatch
from lagoon.engine.nodes import MakeEnv
from lagoon.engine.params import LATEST
from lagoon.engine.remote.gateway import PROTOCOL
from lagoon.engine.stores.zmq import ZmqParameterStore
from lagoon.engine.streams.zmq import layout_of, open_socket
from lagoon.engine.trajectory import Trajectory, ppo_schema
from lagoon.engine.workers.actor import ActorSpec, ActorWorker
from lagoon.errors import BadInputError, LagoonError, StageFailedError
from lagoon.spans import span

_BEAT_SECONDS = 0.05
_ANSWER_SECONDS = 10.0
_AGAIN_SECONDS = 2.0
_LOOK_MS = 20
Header = dict[str, Any]


class LostError(LagoonError):
    """The trainer does not answer, or has forgotten this actor."""


class Line:
    """Messages to a trainer and back."""

    def __init__(self, address: str) -> None:
        """Connect; nothing is sent yet.

        Raises:
            BadInputError: the address cannot be used.
        """
        self.address = address
        self._socket, _ = open_socket("DEALER", connect=address)

    def send(self, header: Header, *parts: Any) -> None:
        """Send a message; never waits."""
        self._socket.send_multipart([json.dumps(header).encode(), *parts])

    def receive(self, seconds: float) -> tuple[Header, list[bytes]] | None:
        """Return the next message, None where none comes in time."""
        if not self._socket.poll(1e3 * seconds):
            return None
        head, *parts = self._socket.recv_multipart()
        return json.loads(head), parts

    def ask(self, header: Header) -> tuple[Header, list[bytes]]:
        """Return the answer to a message.

        Raises:
            LostError: none comes.
        """
        self.send(header)
        answer = self.receive(_ANSWER_SECONDS)
        if answer is None:
            raise LostError(
                f"No trainer answers at {self.address}. Check that a training with train.topology=async (or decoupled) "
                "and train.listen=tcp://HOST:PORT is running, and that its port can be reached from here."
            )
        return answer

    def close(self) -> None:
        """Disconnect."""
        self._socket.close(500)


def parcel(address: str) -> tuple[str, bytes]:
    """Return a training's identity and what its environment can be built from.

    Raises:
        LostError: no trainer answers.
        BadInputError: the address cannot be used.
    """
    line = Line(address)
    try:
        header, parts = line.ask({"what": "parcel"})
        return str(header["identity"]), parts[0]
    finally:
        line.close()


class _Store:
    """The trainer's parameters; which version is the newest was told with the last beat."""

    def __init__(self, address: str, version: int) -> None:
        self._inner, self.version = ZmqParameterStore(address), version

    def get(self, which: int | str = LATEST) -> tuple[int, Mapping[str, Tensor]]:
        """Return a version, or the newest where it is gone already."""
        try:
            return self._inner.get(which)
        except LookupError:
            return self._inner.get(LATEST)

    def push(self, tensors: Mapping[str, Tensor], version: int) -> None:
        """Refuse."""
        self._inner.push(tensors, version)

    def tag(self, name: str, which: int | str = LATEST) -> None:
        """Refuse."""
        raise ValueError("A joiner only reads parameters.")

    def close(self) -> None:
        """Disconnect."""
        self._inner.close()


class _Samples:
    """One slot per seat; written with a permit, sent when complete."""

    def __init__(self, line: Line, welcome: Header, environments: list[VecEnv], inference: OwnInferenceStream) -> None:
        self._line, self._welcome, self._environments, self._inference = line, welcome, environments, inference
        schema = ppo_schema(welcome["horizon"], welcome["rows"], dict(welcome["obs_dims"]), welcome["action_dim"])
        if layout_of(schema).hex() != welcome["layout"]:
            raise BadInputError("The trainer lays rollouts out in another way. Use the same lagoon on both machines.")
        self._slots = [Trajectory(schema) for _ in environments]
        self._keys = {seat: key for key, seat in enumerate(welcome["seats"])}
        self._permits: set[int] = set()
        self.version, self.fraction = -1, 0.0
        self.sent = 0

    def told(self, board: Header) -> None:
        """Take in the answer to a beat."""
        self.version, self.fraction = int(board["version"]), float(board["fraction"])
        self._permits |= {self._keys[seat] for seat in board["permits"]}

    def acquire(self, key: int = 0) -> Trajectory | None:
        """Return the seat's slot if a rollout may begin."""
        if key not in self._permits:
            return None
        self._permits.discard(key)
        self._inference.pin(key, -1 if self._welcome["interruptible"] else self.version)
        self._environments[key].set_progress(self.fraction)
        return self._slots[key]

    def post(self, trajectory: Trajectory) -> None:
        """Send a complete slot; its bytes are copied."""
        key = next(key for key, slot in enumerate(self._slots) if slot is trajectory)
        header = {"what": "rollout", "seat": self._welcome["seats"][key], "layout": self._welcome["layout"]}
        with span("copy samples"):
            self._line.send(header, trajectory.memory.numpy().tobytes())
        self.sent += trajectory.samples

    def take(self) -> Trajectory | None:
        """Refuse: the trainer is elsewhere."""
        raise NotImplementedError("The trainer is on another machine.")

    def release(self, trajectory: Trajectory) -> None:
        """Refuse: see ``take``."""
        raise NotImplementedError("The trainer is on another machine.")


@dataclass
class Status:
    """How a joined actor is getting on, for whoever shows it."""

    version: int = -1
    samples: int = 0
    """Sent, since the beginning."""
    joins: int = 0


def act_for(
    address: str,
    make_env: MakeEnv,
    identity: str,
    ring: int,
    stopped: Callable[[], bool],
    tell: Callable[[Status], None] = lambda status: None,
    patience: float = 600.0,
) -> str:
    """Act for a trainer until it ends, joining anew whenever the line was cut.

    Args:
        address: of the trainer.
        make_env: (seat, robots, seed) -> environment.
        identity: must equal the trainer's.
        ring: environments to act in turn.
        stopped: asked often; True ends it.
        tell: called now and then.
        patience: how long a trainer that does not answer is waited for [s].

    Returns:
        Why it ended, in words.

    Raises:
        BadInputError: the trainer refuses this machine; the text says why.
        LostError: the trainer has not answered for longer than ``patience``.
    """
    status, heard = Status(), time.monotonic()
    while not stopped():
        line = Line(address)
        try:
            answer, _ = line.ask(
                {
                    "what": "join",
                    "protocol": PROTOCOL,
                    "identity": identity,
                    "seats": ring,
                    "name": sockets.gethostname(),
                }
            )
            if answer["what"] == "refused":
                raise BadInputError(f"The trainer at {address} refuses. {answer['error']}")
            if answer["what"] == "welcome":
                status.joins += 1
                why = _act(line, answer, make_env, stopped, status, tell)
                if why == "stopped":
                    return "The training has ended."
                heard = time.monotonic()
        except LostError:
            if time.monotonic() - heard > patience:
                raise
        finally:
            with suppress(LagoonError):
                line.send({"what": "leave"})
            line.close()
        deadline = time.monotonic() + _AGAIN_SECONDS
        while not stopped() and time.monotonic() < deadline:
            time.sleep(0.05)
    return "Stopped here."


def _act(
    line: Line,
    welcome: Header,
    make_env: MakeEnv,
    stopped: Callable[[], bool],
    status: Status,
    tell: Callable[[Status], None],
) -> str:
    """Act until the line is cut ("lost"), the trainer ends ("stopped") or this end does ("left")."""
    watch, store = Stopwatch(), _Store(line.address, int(welcome["version"]))
    seeds = welcome["seeds"]
    environments = [
        make_env(seat, welcome["rows"], seed) for seat, (seed, _) in zip(welcome["seats"], seeds, strict=True)
    ]
    noise = [torch.Generator().manual_seed(seed) for _, seed in seeds]
    inference = OwnInferenceStream(ActingPolicy(welcome["policy"], store), noise, watch)
    samples = _Samples(line, welcome, environments, inference)
    actor = ActorWorker()
    actor.configure(ActorSpec(environments, inference, samples, watch))
    actor.start()
    before = status.samples
    try:
        beat, heard, open_ = float("-inf"), time.monotonic(), False
        while not stopped():
            now = time.monotonic()
            if not open_ and now - beat >= _BEAT_SECONDS:
                line.send({"what": "beat", "env": actor.averages()})
                beat, open_ = now, True
            did = actor.poll().samples
            while (message := line.receive(0.0 if did else _LOOK_MS / 1e3)) is not None:
                header, did, heard = message[0], 1, time.monotonic()
                if header["what"] == "board":
                    samples.told(header)
                    store.version, open_ = samples.version, False
                elif header["what"] == "refused":
                    raise StageFailedError(f"The trainer at {line.address} refuses a message: {header['error']}")
                elif header["what"] in ("stopped", "unknown"):
                    return "stopped" if header["what"] == "stopped" else "lost"
            if time.monotonic() - heard > _ANSWER_SECONDS:
                return "lost"
            status.version, status.samples = samples.version, before + samples.sent
            tell(status)
        return "left"
    finally:
        actor.stop()
        store.close()
