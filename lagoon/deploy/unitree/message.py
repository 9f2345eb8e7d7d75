"""A LowCmd or LowState that is written and read without making new objects for its numbers.

What enters: numbers put into ``fields``, or a serialised sample. What leaves: the sample with its
checksum, or ``fields`` and whether the checksum is right. The vendor's serialiser builds and walks a
hundred Python objects for the same bytes; benchmarks/deploy/bench_codec.py measures both.
"""

from __future__ import annotations

import numpy as np

from lagoon.deploy.unitree.crc import crc32_words
from lagoon.deploy.unitree.layout import HEADER, LOW_CMD, LOW_STATE, mask, moves, serialised_size
from lagoon.errors import LagoonError


class BadMessageError(LagoonError):
    """Bytes that are no sample of the message, or numbers that must not be sent."""


class Message:
    """One message, in one piece of memory; ``fields`` and the arrays taken from it stay valid for good."""

    def __init__(self, name: str, struct: np.dtype) -> None:
        """Make room for a message of zeros.

        Args:
            name: for errors.
            struct: LOW_CMD or LOW_STATE.
        """
        self.name = name
        self._memory = np.zeros(struct.itemsize, dtype=np.uint8)
        self.fields: np.ndarray = self._memory.view(struct)[0:1].reshape(())
        """The C struct; for example ``fields["motor_cmd"]["q"]`` is a view of shape (20,)."""
        self._words = self._memory.view("<u4")
        self._mask = mask(struct)
        self._masked = np.zeros_like(self._words[:-1])
        size = serialised_size(struct)
        self._sample = bytearray(size)
        self._sample[: len(HEADER)] = HEADER
        sample, memory = memoryview(self._sample), self._memory.data
        self._pieces = [
            (sample[wire : wire + length], memory[offset : offset + length], slice(wire, wire + length))
            for wire, offset, length in moves(struct)
        ]

    @property
    def size(self) -> int:
        """Bytes of the serialised sample."""
        return len(self._sample)

    def checksum(self) -> int:
        """Return the checksum of the fields; padding counts as zeros."""
        np.bitwise_and(self._words[:-1], self._mask[:-1], out=self._masked)
        return crc32_words(self._masked)

    def encode(self) -> bytes:
        """Set the checksum and return the serialised sample."""
        self._words[:-1] &= self._mask[:-1]
        self._words[-1] = crc32_words(self._words[:-1])
        for sample, memory, _ in self._pieces:
            sample[:] = memory
        return bytes(self._sample)

    def decode(self, data: bytes) -> bool:
        """Read a serialised sample into ``fields``.

        Returns:
            Whether its checksum is right. The fields are set either way.

        Raises:
            BadMessageError: it is another message, or written in another byte order; the fields are as before.
        """
        if len(data) != self.size or bytes(data[:2]) != HEADER[:2]:
            raise BadMessageError(
                f"A sample of {len(data)} bytes that begins with {bytes(data[:4]).hex(' ') or 'nothing'} is no "
                f"{self.name}; expected {self.size} bytes in little-endian CDR, 00 01 first. "
                "Another program may use the same topic for another robot's messages."
            )
        view = memoryview(data)
        for _, memory, piece in self._pieces:
            memory[:] = view[piece]
        return self.checksum() == int(self._words[-1])


def low_cmd() -> Message:
    """Return an empty rt/lowcmd."""
    return Message("LowCmd", LOW_CMD)


def low_state() -> Message:
    """Return an empty rt/lowstate."""
    return Message("LowState", LOW_STATE)
