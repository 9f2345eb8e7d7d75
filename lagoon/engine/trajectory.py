"""Where rollouts are written: slots of fixed layout, allocated once and used again and again.

What enters: a schema and, optionally, the memory to lay it out in. What leaves: named tensors [T, B, ...].
One flat buffer holds all fields, so that a slot can lie in shared memory without another copy.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

_ALIGN = 64  # A cache line, so that no two fields share one.


@dataclass(frozen=True)
class Field:
    """One named tensor of a trajectory."""

    shape: tuple[int, ...]
    """Shape of one entry, after the leading axes."""
    dtype: torch.dtype = torch.float32
    per_step: bool = True
    """True: leading axes [T, B]. False: [B], once per rollout."""


@dataclass(frozen=True)
class TrajectorySchema:
    """Names, shapes and types of everything a rollout holds."""

    horizon: int
    batch: int
    fields: dict[str, Field]

    def full_shape(self, name: str) -> tuple[int, ...]:
        """Return the shape of a field with its leading axes."""
        item = self.fields[name]
        return (*((self.horizon, self.batch) if item.per_step else (self.batch,)), *item.shape)

    def offsets(self) -> tuple[dict[str, int], int]:
        """Return where each field starts in a slot, and the size of the slot, in bytes."""
        offsets, end = {}, 0
        for name, item in self.fields.items():
            offsets[name] = end
            size = math.prod(self.full_shape(name)) * item.dtype.itemsize
            end += (size + _ALIGN - 1) // _ALIGN * _ALIGN
        return offsets, end


class Trajectory:
    """One slot: what B environments did during T steps."""

    def __init__(self, schema: TrajectorySchema, memory: Tensor | None = None) -> None:
        """Lay the fields out.

        Args:
            schema: the layout.
            memory: (bytes,) uint8 to lie in, for example shared memory; None allocates zeros.

        Raises:
            ValueError: the memory has another size or type than the schema needs.
        """
        offsets, size = schema.offsets()
        memory = torch.zeros(size, dtype=torch.uint8) if memory is None else memory
        if memory.shape != (size,) or memory.dtype != torch.uint8:
            raise ValueError(f"A slot of this schema needs ({size},) uint8, got {tuple(memory.shape)} {memory.dtype}.")
        self.schema = schema
        self.memory = memory
        self._tensors: dict[str, Tensor] = {}
        for name, item in schema.fields.items():
            shape = schema.full_shape(name)
            size = math.prod(shape) * item.dtype.itemsize
            self._tensors[name] = memory[offsets[name] : offsets[name] + size].view(item.dtype).view(shape)

    def __getitem__(self, name: str) -> Tensor:
        return self._tensors[name]

    def flat(self, name: str) -> Tensor:
        """Return a per-step field as [T * B, ...], without a copy."""
        return self._tensors[name].flatten(0, 1)

    @property
    def samples(self) -> int:
        """Environment steps in the slot."""
        return self.schema.horizon * self.schema.batch


def ppo_schema(horizon: int, batch: int, obs_dims: dict[str, int], action_dim: int) -> TrajectorySchema:
    """Return the fields that PPO with an asymmetric critic learns from.

    Observations are stored raw: whoever learns normalises them with the statistics it has. ``version`` is the
    parameter version that chose the action, per step and environment. ``final_critic`` is meaningful only where
    an episode ended: the critic's view of its true last moment.
    """
    critic = (obs_dims["critic"],)
    fields = {
        "actor": Field((obs_dims["actor"],)),
        "critic": Field(critic),
        "action": Field((action_dim,)),
        "logp": Field(()),
        "version": Field((), torch.int64),
        "reward": Field(()),
        "terminated": Field((), torch.bool),
        "truncated": Field((), torch.bool),
        "final_critic": Field(critic),
        "last_critic": Field(critic, per_step=False),
    }
    return TrajectorySchema(horizon, batch, fields)
