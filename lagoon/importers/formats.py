"""Which format a file is, by its content, and the reader for it.

What enters: a path. What leaves: a RawMotion, or an error that says what the file looks like.
"""

from __future__ import annotations

import importlib
from pathlib import Path

from lagoon.errors import BadInputError
from lagoon.importers.config import ImportConfig
from lagoon.importers.frames_json import QUADRUPED_WIDTHS, width_at_a_glance
from lagoon.importers.raw import RawMotion
from lagoon.importers.text_file import check_size, short

READERS = {
    "bvh": "bvh",
    "amc": "amc",
    "smpl": "smpl",
    "aist": "aist",
    "humanml3d": "humanml3d",
    "mdm": "mdm",
    "deepmimic": "deepmimic",
    "npz": "arrays",
    "csv": "table",
}
"""Format to module of this package."""
ACCEPTED = (
    "BVH, CMU AMC with its ASF, AMASS or SMPL npz, AIST++ pkl, HumanML3D npy, MDM results.npy, DeepMimic txt, "
    "npz or csv of named joints; for quadrupeds txt of DeepMimic's dog and of motion_imitation"
)
_BINARY = {
    b"Kaydara FBX Binary": "binary FBX",
    b"glTF": "binary glTF",
    b"c3d": "C3D",
    b"\x1f\x8b": "gzip: unpack it first",
    b"7z\xbc\xaf": "7z: unpack it first",
    b"\x89HDF": "HDF5",
    b"\x89PNG": "a picture",
}


def read(path: Path, config: ImportConfig) -> RawMotion:
    """Find out the format and read the file.

    Raises:
        BadInputError: the format is not known, or the file cannot be used.
        CorruptFileError: the file is damaged.
    """
    check_size(path)
    name = sniff(path) if config.format == "auto" else config.format
    if name == "quadruped":
        raise BadInputError(
            f"{path.name} is the motion of a quadruped, not of a person. lagoon import reads it; from Python call "
            "lagoon.importers.quadruped.import_quadruped."
        )
    return importlib.import_module(f"lagoon.importers.{READERS[name]}").read(path, config)


def is_quadruped(path: Path, config: ImportConfig) -> bool:
    """Whether a file holds the motion of an animal or a robot on four legs, which import_quadruped reads.

    Raises:
        BadInputError: there is no such file, or its format is not known.
    """
    check_size(path)
    return (sniff(path) if config.format == "auto" else config.format) == "quadruped"


def files_of(path: Path, config: ImportConfig) -> list[Path]:
    """All files that an import reads: the motion and what goes with it.

    Raises:
        BadInputError: one of them is missing.
    """
    files = [path, *(Path(name) for name in (config.map, config.skeleton, config.body_model) if name is not None)]
    for file in files:
        check_size(file, 2**40)
    if config.skeleton is None and (config.format == "amc" or path.suffix.lower() == ".amc"):
        from lagoon.importers.asf import find_skeleton

        files.append(find_skeleton(path))
    return files


def sniff(path: Path) -> str:
    """Name the format of a file by its first bytes and, for containers, by what they hold.

    Raises:
        BadInputError: none fits.
    """
    with path.open("rb") as file:
        head = file.read(65536)
    for mark, name in _BINARY.items():
        if head.startswith(mark):
            raise _unknown(path, f"it is {name}")
    if head.startswith(b"PK"):
        from lagoon.importers.array_file import names_in
        from lagoon.importers.smpl import is_smpl

        return "smpl" if is_smpl(names_in(path)) else "npz"
    if head.startswith(b"\x93NUMPY"):
        from lagoon.importers.array_file import holds_objects

        return "mdm" if holds_objects(path) else "humanml3d"
    if head[:1] == b"\x80" or path.suffix.lower() in (".pkl", ".pickle"):
        return "aist"
    if b"\x00" in head and not head.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise _unknown(path, "it is binary")
    return _text(path, head)


def _text(path: Path, head: bytes) -> str:
    encoding = "utf-16" if head.startswith((b"\xff\xfe", b"\xfe\xff")) else "latin-1"
    text = head.decode(encoding, errors="ignore").lstrip("\ufeffï»¿ \t\r\n")
    suffix = path.suffix.lower()
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    plain = [line for line in lines if not line.startswith("#")] or [""]
    upper = [line.upper() for line in lines[:50]]
    if suffix == ".bvh" or any(line.startswith("HIERARCHY") for line in upper):
        return "bvh"
    if suffix in (".amc", ".asf") or any(line.startswith((":FULLY-SPECIFIED", ":ROOT", ":BONEDATA")) for line in upper):
        return "amc"
    if text.startswith("{") and '"Frames"' in text:
        return "quadruped" if width_at_a_glance(text) in QUADRUPED_WIDTHS else "deepmimic"
    if suffix == ".txt" and text.startswith("{"):
        return "deepmimic"
    if suffix in (".csv", ".tsv") or any(mark in plain[0] for mark in ",;\t"):
        return "csv"
    raise _unknown(path, f"it begins with {short(plain[0])}")


def _unknown(path: Path, fact: str) -> BadInputError:
    return BadInputError(
        f"{path.name} is in no format that lagoon reads: {fact}. It reads {ACCEPTED}. Export it as BVH, or say the "
        "format with import.format=bvh."
    )
