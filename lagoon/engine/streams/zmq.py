"""Edges between machines: slots and questions as ZeroMQ messages over TCP or a local socket.

What enters and leaves: see ``streams.base``. A message is a fixed header and raw bytes: nothing is pickled, and whoever
sends another layout than the receiver's is refused. There is no encryption and no password: bind to an address of a
network that you trust; the default is this machine alone.
"""

from __future__ import annotations

import hashlib
import struct
import time
from collections import deque
from typing import Any

import torch
from torch import Tensor

from lagoon.engine.streams.base import Actions, Question
from lagoon.engine.trajectory import Trajectory, TrajectorySchema
from lagoon.errors import BadInputError, require

LOCAL = "tcp://127.0.0.1:*"
"""An address on this machine with a port that is free."""
_QUESTION = struct.Struct("<8sqqq")  # layout, seat, wanted version, number
_ANSWER = struct.Struct("<8sqqq")  # layout, seat, version, number
_LINGER_MS = 500
_CREDIT = b"credit"


def open_socket(kind: str, bind: str | None = None, connect: str | None = None) -> tuple[Any, str]:
    """Return a socket and its address.

    Args:
        kind: name of a ZeroMQ socket type.
        bind: address to listen on; a port of ``*`` takes a free one.
        connect: address to talk to.

    Raises:
        MissingExtraError: pyzmq is not installed.
        BadInputError: the address cannot be used; the text names it.
    """
    zmq = require("zmq", "cluster")
    socket = zmq.Context.instance().socket(getattr(zmq, kind))
    socket.setsockopt(zmq.LINGER, _LINGER_MS)
    # Slots are counted by both ends, so a queue of messages never grows beyond them.
    socket.setsockopt(zmq.SNDHWM, 0)
    socket.setsockopt(zmq.RCVHWM, 0)
    try:
        socket.bind(bind) if bind else socket.connect(connect)
    except zmq.ZMQError as error:
        socket.close(0)
        raise BadInputError(
            f"The address {bind or connect!r} cannot be used: {error}. Expected tcp://HOST:PORT with an address of "
            "this machine to listen on, or of the other machine to connect to."
        ) from error
    return socket, socket.getsockopt(zmq.LAST_ENDPOINT).decode()


def _receive(socket: Any) -> list[Any] | None:
    zmq = require("zmq", "cluster")
    try:
        return socket.recv_multipart(zmq.NOBLOCK, copy=False)
    except zmq.Again:
        return None


def _fill(target: Tensor, frame: Any) -> bool:
    """Copy the bytes of a message into a tensor; False where the sizes differ."""
    size = target.numel() * target.element_size()
    if len(frame.buffer) != size:
        return False
    target.view(-1).view(torch.uint8).copy_(torch.frombuffer(bytearray(frame.buffer), dtype=torch.uint8))
    return True


def _bytes(tensor: Tensor) -> memoryview:
    return tensor.detach().contiguous().view(-1).view(torch.uint8).numpy().data


def layout_of(schema: TrajectorySchema) -> bytes:
    """Return 8 bytes that differ wherever slots are laid out differently."""
    return hashlib.sha256(repr((schema.horizon, schema.batch, schema.fields)).encode()).digest()[:8]


class ZmqSampleReceiver:
    """The trainer's end of a sample stream."""

    def __init__(self, schema: TrajectorySchema, address: str = LOCAL, slots: int = 4) -> None:
        """Listen.

        Args:
            schema: layout of a slot.
            address: where actors connect.
            slots: how many trajectories may wait here; the rest wait with their actors.
        """
        self.schema = schema
        self._socket, self.address = open_socket("ROUTER", bind=address)
        self._layout = layout_of(schema)
        self._free = deque(Trajectory(schema) for _ in range(slots))
        self._sender: dict[int, bytes] = {}

    def take(self) -> Trajectory | None:
        """Return the oldest complete trajectory, or None.

        Raises:
            BadInputError: an actor sends slots of another layout.
        """
        if not self._free:
            return None
        message = _receive(self._socket)
        if message is None:
            return None
        sender, layout, body = message if len(message) == 3 else (*message[:1], None, None)
        slot = self._free.popleft()
        if layout is None or layout.bytes != self._layout or not _fill(slot.memory, body):
            self._free.append(slot)
            raise BadInputError(
                f"An actor connected to {self.address} sends trajectories of another layout than horizon "
                f"{self.schema.horizon}, {self.schema.batch} environments, {', '.join(self.schema.fields)}. "
                "Start it with the settings of this training."
            )
        self._sender[id(slot)] = sender.bytes
        return slot

    def release(self, trajectory: Trajectory) -> None:
        """Free a slot, and let its sender know."""
        self._free.append(trajectory)
        self._socket.send_multipart([self._sender.pop(id(trajectory)), _CREDIT])

    def close(self) -> None:
        """Stop listening."""
        self._socket.close(_LINGER_MS)


class ZmqSampleSender:
    """An actor's end of a sample stream."""

    def __init__(self, schema: TrajectorySchema, address: str, slots: int = 2) -> None:
        """Connect.

        Args:
            schema: layout of a slot.
            address: where the trainer listens.
            slots: trajectories on their way or waiting, at most.
        """
        self._socket, _ = open_socket("DEALER", connect=address)
        self._layout = layout_of(schema)
        self._free = deque(Trajectory(schema) for _ in range(slots))
        self._sent: deque[Trajectory] = deque()

    def acquire(self, key: int = 0) -> Trajectory | None:
        """Return a free slot, or None while the trainer has not given any back."""
        while self._sent and _receive(self._socket) is not None:
            self._free.append(self._sent.popleft())
        return self._free.popleft() if self._free else None

    def post(self, trajectory: Trajectory) -> None:
        """Send a complete slot; the bytes are copied once, into the message."""
        self._socket.send(self._layout, _sndmore())
        self._socket.send(_bytes(trajectory.memory), copy=True)
        self._sent.append(trajectory)

    def close(self) -> None:
        """Disconnect."""
        self._socket.close(_LINGER_MS)


def _sndmore() -> int:
    return require("zmq", "cluster").SNDMORE


def _inference_layout(rows: int, obs_dim: int, action_dim: int) -> bytes:
    return hashlib.sha256(repr((rows, obs_dim, action_dim)).encode()).digest()[:8]


class ZmqInferenceStream:
    """An actor's end of an inference stream."""

    def __init__(self, address: str, rows: int, obs_dim: int, action_dim: int, first: int = 0) -> None:
        """Connect.

        Args:
            address: where the policy worker listens.
            rows: N, robots per environment.
            obs_dim: O.
            action_dim: A.
            first: seat of key 0.
        """
        self._socket, _ = open_socket("DEALER", connect=address)
        self._layout = _inference_layout(rows, obs_dim, action_dim)
        self._shape, self._first = (rows, action_dim), first
        self._numbers: dict[int, int] = {}
        self._answers: dict[int, Actions] = {}
        self._pinned: dict[int, int] = {}

    def pin(self, key: int, version: int) -> None:
        """Let all later questions of a key be answered by one version; -1 takes the newest."""
        self._pinned[key] = version

    def request(self, key: int, obs: Tensor) -> None:
        """Send the question."""
        self._numbers[key] = time.monotonic_ns()
        header = _QUESTION.pack(self._layout, self._first + key, self._pinned.get(key, -1), self._numbers[key])
        self._socket.send(header, _sndmore())
        self._socket.send(_bytes(obs), copy=True)

    def response(self, key: int) -> Actions | None:
        """Return the answer, or None."""
        while (message := _receive(self._socket)) is not None:
            _, seat, version, number = _ANSWER.unpack(message[0].bytes)
            action, logp = torch.empty(self._shape), torch.empty(self._shape[0])
            known = self._numbers.get(seat - self._first) == number
            if known and _fill(action, message[1]) and _fill(logp, message[2]):
                self._answers[seat - self._first] = Actions(action, logp, version)
        answer = self._answers.pop(key, None)
        if answer is not None:
            del self._numbers[key]
        return answer

    def close(self) -> None:
        """Disconnect."""
        self._socket.close(_LINGER_MS)


class ZmqInferenceService:
    """A policy worker's end of an inference stream."""

    def __init__(self, rows: int, obs_dim: int, action_dim: int, address: str = LOCAL) -> None:
        """Listen; arguments as for ``ZmqInferenceStream``."""
        self._socket, self.address = open_socket("ROUTER", bind=address)
        self._layout, self._shape = _inference_layout(rows, obs_dim, action_dim), (rows, obs_dim)
        self._open: dict[int, tuple[bytes, Question]] = {}

    def questions(self) -> list[Question]:
        """Take in what has arrived and return all open questions.

        Raises:
            BadInputError: an actor has other sizes.
        """
        while (message := _receive(self._socket)) is not None:
            obs = torch.empty(self._shape)
            header = message[1].bytes if len(message) == 3 else b""
            if header[:8] != self._layout or len(header) != _QUESTION.size or not _fill(obs, message[2]):
                raise BadInputError(
                    f"An actor connected to {self.address} asks with other sizes than {self._shape[0]} observations of "
                    f"{self._shape[1]} numbers. Start it with the settings of this training."
                )
            _, seat, wanted, number = _QUESTION.unpack(header)
            self._open[seat] = (message[0].bytes, Question(seat, obs, wanted, number))
        return [question for _, (_, question) in sorted(self._open.items())]

    def answer(self, question: Question, actions: Actions) -> None:
        """Send the answer back to whoever asked."""
        sender, _ = self._open.pop(question.seat)
        header = _ANSWER.pack(self._layout, question.seat, actions.version, question.number)
        self._socket.send_multipart([sender, header, _bytes(actions.action), _bytes(actions.logp)])

    def close(self) -> None:
        """Stop listening."""
        self._socket.close(_LINGER_MS)
