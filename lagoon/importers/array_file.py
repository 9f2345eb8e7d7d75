"""Reads npy and npz of other programs without pickle and without trusting their headers.

What enters: a path. What leaves: arrays of numbers and text, each no larger than the file can hold.
"""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from lagoon.errors import BadInputError, CorruptFileError
from lagoon.importers.text_file import check_size

MOST_UNPACKED = 2**30
"""Most bytes that one array may take in memory."""
_DAMAGE = (ValueError, OSError, EOFError, KeyError, zipfile.BadZipFile, zlib.error, RuntimeError, NotImplementedError,
           SyntaxError, TypeError, OverflowError, RecursionError, MemoryError)  # fmt: skip


def names_in(path: Path) -> frozenset[str]:
    """Names of the arrays of an npz file, without reading them.

    Raises:
        CorruptFileError: it is no readable npz.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            return frozenset(name.removesuffix(".npy") for name in archive.namelist())
    except _DAMAGE as error:
        raise _damaged(path, error) from error


def read_npz(path: Path, wanted: Iterable[str] | None = None) -> dict[str, NDArray[Any]]:
    """Read arrays of an npz file; those that hold Python objects are left out.

    Args:
        path: the file.
        wanted: names to read; all by default.

    Raises:
        BadInputError: missing, or an array is larger than is sensible.
        CorruptFileError: damaged.
    """
    check_size(path)
    wanted = None if wanted is None else set(wanted)
    found: dict[str, NDArray[Any]] = {}
    try:
        with zipfile.ZipFile(path) as archive:
            for entry in archive.infolist():
                name = entry.filename.removesuffix(".npy")
                if not entry.filename.endswith(".npy") or (wanted is not None and name not in wanted):
                    continue
                _check_unpacked(path, name, entry.file_size)
                with archive.open(entry) as file:
                    array = _array(path, name, file, entry.file_size)  # type: ignore[arg-type]
                if array is not None:
                    found[name] = array
    except _DAMAGE as error:
        raise _damaged(path, error) from error
    return found


def read_npy(path: Path) -> NDArray[Any]:
    """Read an npy file.

    Raises:
        BadInputError: missing, too large, or it holds Python objects.
        CorruptFileError: damaged.
    """
    size = check_size(path)
    try:
        with path.open("rb") as file:
            array = _array(path, path.name, file, size)
    except _DAMAGE as error:
        raise _damaged(path, error) from error
    if array is None:
        raise BadInputError(
            f"{path.name} holds Python objects, not numbers; expected joint positions. If it is MDM's results.npy, "
            "type import.format=mdm."
        )
    return array


def one_number(array: NDArray[Any]) -> float:
    """The number in an array of one; not finite where it holds another kind or count."""
    return float(array.reshape(-1)[0]) if array.size == 1 and array.dtype.kind in "iuf" else float("nan")


def holds_objects(path: Path) -> bool:
    """Whether an npy file holds pickled objects.

    Raises:
        CorruptFileError: its header is damaged.
    """
    try:
        with path.open("rb") as file:
            return _header(file)[2].hasobject
    except _DAMAGE as error:
        raise _damaged(path, error) from error


def objects_of(path: Path) -> tuple[bytes, tuple[int, ...]]:
    """The pickle of an npy file that holds objects, unread, and the array's shape.

    Raises:
        CorruptFileError: its header is damaged.
    """
    check_size(path)
    try:
        with path.open("rb") as file:
            shape, _, _ = _header(file)
            return file.read(), shape
    except _DAMAGE as error:
        raise _damaged(path, error) from error


def _header(file: BinaryIO) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    version = np.lib.format.read_magic(file)
    if version == (1, 0):
        return np.lib.format.read_array_header_1_0(file)
    if version == (2, 0):
        return np.lib.format.read_array_header_2_0(file)
    raise ValueError(f"version {version} of the npy format")


def _array(path: Path, name: str, file: BinaryIO, size: int) -> NDArray[Any] | None:
    """Read one array; None if it holds objects."""
    shape, by_column, dtype = _header(file)
    if dtype.hasobject:
        return None
    count = 1
    for length in shape:
        count *= int(length)
    if count < 0 or count * dtype.itemsize > size:
        raise ValueError(f"the array {name} of shape {shape} does not fit into {size} bytes")
    _check_unpacked(path, name, count * dtype.itemsize)
    data = file.read(count * dtype.itemsize)
    return np.frombuffer(data, dtype, count).reshape(shape, order="F" if by_column else "C")


def _check_unpacked(path: Path, name: str, size: int) -> None:
    if size > MOST_UNPACKED:
        raise BadInputError(
            f"{path.name}: the array {name} takes {size / 2**20:,.0f} MiB in memory; lagoon reads at most "
            f"{MOST_UNPACKED / 2**20:,.0f} MiB. Cut the clip in the program it comes from."
        )


def _damaged(path: Path, error: BaseException) -> CorruptFileError:
    cause = " ".join(str(error).split())[:200] or type(error).__name__
    return CorruptFileError(
        f"{path.name} cannot be read as a numpy file ({cause}). It may have been cut short; copy it again."
    )
