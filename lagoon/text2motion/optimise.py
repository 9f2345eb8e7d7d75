"""The loop that all three trainings of this stage share: steps, averaged weights, checkpoints, progress.

What enters: a network and its average, an optimizer, a function that gives the loss of a step. What leaves: both
networks, trained; the loss over the steps as JSON lines and for TensorBoard. The loss of step k draws from generators
seeded by k, so a resumed run does what an unbroken one would.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from lagoon.engine.metrics import MetricsWriter
from lagoon.progress import Progress, silent
from lagoon.text2motion.checkpoints import Periodic, load_checkpoint, save_checkpoint

SHOWN = 20
"""Steps between two messages, and between two points of a curve."""
STEEPEST = 1.0
"""Largest norm of a gradient."""


@dataclass(frozen=True)
class Schedule:
    """How long and how fast."""

    name: str
    """Name of the network, for messages and for the folder of its curves."""
    steps: int
    """Optimiser steps."""
    lr: float
    """Peak learning rate."""
    ema: float
    """Decay per step of the averaged weights, once there are enough steps for it."""
    checkpoint_seconds: float
    """Time between checkpoints [s]."""


class Training:
    """A network in training, its averaged weights and its checkpoint file."""

    def __init__(
        self,
        network: torch.nn.Module,
        average: torch.nn.Module,
        optimizer: torch.optim.Optimizer,
        schedule: Schedule,
        path: Path,
    ) -> None:
        """Take up what the checkpoint at ``path`` holds, if there is one; ``step`` then says how far it was.

        Raises:
            CorruptFileError: the file cannot be read or belongs to a network of other sizes.
        """
        self.network, self.average, self.optimizer = network, average, optimizer
        self.schedule, self.path = schedule, path
        self.step = load_checkpoint(path, self._modules(), optimizer)

    def run(self, loss: Callable[[int], Tensor], progress: Progress = silent) -> None:
        """Do the steps that are left.

        Args:
            loss: loss of a step, by its number; draws only from generators seeded by that number.
            progress: told about loss and step.
        """
        plan, curves = self.schedule, self.path.parent / self.schedule.name
        save, mean = Periodic(plan.checkpoint_seconds), RunningMean()
        with MetricsWriter(curves, self.step, tensorboard=find_spec("tensorboard") is not None) as writer:
            while self.step < plan.steps:
                rate = plan.lr * cosine(self.step, plan.steps)
                mean.add(self._one(loss(self.step), rate))
                if self.step % SHOWN == 0:
                    writer.write(self.step, {"loss": mean.value, "learning_rate": rate})
                    progress(self.step / plan.steps, f"{plan.name} {self.step}: loss {mean.value:.4f}")
                if save.due() or self.step == plan.steps:
                    save_checkpoint(self.path, self._modules(), self.optimizer, self.step)

    def _one(self, loss: Tensor, rate: float) -> float:
        """One step of the optimizer and of the average; the loss as a number."""
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        trained = [p for group in self.optimizer.param_groups for p in group["params"]]
        torch.nn.utils.clip_grad_norm_(trained, STEEPEST)
        self.optimizer.step()
        move_average(self.average, self.network, min(self.schedule.ema, self.step / (self.step + 10.0)))
        self.step += 1
        return loss.item()

    def _modules(self) -> dict[str, torch.nn.Module]:
        return {"model": self.network, "average": self.average}


class RunningMean:
    """Exponential mean of a loss for display."""

    def __init__(self, keep: float = 0.98) -> None:
        """Start empty."""
        self.keep, self.total, self.weight = keep, 0.0, 0.0

    def add(self, value: float) -> None:
        """Take in one value."""
        self.total = self.keep * self.total + (1 - self.keep) * value
        self.weight = self.keep * self.weight + (1 - self.keep)

    @property
    def value(self) -> float:
        """The mean so far."""
        return self.total / max(self.weight, 1e-9)


def cosine(step: int, steps: int, warm: int = 100) -> float:
    """Share of the peak learning rate: linear warm-up, then half a cosine to 2 %."""
    if step < warm:
        return (step + 1) / warm
    return 0.02 + 0.98 * 0.5 * (1.0 + float(np.cos(np.pi * (step - warm) / max(1, steps - warm))))


@torch.no_grad()
def move_average(average: torch.nn.Module, model: torch.nn.Module, decay: float) -> None:
    """Exponential moving average of parameters, in place."""
    for kept, new in zip(average.state_dict().values(), model.state_dict().values(), strict=True):
        kept.lerp_(new, 1.0 - decay)
