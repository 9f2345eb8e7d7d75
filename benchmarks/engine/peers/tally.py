"""Counts what a library really does, in whatever processes it starts: steps, gradient steps, rows, seconds.

What enters: calls from environments and optimisers. What leaves: totals over all processes, at marks that an adapter
sets after each of its iterations. Each process writes into a small file of its own, so nothing is shared or locked.
"""

from __future__ import annotations

import functools
import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

PHASES = ("env", "physics", "update")
FIELDS = (
    "steps",
    "ended",
    "gradient_steps",
    "rows",
    *(f"{phase}_seconds" for phase in PHASES),
    *(f"{phase}_cpu" for phase in PHASES),
    "cpu_seconds",
)
"""Robot steps; episodes that ended; optimiser steps; rows that gradients were computed for; wall and CPU seconds in the
environment, of them in physics, and in the update; CPU seconds of the process, all its threads."""
VARIABLE = "LAGOON_BENCH_TALLY"


class Tally:
    """The counters of a run; every process that counts makes one for the same folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._pid, self._numbers = -1, np.zeros(len(FIELDS))

    @staticmethod
    def of_environment() -> Tally:
        """Return the tally of the run that this process belongs to."""
        return Tally(Path(os.environ[VARIABLE]))

    def add(self, **amounts: float) -> None:
        """Add to counters of this process."""
        if self._pid != os.getpid():  # Also after a fork, which copies the object but must not share the file.
            self._pid = os.getpid()
            path = self.folder / f"{self._pid}.counts"
            path.write_bytes(bytes(8 * len(FIELDS)))
            self._numbers = np.memmap(path, np.float64, "r+", shape=(len(FIELDS),))
        for name, amount in amounts.items():
            self._numbers[FIELDS.index(name)] += amount
        self._numbers[FIELDS.index("cpu_seconds")] = time.process_time()

    @contextmanager
    def timed(self, phase: str) -> Iterator[None]:
        """Add the body's wall and CPU time to a phase."""
        start, cpu = time.monotonic(), time.process_time()
        try:
            yield
        finally:
            self.add(**{f"{phase}_cpu": time.process_time() - cpu, f"{phase}_seconds": time.monotonic() - start})

    def time_method(self, owner: Any, method: str, phase: str) -> None:
        """Let every call of a method count its time."""
        original = getattr(owner, method)

        @functools.wraps(original)
        def counted(*args: Any, **kwargs: Any) -> Any:
            with self.timed(phase):
                return original(*args, **kwargs)

        setattr(owner, method, counted)

    def mark_after(self, owner: Any, method: str) -> None:
        """Set a mark after every call of a method."""
        original = getattr(owner, method)

        @functools.wraps(original)
        def marked(*args: Any, **kwargs: Any) -> Any:
            result = original(*args, **kwargs)
            self.mark()
            return result

        setattr(owner, method, marked)

    def count_optimizers(self) -> Any:
        """Count the steps of all torch optimisers of this process, until ``remove`` of what is returned."""
        from torch.optim.optimizer import register_optimizer_step_post_hook

        return register_optimizer_step_post_hook(lambda *_: self.add(gradient_steps=1))

    def count_rows(self, module: Any, pick: Callable[[Any], Any] = lambda first: first) -> None:
        """Count the rows that go through a torch module while gradients are recorded.

        Args:
            module: called once per gradient step and row.
            pick: returns the tensor (..., width) in the module's first argument.
        """
        import torch

        def hook(_: Any, inputs: tuple[Any, ...]) -> None:
            tensor = pick(inputs[0])
            self.add(rows=tensor.numel() // tensor.shape[-1] if torch.is_grad_enabled() else 0)

        module.register_forward_pre_hook(hook)

    def totals(self) -> dict[str, dict[str, float]]:
        """Return the counters of every process so far, by process."""
        found = {}
        for path in sorted(self.folder.glob("*.counts")):
            numbers = np.fromfile(path, np.float64)
            if len(numbers) == len(FIELDS):
                found[path.stem] = dict(zip(FIELDS, numbers.tolist(), strict=True))
        return found

    def mark(self) -> None:
        """Write down the time and all counters: an iteration is done."""
        self.add()
        line = json.dumps({"wall": time.monotonic(), "processes": self.totals()})
        with (self.folder / "marks.jsonl").open("a") as file:
            file.write(line + "\n")

    def marks(self) -> list[dict[str, Any]]:
        """Return all marks."""
        path = self.folder / "marks.jsonl"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def between(first: dict[str, Any], last: dict[str, Any]) -> dict[str, dict[str, float]]:
    """Return what each process counted between two marks."""
    nothing = dict.fromkeys(FIELDS, 0.0)
    return {
        name: {field: value - first["processes"].get(name, nothing)[field] for field, value in numbers.items()}
        for name, numbers in last["processes"].items()
    }
