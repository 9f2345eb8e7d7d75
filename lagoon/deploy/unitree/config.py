"""Settings of the link to a Go2. Plain data."""

from __future__ import annotations

import math
from dataclasses import dataclass

from lagoon.errors import BadSettingError

LOOPBACK = "lo"
"""The interface that reaches no robot."""


@dataclass(frozen=True)
class UnitreeConfig:
    """Where the robot is, and what is asked of it before the first command."""

    interface: str = LOOPBACK
    """Network interface that the robot is connected to, for example eth0; lo reaches a fake robot only."""
    domain: int = 0
    """DDS domain; a Go2 uses 0."""
    listen_seconds: float = 1.0
    """How long to listen for other senders of motor commands before the first command [s]."""
    find_seconds: float = 5.0
    """How long to wait for the first state of the robot [s]."""
    check_state_crc: bool = True
    """Drop states with a wrong checksum. false for simulators that send none."""

    def __post_init__(self) -> None:
        """Check every value.

        Raises:
            BadSettingError: a value cannot be used; its name and what was expected are told.
        """
        if not self.interface or self.interface != self.interface.strip():
            raise BadSettingError.of(self, "interface", "the name of a network interface; 'ip link' lists them")
        if isinstance(self.domain, bool) or not isinstance(self.domain, int) or not 0 <= self.domain <= 230:
            raise BadSettingError.of(self, "domain", "a whole number from 0 to 230")
        for name, low, high in (("listen_seconds", 0.5, 60.0), ("find_seconds", 0.5, 600.0)):
            value = getattr(self, name)
            if not isinstance(value, (int, float)) or not math.isfinite(value) or not low <= value <= high:
                raise BadSettingError.of(self, name, f"{low:g} to {high:g} seconds")
