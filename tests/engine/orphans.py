"""Shared memory that was left behind."""

from contextlib import suppress
from pathlib import Path


def orphaned_memory() -> set[str]:
    """Names in /dev/shm that no living process has mapped; other programs may come and go meanwhile."""
    mapped = set[str]()
    for maps in Path("/proc").glob("[0-9]*/maps"):
        with suppress(OSError):
            mapped |= {line.split()[5] for line in maps.read_text().splitlines() if " /dev/shm/" in line}
    return {str(path) for path in Path("/dev/shm").glob("*")} - mapped
