"""Settings of schedulers that reach beyond this machine; plain data.

What enters: values from the sections ``slurm`` and ``ray``. What leaves: frozen, checked dataclasses.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, fields

from lagoon.errors import BadSettingError


@dataclass(frozen=True)
class RayConfig:
    """Where a Ray cluster is; read with scheduler=ray alone."""

    address: str = "auto"
    """HOST:PORT of its head; auto finds the one that this machine belongs to."""


@dataclass(frozen=True)
class SlurmConfig:
    """What a SLURM cluster is asked for; read with scheduler=slurm alone."""

    partition: str = ""
    """Partition; empty leaves it to the cluster."""
    account: str = ""
    """Account that pays; empty leaves it to the cluster."""
    time: str = "24:00:00"
    """Time limit of each skill, as SLURM writes it. A training that is not done then saves and is queued again."""
    nodes: int = 1
    """Machines of each skill; with more than one, torchrun joins their processes."""
    cores: int = 8
    """Cores of each skill on each machine, one worker on each."""
    memory: str = ""
    """Memory on each machine, for example 16G; empty leaves it to the cluster."""
    setup: str = ""
    """A line of bash to run first, for example: module load cuda"""
    port: int = 29500
    """Port on which the machines of one skill meet."""

    def __post_init__(self) -> None:
        """Check every value.

        Raises:
            BadInputError: a value cannot stand in a job script; the text names the field.
        """
        for name in ("nodes", "cores"):
            if getattr(self, name) < 1:
                raise BadSettingError.of(self, name, "1 or more")
        if not 1024 <= self.port <= 65535:
            raise BadSettingError.of(self, "port", "a number from 1024 to 65535")
        for item in fields(self):
            value = getattr(self, item.name)
            if isinstance(value, str) and not value.isprintable():
                raise BadSettingError.of(self, item.name, "text on one line")
        for name in ("partition", "account", "memory"):
            if not re.fullmatch(r"[\w.,+-]*", getattr(self, name)):
                raise BadSettingError.of(self, name, "letters, digits and . , + - _")
        if not re.fullmatch(r"(\d+-)?\d+(:\d+){0,2}", self.time):
            raise BadSettingError.of(self, "time", "SLURM's minutes, h:m:s or d-h:m:s, such as 24:00:00")
