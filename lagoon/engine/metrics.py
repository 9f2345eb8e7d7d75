"""Numbers about a run: CPU time by purpose, averages, and the files they end in.

What enters: named scalars per iteration. What leaves: ``metrics.jsonl`` and TensorBoard event files.
"""

from __future__ import annotations

import json
import math
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Any

from lagoon.errors import LagoonError, require
from lagoon.paths import write_text
from lagoon.spans import span


class WaitShare:
    """Counts the wall time that somebody waits, as a share of the time that goes by."""

    def __init__(self) -> None:
        self._waited, self._since = 0.0, time.monotonic()

    def add(self, seconds: float) -> None:
        """Count a wait."""
        self._waited += seconds

    def take(self) -> float:
        """Return the share since the last call."""
        now = time.monotonic()
        share = self._waited / max(now - self._since, 1e-9)
        self._waited, self._since = 0.0, now
        return share


class Stopwatch:
    """Counts the CPU seconds of this process, all its threads included, by purpose.

    CPU time and not wall time: on a machine that others use too, only the former says what a step costs.
    """

    def __init__(self) -> None:
        self._seconds: dict[str, float] = defaultdict(float)
        self._since = time.process_time()

    @contextmanager
    def __call__(self, purpose: str) -> Iterator[None]:
        """Count the body's CPU time for a purpose; purposes must not be nested. It is a span of a profile, too."""
        start = time.process_time()
        try:
            with span(purpose):
                yield
        finally:
            self._seconds[purpose] += time.process_time() - start

    def take(self) -> dict[str, float]:
        """Return seconds by purpose since the last call, with "other" for the rest."""
        now = time.process_time()
        seconds = dict(self._seconds)
        seconds["other"] = max(now - self._since - sum(seconds.values()), 0.0)
        self._seconds.clear()
        self._since = now
        return seconds


class Averages:
    """Means of scalars that need not all be there every time."""

    def __init__(self) -> None:
        self._sums: dict[str, float] = defaultdict(float)
        self._counts: dict[str, int] = defaultdict(int)

    def add(self, values: Mapping[str, float]) -> None:
        """Take values in."""
        for name, value in values.items():
            self._sums[name] += value
            self._counts[name] += 1

    def take(self) -> dict[str, float]:
        """Return the means since the last call."""
        means = {name: total / self._counts[name] for name, total in self._sums.items()}
        self._sums.clear()
        self._counts.clear()
        return means


class MetricsWriter:
    """Appends one line of JSON per iteration, and TensorBoard scalars when asked."""

    def __init__(self, folder: Path, iteration: int = 0, tensorboard: bool = True) -> None:
        """Open the files.

        Args:
            folder: where they lie.
            iteration: where the run goes on; lines of later iterations are from work that was lost, and go.
            tensorboard: also write event files, into ``folder/tensorboard``.

        Raises:
            LagoonError: the operating system refused to write; the text names the folder and the cause.
            MissingExtraError: TensorBoard is wanted and not installed.
        """
        self._folder, self._events = folder, None
        path = folder / "metrics.jsonl"
        if path.exists():
            kept = [line for line in path.read_text(encoding="utf-8").splitlines() if _iteration(line) <= iteration]
            write_text(path, "".join(f"{line}\n" for line in kept))
        with self._told():
            folder.mkdir(parents=True, exist_ok=True)
            self._file = path.open("a", encoding="utf-8", buffering=1)
            if tensorboard:
                self._events = self._open_events(folder / "tensorboard", iteration)

    @staticmethod
    def _open_events(folder: Path, iteration: int) -> Any:
        require("tensorboard", "train")
        # Imported here because it takes a second, which commands that do not train should not pay.
        from torch.utils.tensorboard import SummaryWriter

        return SummaryWriter(str(folder), purge_step=iteration + 1)

    @contextmanager
    def _told(self) -> Iterator[None]:
        """Put into words that the operating system refused to write."""
        try:
            yield
        except OSError as error:
            raise LagoonError(
                f"Could not write the metrics in {self._folder}: {error.strerror or error}. Checkpoints saved so far "
                "are whole. Free some space, then run the same command again to go on from the last one."
            ) from error

    def write(self, iteration: int, values: Mapping[str, float]) -> None:
        """Write the scalars of one iteration; a slash in a name groups it in TensorBoard."""
        # JSON has no word for what is not finite, so null stands for it.
        rounded = {name: float(f"{value:.6g}") if math.isfinite(value) else None for name, value in values.items()}
        with self._told():
            self._file.write(json.dumps({"iteration": iteration, **rounded}) + "\n")
            if self._events is not None:
                for name, value in values.items():
                    # TensorBoard writes in a thread of its own; what it met there is raised at a later call.
                    self._events.add_scalar(name, value, iteration)

    def close(self) -> None:
        """Flush and close the files.

        Raises:
            LagoonError: the operating system refused to write what was left.
        """
        with self._told():
            try:
                self._file.close()
            finally:
                if self._events is not None:
                    self._events.close()

    def __enter__(self) -> MetricsWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            self.close()
            return
        with suppress(LagoonError):  # What does not fit on a full disk still does not; the first error says it.
            self.close()


def _iteration(line: str) -> float:
    try:
        return float(json.loads(line)["iteration"])
    except (ValueError, KeyError, TypeError):
        return float("inf")  # A line cut short by a crash.
