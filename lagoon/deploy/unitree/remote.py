"""The Go2's hand-held remote, as it arrives inside every LowState.

What enters: the forty bytes of ``wireless_remote``. What leaves: the names of the buttons that are down.
Source: ``REMOTE_BUTTONS`` in the example headers of unitree_sdk2 (BSD-3-Clause).
"""

from __future__ import annotations

import numpy as np

BUTTONS = ("R1", "L1", "start", "select", "R2", "L2", "F1", "F2", "A", "B", "X", "Y", "up", "right", "down", "left")
"""Bits of the two bytes at offset 2, lowest first."""
STOP = frozenset({"L2", "B"})
"""Held together they mean damping, as in the robot's own program, which no longer listens once it is released."""


def pressed(wireless_remote: np.ndarray) -> frozenset[str]:
    """Return the buttons that are down; none while the remote is off.

    Args:
        wireless_remote: (40,) bytes.
    """
    bits = int(wireless_remote[2]) | int(wireless_remote[3]) << 8
    return frozenset(name for k, name in enumerate(BUTTONS) if bits >> k & 1) if bits else frozenset()
