"""Saving and loading of the motion dataclasses as npz, without pickle.

What enters: a frozen dataclass of arrays, numbers and text, or a path. What leaves: an npz file whose
keys are the dataclass fields, readable with ``allow_pickle=False``; text and tuples of text are stored
as unicode arrays, mappings as a JSON string, ``None`` as an absent key.
"""

from __future__ import annotations

import json
import zipfile
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


def load(source: Path, kind: type[T]) -> T:
    """Read a dataclass back; the dataclass validates its own fields.

    Raises:
        BadInputError: the file does not exist, or its content is not a valid motion.
        CorruptFileError: the file is not a readable npz or lacks a field.
    """
    if not source.is_file():
        raise BadInputError(f"There is no file {source}. Run the stage that writes it, or check the path.")
    try:
        with np.load(source, allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
    except (ValueError, OSError, zipfile.BadZipFile, EOFError, KeyError) as error:
        raise CorruptFileError(
            f"{source} cannot be read as an npz file ({error}). It may have been cut short or edited. "
            "Delete it and run the stage that writes it again."
        ) from error
    values: dict[str, Any] = {}
    for field in fields(kind):  # type: ignore[arg-type]
        if field.name not in arrays:
            if field.default is MISSING and field.default_factory is MISSING:
                raise CorruptFileError(
                    f"{source} lacks the field '{field.name}' of {kind.__name__}; it has: "
                    f"{', '.join(sorted(arrays)) or 'nothing'}. Delete it and run the stage that writes it again."
                )
            continue
        array = arrays[field.name]
        if array.dtype.kind == "U":
            text = array.item() if array.ndim == 0 else tuple(str(item) for item in array)
            values[field.name] = json.loads(str(text)) if str(field.type).startswith("dict") else text
        else:
            values[field.name] = array.item() if array.ndim == 0 else array
    return kind(**values)
