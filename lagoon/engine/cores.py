"""Cores of this machine: which ones a process may use, and how several runs share them.

What enters: numbers of runs and cores. What leaves: cores. It loads no torch, so that who only starts others is light.
"""

from __future__ import annotations

import os
from pathlib import Path


def available_cores() -> list[int]:
    """Return the cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return sorted(os.sched_getaffinity(0))
    return list(range(os.cpu_count() or 1))


def pin(cores: list[int]) -> None:
    """Let this process, and what it starts from now on, use these cores only."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, cores)


def shares(runs: int, cores: int, each: int = 0, at_once: int = 0) -> list[int]:
    """Return how many cores each of some runs gets; those for which there is no room wait for their turn.

    Runs are packed before one is split: with as many runs as cores or more, each gets one. Fewer runs share the cores
    evenly, and where none has to wait the first ones get what is left over. The share of a run never depends on when
    others end, since the number of its processes decides which random numbers it draws.

    Args:
        runs: at least 1.
        cores: at least 1.
        each: cores that each run needs; 0 lets them be shared as said.
        at_once: runs that may go side by side; 0 sets no limit.
    """
    if each:
        return [min(each, cores)] * runs
    together = min(runs, at_once or runs)
    least, more = divmod(cores, together)
    more = more if least and together == runs else 0
    return [max(least, 1) + (1 if index < more else 0) for index in range(runs)]


def multiplies_bf16(facts: Path = Path("/proc/cpuinfo")) -> bool:
    """Tell whether this processor multiplies matrices of bfloat16 (AMX): five to seven times as fast as of float32."""
    try:
        return "amx_bf16" in facts.read_text(encoding="utf-8").split()
    except OSError:
        return False  # Not Linux: not known.
