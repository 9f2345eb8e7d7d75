"""Reads pickles that hold numpy arrays and plain data, without running anything that a pickle names.

What enters: the bytes of a pickle. What leaves: dictionaries, lists, numbers, text and numpy arrays.

A pickle is a small program that calls what it names. Here it can name four things, and each is a stand-in that
only notes its arguments: the array, its type, a lone number, bytes written as text. What was noted is checked and only
then made into arrays. Anything else that a file names (os.system, for one) ends the reading. The only file of
lagoon that may touch the module pickle; tests/architecture checks it.
"""

from __future__ import annotations

import io
import pickle
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lagoon.errors import CorruptFileError

_MOST_DEPTH = 32
_MOST_ITEMS = 200_000
"""Items that are unfolded; a small pickle can name one list inside itself so often that it never ends."""
_KINDS = "biufSU"
"""Kinds of numbers and text that arrays may hold; 'O', objects, is unpacked as a list."""


class _RefusedError(Exception):
    """The pickle asks for something that it may not have."""


class _Inert:
    """Base of the stand-ins: nothing can be set on them."""

    __slots__ = ()

    def __setstate__(self, state: object) -> None:
        raise _RefusedError("it sets the state of something that has none")


class _Type(_Inert):
    """A numpy dtype, as noted."""

    __slots__ = ("code", "order")

    def __init__(self, code: object) -> None:
        if not isinstance(code, str) or len(code) > 16:
            raise _RefusedError("an array type that is no word")
        self.code, self.order = code, "|"

    def __setstate__(self, state: object) -> None:
        if not isinstance(state, tuple) or len(state) < 2 or state[1] not in ("<", ">", "|", "="):
            raise _RefusedError("an array type of unknown layout")
        if len(state) > 4 and (state[2] is not None or state[3] is not None or state[4] is not None):
            raise _RefusedError("an array of records")
        self.order = state[1]

    def make(self) -> np.dtype[Any]:
        if self.code.startswith("O"):
            return np.dtype(object)
        kind = np.dtype(self.code).newbyteorder(self.order if self.order != "|" else "=")  # type: ignore[arg-type]
        if kind.kind not in _KINDS or kind.itemsize == 0:
            raise _RefusedError(f"an array of {kind}")
        return kind


class _Array(_Inert):
    """A numpy array, as noted."""

    __slots__ = ("state",)

    def __init__(self) -> None:
        self.state: tuple[Any, ...] | None = None

    def __setstate__(self, state: object) -> None:
        if not isinstance(state, tuple) or len(state) != 5:
            raise _RefusedError("an array of unknown layout")
        self.state = state

    def make(self, depth: int, left: list[int]) -> Any:
        if self.state is None:
            raise _RefusedError("an array without content")
        _, shape, kind, by_column, data = self.state
        if not isinstance(kind, _Type) or not isinstance(shape, tuple) or len(shape) > 8:
            raise _RefusedError("an array of unknown layout")
        dtype, count = kind.make(), 1
        for length in shape:
            if type(length) is not int or length < 0:
                raise _RefusedError("an array of odd shape")
            count *= length
        if dtype.hasobject:
            if not isinstance(data, list) or len(data) != count:
                raise _RefusedError("an array of objects whose number is not its shape's")
            made = [_plain(item, depth + 1, left) for item in data]
            return made[0] if shape == () else made
        raw = data.encode("latin-1") if isinstance(data, str) else data
        if not isinstance(raw, bytes) or len(raw) != count * dtype.itemsize:
            raise _RefusedError("an array whose bytes are not as many as its shape needs")
        return np.frombuffer(raw, dtype).reshape(shape, order="F" if by_column else "C")


class _ArrayClass(_Inert):
    """Stands for the class numpy.ndarray."""

    __slots__ = ()


class _Reconstruct(_Inert):
    """Stands for numpy's function that makes an empty array to be filled."""

    __slots__ = ()

    def __call__(self, kind: object, shape: object = None, code: object = None) -> _Array:
        if not isinstance(kind, _ArrayClass):
            raise _RefusedError("an array of a class of its own")
        return _Array()


class _TypeClass(_Inert):
    """Stands for numpy.dtype."""

    __slots__ = ()

    def __call__(self, code: object, align: object = False, copy: object = True) -> _Type:
        return _Type(code)


class _Scalar(_Inert):
    """Stands for numpy's function that makes one number."""

    __slots__ = ()

    def __call__(self, kind: object, data: object = None) -> Any:
        raw = data.encode("latin-1") if isinstance(data, str) else data
        if not isinstance(kind, _Type) or not isinstance(raw, bytes):
            raise _RefusedError("a number of unknown kind")
        dtype = kind.make()
        if dtype.hasobject or len(raw) != dtype.itemsize:
            raise _RefusedError("a number of unknown kind")
        return np.frombuffer(raw, dtype)[0].item()


class _FromBuffer(_Inert):
    """Stands for numpy's function that makes an array out of bytes."""

    __slots__ = ()

    def __call__(self, data: object, kind: object, shape: object, order: object = "C") -> _Array:
        made = _Array()
        data = bytes(data) if isinstance(data, bytearray) else data
        made.state = (1, shape, kind, order == "F", data)
        return made


class _Encode(_Inert):
    """Stands for the function by which old pickles write bytes."""

    __slots__ = ()

    def __call__(self, text: object, encoding: object = "latin1") -> bytes:
        if not isinstance(text, str) or encoding not in ("latin1", "latin-1"):
            raise _RefusedError("bytes in an unknown encoding")
        return text.encode("latin-1")


_ALLOWED: dict[tuple[str, str], _Inert] = {
    **{(f"numpy.{core}.multiarray", "_reconstruct"): _Reconstruct() for core in ("core", "_core")},
    **{(f"numpy.{core}.multiarray", "scalar"): _Scalar() for core in ("core", "_core")},
    **{(f"numpy.{core}.numeric", "_frombuffer"): _FromBuffer() for core in ("core", "_core")},
    ("numpy", "ndarray"): _ArrayClass(),
    ("numpy", "dtype"): _TypeClass(),
    ("_codecs", "encode"): _Encode(),
}


class _Reader(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        try:
            return _ALLOWED[module, name]
        except KeyError:
            raise _RefusedError(f"it asks for {module}.{name}") from None

    def persistent_load(self, pid: object) -> Any:
        raise _RefusedError("it refers to other files")


def read_pickle(path: Path, data: bytes) -> Any:
    """Read a pickle of numpy arrays and plain data.

    Args:
        path: of the file, for messages.
        data: the pickle.

    Raises:
        CorruptFileError: it is damaged, or it asks for anything but arrays and plain data.
    """
    try:
        return _plain(_Reader(io.BytesIO(data), encoding="latin1").load(), 0, [_MOST_ITEMS])
    except _RefusedError as error:
        raise CorruptFileError(
            f"{path.name} is a pickle that holds more than arrays of numbers ({error}); lagoon reads nothing else, "
            "since a pickle can run programs. Save it as npz in the program that made it."
        ) from error
    except Exception as error:  # A damaged pickle may raise anything; nothing of ours has run.
        cause = " ".join(str(error).split())[:160] or type(error).__name__
        raise CorruptFileError(f"{path.name} cannot be read as a pickle ({cause}). Copy the file again.") from error


def _plain(value: Any, depth: int, left: list[int]) -> Any:
    """Make what was noted into arrays, and let nothing through but plain data."""
    left[0] -= 1
    if depth > _MOST_DEPTH or left[0] < 0:
        raise _RefusedError("it is nested too deeply")
    if isinstance(value, _Array):
        return value.make(depth, left)
    if isinstance(value, dict):
        return {key: _plain(item, depth + 1, left) for key, item in value.items() if isinstance(key, (str, int))}
    if isinstance(value, (list, tuple)):
        return [_plain(item, depth + 1, left) for item in value]
    if value is None or isinstance(value, (bool, int, float, str, bytes)):
        return value
    raise _RefusedError(f"it holds a {type(value).__name__.strip('_').lower()}")


def numbers(value: Any) -> NDArray[np.float64] | None:
    """An array of numbers, or None if the value is something else."""
    if isinstance(value, np.ndarray) and value.dtype.kind in "iuf":
        return np.asarray(value, float)
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return np.array(float(value))
    return None
