"""The trainer's end for actors on other machines: who may join, what they get, and what they send.

What enters: messages of joiners over ZeroMQ. What leaves: their rollouts, in the slots of seats that are theirs while
they live. A message is a line of JSON and raw bytes of a layout that both know: nothing is unpickled. There is neither
encryption nor a password, so listen on this machine alone and let ssh bring the port elsewhere, or trust the network.
"""

from __future__ import annotations

import json
import logging
import math
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch

from lagoon.engine.batcher import Batcher
from lagoon.engine.board import Board
from lagoon.engine.params import ParameterStore
from lagoon.engine.stores.zmq import answer_of
from lagoon.engine.streams.shm import ShmSampleStream
from lagoon.engine.streams.zmq import layout_of, open_socket
from lagoon.engine.trajectory import Trajectory
from lagoon.errors import require

PROTOCOL = 1
SILENT_SECONDS = 15.0
"""A joiner that has said nothing for so long is forgotten; it may join again."""
_LOOK_MS = 50
_HEADER_BYTES = 65_536
_MOST_METRICS = 64
_log = logging.getLogger(__name__)
Header = dict[str, Any]


@dataclass
class _Joiner:
    """One process of another machine."""

    name: str
    seats: list[int]
    heard: float
    slots: dict[int, Trajectory] = field(default_factory=dict)
    """Seat -> slot of the rollout that it is acting."""


@dataclass(frozen=True)
class Offer:
    """What joiners are told."""

    identity: str
    """Of environment, settings and motion; whoever has another one may not join."""
    parcel: bytes
    """What a machine needs to build the environment, for its own program to read; empty if there is none."""
    facts: Header
    """Sizes, the policy's facts, and how rollouts are paced."""


class Gateway:
    """A thread that speaks with all joiners."""

    def __init__(
        self,
        address: str,
        offer: Offer,
        board: Board,
        stream: ShmSampleStream,
        store: ParameterStore,
        batcher: Batcher,
        seats: range,
        seeds: Callable[[int, int], tuple[int, int]],
    ) -> None:
        """Listen.

        Args:
            address: ``tcp://HOST:PORT``.
            offer: what joiners are told.
            board: versions, schedules and permits.
            stream: the seats' slots.
            store: parameters.
            batcher: told which seats are in use.
            seats: that joiners may have.
            seeds: (seat, how often somebody joined) -> seeds of its environment and its noise.

        Raises:
            BadInputError: the address cannot be used.
        """
        self._zmq = require("zmq", "cluster")
        self._socket, self.address = open_socket("ROUTER", bind=address)
        self._socket.setsockopt(self._zmq.MAXMSGSIZE, max(2 * stream.schema.offsets()[1], 1 << 20))
        self._offer, self._board, self._stream, self._store = offer, board, stream, store
        self._batcher, self._seats, self._seeds = batcher, seats, seeds
        self._free, self._joiners, self._joined = list(seats), dict[bytes, _Joiner](), 0
        self._layout = layout_of(stream.schema).hex()
        self._metrics: list[dict[str, float]] = []
        self._closing = False
        self._thread = threading.Thread(target=self._run, name="lagoon-gateway", daemon=True)
        self._thread.start()

    @property
    def in_use(self) -> int:
        """Seats that belong to somebody."""
        return len(self._seats) - len(self._free)

    def metrics(self) -> list[dict[str, float]]:
        """Return what joiners' environments have reported since the last call."""
        found, self._metrics = self._metrics, []
        return found

    def _run(self) -> None:
        while not self._closing:
            if self._socket.poll(_LOOK_MS):
                self._receive()
            now = time.monotonic()
            for sender in [s for s, joiner in self._joiners.items() if now - joiner.heard > SILENT_SECONDS]:
                self._forget(sender, f"has been silent for {SILENT_SECONDS:.0f} s")
        for sender in self._joiners:
            self._send(sender, {"what": "stopped"})
        self._socket.close(500)

    def _receive(self) -> None:
        sender, *frames = self._socket.recv_multipart()
        try:
            if not frames or len(frames[0]) > _HEADER_BYTES:
                raise ValueError("it has no header")
            header = json.loads(frames[0])
            self._answer(sender, header, frames[1:])
        except (ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError) as error:
            # A stranger's noise must cost neither the training nor those who play by the rules.
            _log.warning("A message to %s is not understood (%s).", self.address, error)
            if sender in self._joiners:
                self._forget(sender, "sent what is not understood")
            self._send(sender, {"what": "refused", "error": "The message is not understood."})

    def _answer(self, sender: bytes, header: Header, parts: list[bytes]) -> None:
        what, joiner = header["what"], self._joiners.get(sender)
        if what in ("version", "get"):
            # A store may be asked for by anybody who may connect, but only read.
            self._socket.send_multipart([sender, *answer_of(self._store, header)])
        elif what == "parcel":
            self._send(sender, {"what": "parcel", "identity": self._offer.identity}, self._offer.parcel)
        elif what == "join":
            self._send(sender, self._join(sender, header))
        elif joiner is None:
            self._send(sender, {"what": "unknown"})
        elif what == "beat":
            self._beat(sender, joiner, header)
        elif what == "rollout":
            self._rollout(joiner, header, parts)
        elif what == "leave":
            self._forget(sender, "has left")
        else:
            raise ValueError(f"it asks for {what!r}")

    def _send(self, sender: bytes, header: Header, *parts: bytes) -> None:
        self._socket.send_multipart([sender, json.dumps(header).encode(), *parts])

    def _join(self, sender: bytes, header: Header) -> Header:
        wanted = int(header["seats"])
        if header["protocol"] != PROTOCOL:
            return _refused(
                f"speaks protocol {header['protocol']}, the trainer {PROTOCOL}; use the same lagoon on both"
            )
        if header["identity"] != self._offer.identity:
            return _refused(
                f"has the environment {str(header['identity'])[:12]}, the trainer {self._offer.identity[:12]}: robot "
                "description, motion, settings or lagoon itself differ; use the same revision on both"
            )
        if sender in self._joiners:
            self._forget(sender, "joins again")
        if wanted < 1 or not self._free:
            return _refused(f"asks for {wanted} seats, {len(self._free)} are free; see train.ppo.graph.remote_seats")
        seats, self._free = self._free[:wanted], self._free[wanted:]
        self._joined += 1
        joiner = _Joiner(str(header.get("name", ""))[:64], seats, time.monotonic())
        self._joiners[sender] = joiner
        self._batcher.open(seats)
        _log.info("%s has joined with %d environments.", joiner.name, len(seats))
        seeds = [self._seeds(seat, self._joined) for seat in seats]
        return {"what": "welcome", "seats": seats, "seeds": seeds, "layout": self._layout, **self._offer.facts}

    def _beat(self, sender: bytes, joiner: _Joiner, header: Header) -> None:
        joiner.heard = time.monotonic()
        numbers = {str(k)[:64]: float(v) for k, v in list(dict(header.get("env", {})).items())[:_MOST_METRICS]}
        if numbers and all(math.isfinite(value) for value in numbers.values()):
            self._metrics = [*self._metrics[-256:], numbers]
        version = self._board.version
        permits = [seat for seat in joiner.seats if self._permit(joiner, seat)]
        reply = {"what": "board", "version": version, "fraction": self._board.fraction(version), "permits": permits}
        self._send(sender, reply)

    def _permit(self, joiner: _Joiner, seat: int) -> bool:
        """Take a slot for a rollout of a seat if it may begin."""
        if seat in joiner.slots or self._board.started[seat] >= self._board.granted[seat]:
            return False
        slot = self._stream.of_actor(seat).acquire()
        if slot is None:
            return False
        joiner.slots[seat] = slot
        self._board.started[seat] += 1
        return True

    def _rollout(self, joiner: _Joiner, header: Header, parts: list[bytes]) -> None:
        joiner.heard = time.monotonic()
        slot = joiner.slots.get(int(header["seat"]))
        if slot is None:
            raise ValueError(f"seat {header['seat']} has no permit")
        if header["layout"] != self._layout or len(parts) != 1 or len(parts[0]) != slot.memory.numel():
            raise ValueError("the rollout has another layout")
        slot.memory.copy_(torch.frombuffer(bytearray(parts[0]), dtype=torch.uint8))
        _check(slot, self._board.version)
        del joiner.slots[int(header["seat"])]
        self._stream.post(slot)

    def _forget(self, sender: bytes, why: str) -> None:
        joiner = self._joiners.pop(sender)
        self._batcher.shut(joiner.seats)
        self._free = sorted([*self._free, *joiner.seats])
        _log.warning("%s %s; its %d environments are free again.", joiner.name or "A joiner", why, len(joiner.seats))

    def close(self) -> None:
        """Tell everybody that the training ends here, and stop."""
        self._closing = True
        self._thread.join()


def _refused(why: str) -> Header:
    return {"what": "refused", "error": f"This machine {why}."}


def _check(slot: Trajectory, newest: int) -> None:
    """Raise ValueError for numbers that no honest actor sends: they would end the training, or lie about their age."""
    versions = slot["version"]
    if int(versions.min()) < 0 or int(versions.max()) > newest:
        raise ValueError(f"versions from {int(versions.min())} to {int(versions.max())}, the newest is {newest}")
    for name, item in slot.schema.fields.items():
        if item.dtype.is_floating_point and not bool(torch.isfinite(slot[name]).all()):
            raise ValueError(f"{name} has values that are not finite")
        if item.dtype == torch.bool and int(slot[name].view(torch.uint8).max()) > 1:
            raise ValueError(f"{name} has values that are neither true nor false")
