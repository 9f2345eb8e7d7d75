"""Saving and loading of the motion dataclasses as npz, without pickle.

What enters: a frozen dataclass of arrays, numbers and text, or a path. What leaves: an npz file whose
keys are the dataclass fields, readable with ``allow_pickle=False``; text and tuples of text are stored
as unicode arrays, mappings as a JSON string, ``None`` as an absent key.
"""

from __future__ import annotations

import json
import zipfile
import zlib
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from lagoon.errors import BadInputError, CorruptFileError
from lagoon.paths import atomic_path

T = TypeVar("T")


def save(target: Path, motion: Any) -> None:
    """Write a dataclass to ``target`` whole or not at all."""
    arrays: dict[str, np.ndarray] = {}
    for field in fields(motion):
        value = getattr(motion, field.name)
        if value is None:
            continue
        arrays[field.name] = np.asarray(json.dumps(dict(value), sort_keys=True) if isinstance(value, dict) else value)
    with atomic_path(target) as temporary, temporary.open("wb") as file:
        np.savez_compressed(file, allow_pickle=False, **arrays)


def load(source: Path, kind: type[T], writer: str) -> T:
    """Read a dataclass back; the dataclass validates its own fields.

    Args:
        source: the file.
        kind: the dataclass.
        writer: the command line that writes such a file, for the advice.

    Raises:
        BadInputError: the file does not exist, or its content is not a valid motion.
        CorruptFileError: the file is not a readable npz or lacks a field.
    """
    advice = f"Put a whole file there, or delete it and write it again with: {writer}"
    if not source.is_file():
        raise BadInputError(f"There is no file {source}. Check the path, or write it with: {writer}")
    arrays = _arrays(source, advice)
    values: dict[str, Any] = {}
    for field in fields(kind):  # type: ignore[arg-type]
        if field.name not in arrays:
            if field.default is MISSING and field.default_factory is MISSING:
                raise CorruptFileError(
                    f"{source} lacks the field '{field.name}' of {kind.__name__}; it has: "
                    f"{', '.join(sorted(arrays)) or 'nothing'}. {advice}"
                )
            continue
        try:
            values[field.name] = _value(arrays[field.name], str(field.type))
        except ValueError as error:
            raise CorruptFileError(f"{source}: the field '{field.name}' is no JSON ({error}). {advice}") from error
    try:
        return kind(**values)
    except BadInputError as error:
        raise BadInputError(f"{source}: {error} {advice}") from error
    except (TypeError, ValueError) as error:
        raise BadInputError(f"{source} holds values of a wrong type for {kind.__name__} ({error}). {advice}") from error


def _arrays(source: Path, advice: str) -> dict[str, np.ndarray]:
    """Read every array; numpy's own words are not passed on, since they advise to unpickle the file."""
    arrays: dict[str, np.ndarray] = {}
    name = ""
    try:
        if not zipfile.is_zipfile(source):
            raise CorruptFileError(
                f"{source} cannot be read as an npz file: it is none, or was cut short or edited. {advice}"
            )
        with np.load(source, allow_pickle=False) as archive:
            for name in archive.files:
                arrays[name] = archive[name]
    except OSError as error:
        raise BadInputError(f"{source} cannot be read: {error.strerror or error}. {advice}") from error
    except (ValueError, zipfile.BadZipFile, zlib.error, EOFError, KeyError, NotImplementedError) as error:
        what = f"its array '{name}' is damaged, or holds Python objects" if name else "its list of arrays is damaged"
        raise CorruptFileError(f"{source} cannot be read as an npz file: {what}. {advice}") from error
    return arrays


def _value(array: np.ndarray, annotation: str) -> Any:
    if array.dtype.kind != "U":
        return array.item() if array.ndim == 0 else array
    text = array.item() if array.ndim == 0 else tuple(str(item) for item in array)
    return json.loads(str(text)) if annotation.startswith("dict") else text
