"""Parameters for other machines: a server beside the trainer's store, and a store that asks it.

What enters: requests over ZeroMQ. What leaves: versions as raw bytes, never pickled. See ``params.ParameterStore``.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from lagoon.engine.params import LATEST, ParameterStore, check_newer, missing
from lagoon.engine.streams.zmq import LOCAL, open_socket
from lagoon.errors import LagoonError, require

_LOOK_SECONDS = 0.01
_PATIENCE_SECONDS = 20.0
_TYPES = {
    str(t).removeprefix("torch."): t for t in (torch.float32, torch.float64, torch.int64, torch.bool, torch.uint8)
}


def answer_of(store: ParameterStore, asked: Any) -> list[bytes]:
    """Return the frames that answer a request to a store: a header as JSON, then the tensors as raw bytes."""
    try:
        if asked.get("what") == "version":
            return [json.dumps({"number": asked["number"], "version": store.version}).encode()]
        if asked.get("what") == "tag":
            store.tag(str(asked["name"]), asked["which"])
            return [json.dumps({"number": asked["number"]}).encode()]
        number, (version, tensors) = asked["number"], store.get(asked["which"])
    except (ValueError, KeyError, TypeError, AttributeError, LookupError) as error:
        number = asked.get("number") if isinstance(asked, dict) else None
        return [json.dumps({"number": number, "error": str(error), "version": store.version}).encode()]
    layout = {name: [str(t.dtype).removeprefix("torch."), list(t.shape)] for name, t in tensors.items()}
    parts = [t.detach().contiguous().view(-1).view(torch.uint8).numpy().tobytes() for t in tensors.values()]
    return [json.dumps({"number": number, "version": version, "layout": layout}).encode(), *parts]


class ZmqParameterServer:
    """Lets other machines read a store; it is polled by whoever owns the store."""

    def __init__(self, store: ParameterStore, address: str = LOCAL) -> None:
        """Listen at an address."""
        self._store = store
        self._socket, self.address = open_socket("ROUTER", bind=address)
        self._zmq = require("zmq", "cluster")

    def poll(self) -> int:
        """Answer all waiting requests; returns their number."""
        count = 0
        while True:
            try:
                sender, request = self._socket.recv_multipart(self._zmq.NOBLOCK)
            except (self._zmq.Again, ValueError):
                return count
            self._socket.send_multipart([sender, *self._answer(request)])
            count += 1

    def _answer(self, request: bytes) -> list[Any]:
        try:
            asked = json.loads(request)
        except ValueError:
            asked = None
        return answer_of(self._store, asked)

    def close(self) -> None:
        """Stop listening."""
        self._socket.close(0)


class ZmqParameterStore:
    """A store that lives on another machine. It may read and tag; only the trainer pushes."""

    def __init__(self, address: str) -> None:
        """Connect to a server."""
        self._address = address
        self._socket, _ = open_socket("DEALER", connect=address)
        self._number, self._version, self._looked = 0, -1, float("-inf")

    def _ask(self, **request: Any) -> list[bytes]:
        self._number += 1
        self._socket.send(json.dumps(request | {"number": self._number}).encode())
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while self._socket.poll(max(1e3 * (deadline - time.monotonic()), 0.0)):
            message = self._socket.recv_multipart()
            header = json.loads(message[0])
            if header["number"] == self._number:
                if "error" in header:
                    raise missing(request.get("which", LATEST), header["version"])
                return message
        raise LagoonError(
            f"The trainer at {self._address} has not answered for {_PATIENCE_SECONDS:.0f} s. Check that it is running "
            "and that its port can be reached, then start this again."
        )

    @property
    def version(self) -> int:
        """The newest version, asked for at most every 10 ms; -1 before the first push."""
        now = time.monotonic()
        if now - self._looked >= _LOOK_SECONDS:
            self._version = int(json.loads(self._ask(what="version")[0])["version"])
            self._looked = time.monotonic()
        return self._version

    def push(self, tensors: Mapping[str, Tensor], version: int) -> None:
        """Refuse: versions come from the trainer."""
        check_newer(version, self.version)
        raise ValueError("Only the trainer pushes parameters; this store belongs to another machine.")

    def get(self, which: int | str = LATEST) -> tuple[int, Mapping[str, Tensor]]:
        """Return a version and its parameters."""
        header, *parts = self._ask(what="get", which=which)
        facts = json.loads(header)
        tensors = {}
        for (name, (kind, shape)), part in zip(facts["layout"].items(), parts, strict=True):
            flat = torch.frombuffer(bytearray(part), dtype=torch.uint8) if part else torch.empty(0, dtype=torch.uint8)
            tensors[name] = flat.view(_TYPES[kind]).view(shape)
        return int(facts["version"]), tensors

    def tag(self, name: str, which: int | str = LATEST) -> None:
        """Give a version a name, in the trainer's store."""
        self._ask(what="tag", name=name, which=which)

    def close(self) -> None:
        """Disconnect."""
        self._socket.close(0)
