"""Finds configs/ and assets/, and writes files whole or not at all.

What enters: names relative to the project's data folders, bytes to save. What leaves: absolute paths,
files on disk that are never half-written. In a checkout the data folders lie beside the package; an
installed wheel carries them as ``lagoon/_data``.
"""

from __future__ import annotations

import hashlib
import io
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml

from lagoon.errors import BadInputError, LagoonError, restore_line

_PACKAGE = Path(__file__).resolve().parent


def data_dir(name: str) -> Path:
    """Return the absolute path of a data folder, ``"configs"`` or ``"assets"``.

    Raises:
        BadInputError: the folder is in neither of the two places.
    """
    for base in (_PACKAGE.parent, _PACKAGE / "_data"):
        if (base / name).is_dir():
            return base / name
    raise BadInputError(
        f"The data folder '{name}' was found neither beside the package nor inside it "
        f"({_PACKAGE.parent}, {_PACKAGE / '_data'}). Bring it back with: {restore_line()}"
    )


def sha256_of(path: Path) -> str:
    """Return the hexadecimal sha256 of a file's bytes."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        for block in iter(lambda: file.read(1 << 20), b""):
            digest.update(block)
    return digest.hexdigest()


@contextmanager
def atomic_path(target: Path) -> Iterator[Path]:
    """Give a temporary path beside ``target``; on success it is renamed over ``target``.

    The temporary file keeps the target's suffix, since writers choose a format by it. Only writers that go
    through Python's files fit: others hide the cause of a failure in errors of their own. When the body
    raises (a full disk included) the temporary file is removed and ``target`` stays as it was.

    Raises:
        LagoonError: the operating system refused to write; the text names the path and the cause.
    """
    temporary: Path | None = None
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix=f".{target.stem}.", suffix=target.suffix, dir=target.parent)
        os.close(handle)
        temporary = Path(name)
        yield temporary
        with temporary.open("rb+") as file:
            os.fsync(file.fileno())
        os.chmod(temporary, 0o644)
        os.replace(temporary, target)
    except OSError as error:
        raise LagoonError(
            f"Could not write {target}: {error.strerror or error}. Nothing was changed there. "
            "Free some space or choose another folder with skills_dir=PATH, then run the same command again."
        ) from error
    finally:
        if temporary is not None:
            temporary.unlink(missing_ok=True)


def write_bytes(target: Path, content: bytes) -> None:
    """Write bytes whole or not at all.

    Libraries that can give their file as bytes do so: those that write it themselves tell of a full disk in errors of
    their own, where Python's file raises the OSError that becomes one clear sentence here.
    """
    with atomic_path(target) as temporary:
        temporary.write_bytes(content)


def write_text(target: Path, text: str) -> None:
    """Write UTF-8 text whole or not at all."""
    with atomic_path(target) as temporary:
        temporary.write_text(text, encoding="utf-8")


def append_line(target: Path, line: str) -> None:
    """Add one line of UTF-8 to a log that grows, whole or not at all.

    Raises:
        LagoonError: the operating system refused to write; the text names the path and the cause.
    """
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with target.open("ab", buffering=0) as file:
            before = file.tell()
            try:
                _write_all(file, f"{line}\n".encode())
            except OSError:
                file.truncate(before)
                raise
    except OSError as error:
        raise LagoonError(
            f"Could not write {target}: {error.strerror or error}. What was saved so far is whole. "
            "Free some space, then run the same command again to go on."
        ) from error


def _write_all(file: io.FileIO, data: bytes) -> None:
    """Write bytes to an unbuffered file, which may take them in parts."""
    while data:
        data = data[file.write(data) :]


class _ExactDumper(yaml.SafeDumper):
    """Escapes text that holds line breaks or control characters; PyYAML alone would fold some of them."""

    def represent_str(self, data: str) -> yaml.ScalarNode:
        """Quote unusual text; all else stays readable."""
        return self.represent_scalar("tag:yaml.org,2002:str", data, style=None if data.isprintable() else '"')


_ExactDumper.add_representer(str, _ExactDumper.represent_str)


def yaml_text(content: Any, width: int = 10**6, flow: bool | None = False) -> str:
    """Return plain data as YAML from which every text comes back exactly, whatever it holds.

    Args:
        content: mappings, lists, numbers, text.
        width: longest line before values are folded.
        flow: False writes one value a line, None puts lists of plain values on one line.
    """
    return yaml.dump(
        content, Dumper=_ExactDumper, sort_keys=False, allow_unicode=True, width=width, default_flow_style=flow
    )
