"""Keeps two processes from working in one skill folder at a time.

What enters: a skill folder. What leaves: nothing; the body of the ``with`` runs alone. The kernel drops
the lock when its process dies, however it dies, so a file left behind never blocks anyone; the process
id inside is only for the message.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from lagoon.errors import BadInputError, LagoonError

_NAME = ".lock"


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold the folder's lock; the folder and those above it are made if missing, and removed again if they stay empty.

    Raises:
        BadInputError: another living process holds it.
        LagoonError: the folder cannot be written.
    """
    path = folder / _NAME
    made = [above for above in folder.parents if not above.exists()]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handle = _acquire(path)
    except OSError as error:
        raise LagoonError(
            f"Could not write in {folder}: {error.strerror or error}. Choose a folder you may write in with "
            "skills_dir=PATH."
        ) from error
    try:
        yield
    finally:
        path.unlink(missing_ok=True)
        os.close(handle)
        for left in (folder, *made):
            if left.is_dir() and not any(left.iterdir()):
                left.rmdir()


def _acquire(path: Path) -> int:
    while True:
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            holder = os.read(handle, 32).decode("ascii", "replace").strip() or "unknown"
            os.close(handle)
            raise BadInputError(
                f"Another lagoon (process {holder}) is working in {path.parent}. Wait until it ends or stop it "
                f"(kill -INT {holder}), then run the same command again."
            ) from error
        if _same_file(handle, path):
            os.ftruncate(handle, 0)
            os.write(handle, f"{os.getpid()}\n".encode())
            return handle
        # The former holder removed the file between open and flock; a lock on a removed file guards nothing.
        os.close(handle)


def _same_file(handle: int, path: Path) -> bool:
    try:
        return os.fstat(handle).st_ino == path.stat().st_ino
    except FileNotFoundError:
        return False
