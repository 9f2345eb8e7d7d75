"""The checksum of rt/lowcmd and rt/lowstate.

What enters: the bytes of a vendor struct up to its last word. What leaves: a CRC-32 with polynomial
0x04C11DB7 over 32-bit little-endian words, highest bit first, start value all ones, nothing inverted at
the end. Source: ``crc32_core`` of unitree_sdk2 (BSD-3-Clause), which goes bit by bit.

zlib computes the mirror image of it in C: every 32-bit word and the result with its bits in reverse.
Reversing a word is reversing its four bytes, and the eight bits in each of them.
"""

from __future__ import annotations

import zlib

import numpy as np
from numpy.typing import NDArray

_REVERSED = bytes(int(f"{byte:08b}"[::-1], 2) for byte in range(256))
"""Each byte with its bits in reverse order."""


def crc32_words(words: NDArray[np.uint32]) -> int:
    """Return the checksum.

    Args:
        words: (N,) 32-bit words in the memory order of the robot, which is little-endian.
    """
    mirrored = words.byteswap().tobytes().translate(_REVERSED)
    crc = ~zlib.crc32(mirrored) & 0xFFFFFFFF
    return int.from_bytes(crc.to_bytes(4, "little").translate(_REVERSED), "big")
