"""How old samples may be: the rule that lets rollouts begin, and what is logged about their age.

What enters: versions, and what became of rollouts. What leaves: how many more may begin.
Source: Fu et al. 2025, "AReaL: a large-scale asynchronous reinforcement learning system for language reasoning".
"""

from __future__ import annotations

import numpy as np
from torch import Tensor

OLDEST_SHOWN = 8


class StalenessController:
    """Counts rollouts so that none is learned from more than ``max_staleness`` updates after it began.

    With B rollouts per update, those accepted and running may never be more than (max_staleness + version + 1) B: then
    the last of them is learned from at the latest ``max_staleness`` updates from now. A run that resumes at version v
    has accepted v B rollouts, whatever became of those before; counting from zero would let v B too many begin.
    """

    def __init__(self, batch: int, max_staleness: int, version: int = 0) -> None:
        """Begin to count.

        Args:
            batch: rollouts that each update learns from, B.
            max_staleness: updates that may lie between the beginning of a rollout and learning from it.
            version: updates before this run.
        """
        self.batch, self.max_staleness = batch, max_staleness
        self.accepted, self.running = version * batch, 0
        self.rejected = 0

    def capacity(self, version: int) -> int:
        """Return how many rollouts may begin while the newest parameters are of a version."""
        return (self.max_staleness + version + 1) * self.batch - (self.accepted + self.running)

    def begin(self) -> None:
        """Count a rollout as running."""
        self.running += 1

    def accept(self) -> None:
        """Count a running rollout as part of a batch."""
        self.running -= 1
        self.accepted += 1

    def reject(self, count: int = 1) -> None:
        """Count running rollouts as lost: too old, or their actor died."""
        self.running -= count
        self.rejected += count

    def too_old(self, oldest: int, at: int) -> bool:
        """Tell whether a rollout with steps of version ``oldest`` may not be learned from at version ``at``.

        The rule above bounds how many rollouts are under way, not how long one takes; a slow one is caught here.
        """
        return at - oldest > self.max_staleness


def staleness_metrics(version: int, versions: Tensor) -> dict[str, float]:
    """Return the age of samples for the log: mean, greatest, and the share of each age.

    Args:
        version: of the parameters that learn.
        versions: [T, B], which chose the actions.
    """
    ages = (version - versions).clamp(0).flatten().numpy()
    shares = np.bincount(np.minimum(ages, OLDEST_SHOWN), minlength=OLDEST_SHOWN + 1) / len(ages)
    # Every age is named every time, since a chart with holes misleads.
    named = {f"staleness/age_{age}": float(share) for age, share in enumerate(shares)}
    return {"staleness/mean": float(ages.mean()), "staleness/max": float(ages.max())} | named
